package topo

import "fmt"

// PortKind is what is behind a port.
type PortKind uint8

// Port kinds. Through an Unknown port nothing passes but LLDP.
const (
	Unknown PortKind = iota
	Edge
	Link
)

var kindNames = [...]string{"unknown", "edge", "link"}

// String is unknown, edge or link.
func (k PortKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind%d", uint8(k))
}

// MarshalText is String, for JSON and YAML.
func (k PortKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is the reverse of MarshalText.
func (k *PortKind) UnmarshalText(b []byte) error {
	for i, n := range kindNames {
		if n == string(b) {
			*k = PortKind(i)
			return nil
		}
	}
	return fmt.Errorf("port kind %q: want edge, link or unknown", b)
}
