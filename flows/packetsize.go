package flows

import (
	"fmt"
	"strings"
)

// CheckPacketLarger sets the bit Dst to whether the packet, from its Ethernet header on, has more than Bytes bytes (Nicira).
type CheckPacketLarger struct {
	Bytes uint16
	Dst   Span // one bit
}

// AppendText is check_pkt_larger(BYTES)->FIELD[BIT].
func (a CheckPacketLarger) AppendText(b []byte) []byte {
	return a.Dst.AppendText(append(appendNum(b, "check_pkt_larger(", a.Bytes), ")->"...))
}

func parseCheckPacketLarger(text string) (a CheckPacketLarger, err error) {
	size, to, ok := strings.Cut(text, ")->")
	if !ok {
		return a, fmt.Errorf("want check_pkt_larger(BYTES)->FIELD[BIT]")
	}
	n, err := parseUint(size, 16)
	if err != nil {
		return a, err
	}
	a.Bytes = uint16(n)
	if a.Dst, err = parseSpan(to); err == nil && a.Dst.Bits != 1 {
		err = fmt.Errorf("want FIELD[BIT], one bit, where the answer goes")
	}
	return a, err
}
