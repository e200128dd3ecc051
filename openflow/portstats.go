package openflow

// PortStats are a port's counters (section 7.3.5.7). A counter that the switch does not keep is all ones.
type PortStats struct {
	No                        uint32
	RxPackets, TxPackets      uint64
	RxBytes, TxBytes          uint64
	RxDropped, TxDropped      uint64
	RxErrors, TxErrors        uint64
	DurationSec, DurationNsec uint32 // since the port is there
}

const (
	portStats13Len = 112
	portStats15Len = 80 // without properties
)

// ParsePortStats reads the body of a port-stats reply.
func ParsePortStats(v Version, body []byte) ([]PortStats, error) {
	var all []PortStats
	for len(body) > 0 {
		size := portStats13Len
		if v >= V15 {
			size = portStats15Len
		}
		if len(body) < size {
			return nil, short("port statistics", len(body), size)
		}
		var s PortStats
		counters := body[8:]
		if v < V15 {
			s.No = be.Uint32(body)
			s.DurationSec, s.DurationNsec = be.Uint32(body[104:]), be.Uint32(body[108:])
		} else {
			n, err := lengthOf("port statistics", body, 0, size)
			if err != nil {
				return nil, err
			}
			size = n
			s.No = be.Uint32(body[4:])
			s.DurationSec, s.DurationNsec = be.Uint32(body[8:]), be.Uint32(body[12:])
			counters = body[16:]
		}
		for i, c := range []*uint64{&s.RxPackets, &s.TxPackets, &s.RxBytes, &s.TxBytes,
			&s.RxDropped, &s.TxDropped, &s.RxErrors, &s.TxErrors} {
			*c = be.Uint64(counters[8*i:])
		}
		all = append(all, s)
		body = body[size:]
	}
	return all, nil
}

// AppendPortStats appends one port's counters to the body of a port-stats reply, as a switch does.
func AppendPortStats(body []byte, v Version, s PortStats) []byte {
	if v < V15 {
		body = be.AppendUint32(body, s.No)
		body = be.AppendUint32(body, 0)
	} else {
		body = append(body, 0, portStats15Len, 0, 0)
		body = be.AppendUint32(body, s.No)
		body = be.AppendUint32(body, s.DurationSec)
		body = be.AppendUint32(body, s.DurationNsec)
	}
	for _, c := range []uint64{s.RxPackets, s.TxPackets, s.RxBytes, s.TxBytes,
		s.RxDropped, s.TxDropped, s.RxErrors, s.TxErrors} {
		body = be.AppendUint64(body, c)
	}
	if v < V15 {
		for range 4 { // frame, overrun and CRC errors, collisions: not kept
			body = be.AppendUint64(body, ^uint64(0))
		}
		body = be.AppendUint32(body, s.DurationSec)
		body = be.AppendUint32(body, s.DurationNsec)
	}
	return body
}
