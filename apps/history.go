package apps

import (
	"math"
	"strconv"
	"time"
)

// PortHistory is a port's rates per second over the last seconds as the API answers it: one value a second, the last one of
// the second that begins at End.
type PortHistory struct {
	PortNo uint32    `json:"port_no"`
	Name   string    `json:"name"`
	End    time.Time `json:"end"`
	RxBPS  Series    `json:"rx_bps"`
	TxBPS  Series    `json:"tx_bps"`
	RxPPS  Series    `json:"rx_pps"`
	TxPPS  Series    `json:"tx_pps"`
}

// Series are values of which NaN means that nothing is known; in JSON these are null, and the others have four digits.
type Series []float32

// MarshalJSON writes a list of numbers.
func (s Series) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 6*len(s)+2), '[')
	for i, v := range s {
		if i > 0 {
			b = append(b, ',')
		}
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, f, 'g', 4, 32)
		}
	}
	return append(b, ']'), nil
}

// VIPHistory is how many connections a second were given to each backend, over the last seconds as in [PortHistory].
type VIPHistory struct {
	End      time.Time        `json:"end"`
	Backends []BackendHistory `json:"backends"`
}

// BackendHistory is a backend's part of a VIPHistory.
type BackendHistory struct {
	Name           string `json:"name"`
	NewConnections Series `json:"new_connections"`
}

// History is what the controller as a whole did per second, over the last seconds as in [PortHistory].
type History struct {
	End            time.Time `json:"end"`
	PacketIns      Series    `json:"packet_ins"`
	NewConnections Series    `json:"new_connections"`
}
