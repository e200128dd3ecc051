package apps

import "net/netip"

// LiveState is a connection as the host of a backend has it: of a client, at an address of the host's own.
type LiveState struct {
	Proto         uint8
	Client, Local netip.AddrPort
}

// LiveReport is all connections that the host with an address has.
type LiveReport struct {
	Host   netip.Addr
	After  int64 // what the answer to the host's last report said; 0: this is the first
	States []LiveState
}

// MaxLiveStates is how many connections a host may report.
const MaxLiveStates = 1 << 20
