package agent

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// States of TCP sockets that are no connections, or none any more (include/net/tcp_states.h).
const (
	tcpTimeWait = 6
	tcpClose    = 7
	tcpListen   = 10
)

// TCP are the TCP connections of the calling thread's network namespace with this local address, also those that a SYN has
// just begun.
func TCP(local netip.Addr) ([]State, error) {
	family := uint8(unix.AF_INET)
	if local.Is6() {
		family = unix.AF_INET6
	}
	sockets, err := netlink.SocketDiagTCP(family)
	if err != nil {
		return nil, fmt.Errorf("read TCP sockets: %w", err)
	}
	var out []State
	for _, s := range sockets {
		from, ok1 := netip.AddrFromSlice(s.ID.Destination)
		to, ok2 := netip.AddrFromSlice(s.ID.Source)
		from, to = from.Unmap(), to.Unmap()
		if !ok1 || !ok2 || to != local || s.State == tcpTimeWait || s.State == tcpClose || s.State == tcpListen {
			continue
		}
		out = append(out, State{Protocol: "tcp", Client: netip.AddrPortFrom(from, s.ID.DestinationPort), Local: netip.AddrPortFrom(to, s.ID.SourcePort)})
	}
	return out, nil
}
