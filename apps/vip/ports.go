package vip

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// PortRange is the port of a VIP as text, "80" or "8000-8010". JSON may also hold it as a number.
type PortRange string

// Ports is an inclusive range of ports.
type Ports struct{ First, Last uint16 }

// String is "80" or "8000-8010".
func (p Ports) String() string {
	if p.First == p.Last {
		return strconv.Itoa(int(p.First))
	}
	return fmt.Sprintf("%d-%d", p.First, p.Last)
}

// Single reports whether the range is one port.
func (p Ports) Single() bool { return p.First == p.Last }

// Contains reports whether port lies in the range.
func (p Ports) Contains(port uint16) bool { return p.First <= port && port <= p.Last }

// Overlaps reports whether the ranges share a port.
func (p Ports) Overlaps(q Ports) bool { return p.First <= q.Last && q.First <= p.Last }

// PortMask is the ports that equal Port in the bits of Mask: what a match can say of ports.
type PortMask struct{ Port, Mask uint16 }

// Masks cuts the range into as few masks as possible, at most 30.
func (p Ports) Masks() (out []PortMask) {
	for first, end := uint32(p.First), uint32(p.Last)+1; first < end; {
		size := uint32(1) << 16
		if first != 0 {
			size = 1 << bits.TrailingZeros32(first)
		}
		for size > end-first {
			size >>= 1
		}
		out = append(out, PortMask{uint16(first), uint16(-size)})
		first += size
	}
	return out
}

// UnmarshalJSON reads text or a number.
func (p *PortRange) UnmarshalJSON(b []byte) error {
	var n json.Number
	if err := json.Unmarshal(b, &n); err == nil {
		*p = PortRange(n.String())
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("port %s: want a number, or text such as \"80\" or \"8000-8010\"", b)
	}
	*p = PortRange(s)
	return nil
}

// Parse is the range that the text names.
func (p PortRange) Parse() (Ports, error) {
	first, last, ranged := strings.Cut(string(p), "-")
	a, err := strconv.ParseUint(first, 10, 16)
	b := a
	if err == nil && ranged {
		b, err = strconv.ParseUint(last, 10, 16)
	}
	if err != nil || a == 0 || b < a {
		return Ports{}, fmt.Errorf("port %q: want 1 to 65535, or a range such as \"8000-8010\"", string(p))
	}
	return Ports{uint16(a), uint16(b)}, nil
}
