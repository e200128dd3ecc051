package apps

import (
	"slices"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// ARP operations (RFC 826).
const (
	ARPRequest = 1
	ARPReply   = 2
)

// HostSighting is what a packet-in tells of its sender: its place, and by ARP or ND its address. It is not ok if the view has
// that already; but an answer may be one to a probe, and is told always. A VLAN has addresses of its own, which are nothing to
// us.
func HostSighting(v *View, in *Punted) (s topo.Sighting, ok bool) {
	f := in.Frame
	s = topo.Sighting{At: in.At, MAC: f.EthSrc}
	answer := false
	switch {
	case f.VLAN:
	case f.EthType == EtherTypeARP:
		answer = f.ARPOp == ARPReply
		if f.ARPSrcMAC == f.EthSrc && !f.ARPSrc.IsUnspecified() {
			s.Addr = f.ARPSrc
		}
	case f.NDTarget.IsValid() && f.ICMPType == NeighbourAdvertisement:
		answer = true
		if f.NDLink == f.EthSrc || f.NDLink == (flows.MAC{}) { // an answer to one asker may leave it out (RFC 4861 section 7.2.4)
			s.Addr = f.NDTarget
		}
	case f.NDTarget.IsValid() && !f.Src.IsUnspecified():
		s.Addr = f.Src // whatever NDLink: the copy of a solicitation that Open vSwitch has answered comes with that of the answer
	}
	if answer {
		return s, true
	}
	h, known := v.Topo.Host(s.MAC)
	old := known && h.Live && h.At == s.At && (!s.Addr.IsValid() || slices.Contains(h.Addresses, s.Addr))
	return s, !old
}
