package deferred

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// Priorities of the way around conntrack.
const (
	prioOpens     = 75 // table 23
	prioStateless = 70

	prioPast = 105 // table 70

	prioUntracked = 20 // table 74
)

// alone reports whether a port of the backend means one port of one VIP, of whatever mode: then TCP can be translated without conntrack.
func alone(v *apps.View, l apps.Served) bool {
	if l.VIP.Proto() != apps.ProtoTCP || !l.OneToOne() {
		return false
	}
	for _, s := range v.ServedBy(l.Backend.Address) {
		if s != l && s.VIP.Proto() == l.VIP.Proto() && s.Listens().Overlaps(l.Listens()) {
			return false
		}
	}
	return true
}

// around is what is done with TCP of a backend here that conntrack does not know: because it has no room, has forgotten, or the switch
// was restarted. It is translated all the same. Connections past the VIP are told apart by being tracked too, under a mark of their own.
func (b *builder) around(h *topo.Host, l apps.Served) {
	x, y := l.VIP, l.Backend
	f := apps.FamilyOf(y.Address)
	forward := []flows.Action{flows.CTClear{}, apps.SetAddr(f.Dst, y.Address)}
	reverse := []flows.Action{flows.CTClear{}, apps.SetAddr(f.Src, x.Address)}
	if y.Port != 0 && y.Port != x.Ports.First {
		forward = append(forward, flows.SetNum(flows.TCPDst, uint64(y.Port)))
		reverse = append(reverse, flows.SetNum(flows.TCPSrc, uint64(x.Ports.First)))
	}
	if b.view.Serves(x, y) {
		m := b.accepts(x).Num(flows.CTMark, 0).MAC(flows.EthDst, y.Way())
		b.rule(apps.TableDeliver, prioUntracked, x.ID, m, append(forward, flows.SetMAC(flows.EthDst, h.MAC), flows.SetMAC(flows.EthSrc, apps.VIPMAC), flows.BackToInPort(),
			flows.SetNum(apps.RegOutput, uint64(h.At.No)), flows.Go(apps.TableOutput))...)
	}
	noted := func(table uint8) flows.CT {
		return flows.CT{Commit: true, Table: table, Zone: b.at.Deferred, Actions: []flows.Action{flows.SetNum(flows.CTMark, uint64(apps.MarkDirect))}}
	}
	for _, p := range l.Listens().Masks() {
		from := func() flows.Match {
			return apps.AtPorts(apps.From(y.Address).MAC(flows.EthSrc, h.MAC), apps.ProtoTCP, flows.TCPSrc, p).Num(flows.CTMark, 0)
		}
		b.rule(apps.TableAnswer, prioStateless, x.ID, from(), append(reverse, flows.Go(apps.TableForward))...)
		b.rule(apps.TableAnswer, prioOpens, x.ID, from().NumMasked(flows.TCPFlags, apps.SYN, apps.SYN|apps.ACK), noted(apps.TableVIP))
		b.rule(apps.TableEgress, prioPast, x.ID, apps.AtPorts(apps.To(y.Address), apps.ProtoTCP, flows.TCPDst, p), noted(apps.TableOutput))
	}
}
