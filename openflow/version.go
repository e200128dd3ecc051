package openflow

import "fmt"

// Version is an OpenFlow wire version, the first byte of every message.
type Version uint8

// The versions spoken here.
const (
	V13 Version = 4 // OpenFlow 1.3
	V15 Version = 6 // OpenFlow 1.5
)

// String is the version's name, like "1.3".
func (v Version) String() string {
	if v == 0 || v > 6 {
		return fmt.Sprintf("version(%d)", uint8(v))
	}
	return string([]byte{'1', '.', '0' + byte(v) - 1})
}
