package flows

import (
	"fmt"
	"net"
)

// DPID is a switch's 64-bit datapath id.
type DPID uint64

// String is the id as 16 hex digits.
func (d DPID) String() string { return fmt.Sprintf("%016x", uint64(d)) }

// ParseDPID reads 16 hex digits.
func ParseDPID(s string) (DPID, error) {
	var d uint64
	if len(s) != 16 {
		return 0, fmt.Errorf("datapath id %q: want 16 hex digits", s)
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, fmt.Errorf("datapath id %q: want 16 hex digits", s)
		}
		d = d<<4 | uint64(c)
	}
	return DPID(d), nil
}

// MarshalText is String, for JSON and YAML.
func (d DPID) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is ParseDPID, for JSON and YAML.
func (d *DPID) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDPID(string(b))
	return err
}

// MAC is an Ethernet address.
type MAC [6]byte

// String is aa:bb:cc:dd:ee:ff.
func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// Value is the address as a field value.
func (m MAC) Value() (v Value) {
	copy(v[:], m[:])
	return v
}

// Multicast reports whether the address names a group (broadcast included).
func (m MAC) Multicast() bool { return m[0]&1 != 0 }

// ParseMAC reads aa:bb:cc:dd:ee:ff.
func ParseMAC(s string) (m MAC, err error) {
	h, err := net.ParseMAC(s)
	if err != nil || len(h) != 6 {
		return m, fmt.Errorf("MAC address %q: want aa:bb:cc:dd:ee:ff", s)
	}
	return MAC(h), nil
}

// MarshalText is String, for JSON and YAML.
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText is ParseMAC, for JSON and YAML.
func (m *MAC) UnmarshalText(b []byte) (err error) {
	*m, err = ParseMAC(string(b))
	return err
}
