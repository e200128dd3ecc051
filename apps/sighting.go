package apps

import (
	"slices"

	"github.com/evenflow/evenflow/topo"
)

// ARP operations (RFC 826).
const (
	ARPRequest = 1
	ARPReply   = 2
)

// HostSighting is what a packet-in tells of its sender: its place, and by ARP its address. It is not ok if the view has
// that already; but an ARP reply may answer a probe, and is told always.
func HostSighting(v *View, in *Punted) (s topo.Sighting, ok bool) {
	f := in.Frame
	s = topo.Sighting{At: in.At, MAC: f.EthSrc}
	if f.EthType == EtherTypeARP && f.ARPSrcMAC == f.EthSrc && f.ARPSrc.IsValid() && !f.ARPSrc.IsUnspecified() {
		s.Addr = f.ARPSrc
	}
	if f.EthType == EtherTypeARP && f.ARPOp == ARPReply {
		return s, true
	}
	h, known := v.Topo.Host(s.MAC)
	old := known && h.Live && h.At == s.At && (!s.Addr.IsValid() || slices.Contains(h.Addresses, s.Addr))
	return s, !old
}
