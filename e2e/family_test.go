package e2e

import (
	"net"
	"strconv"
)

// family is a family of addresses.
type family struct {
	name  string
	hosts string // their addresses as a format of a number
	vip   string
}

var (
	ipv4 = family{"IPv4", "10.0.0.%d/24", address}
	ipv6 = family{"IPv6", "fd00::%d/64", "fd00::100"}
)

// ways are how connections of a test can be: by both versions of OpenFlow, of both families.
var ways = []struct {
	version string
	family
}{{"OpenFlow15", ipv4}, {"OpenFlow13", ipv4}, {"OpenFlow15", ipv6}, {"OpenFlow13", ipv6}}

// web is the VIP's address with a port.
func (f family) web(port int) string { return at(f.vip, port) }

// at is an address with a port.
func at(address string, port int) string { return net.JoinHostPort(address, strconv.Itoa(port)) }
