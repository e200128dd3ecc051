package group

import (
	"net/netip"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

var backOut = []flows.Action{flows.Output{Port: flows.PortIn}}

// PacketIn refuses: a new connection while no backend takes any, if the VIP does, and a known one whose backend has gone. Of the latter
// conntrack has translated the packet, so the answer goes out through it, and ends the connection there too.
//
// A client that begins anew on a port whose old connection has such a backend, and datagrams, are not to be refused, but to
// get another backend; the switch is to forget, and they will come again.
func (a *App) PacketIn(v *apps.View, in *apps.Punted, out apps.Reply) (handled bool) {
	f := in.Frame
	known := len(v.VIPsAt(f.Dst)) == 0 // and so translated
	zone := v.Switches[in.At.DPID].Zone
	if known && zone == 0 || f.Fragment {
		a.counters.fragments.Add(1)
		return true
	}
	begins := f.Proto == apps.ProtoUDP || f.Proto == apps.ProtoTCP && f.TCPFlags&(apps.SYN|apps.ACK) == apps.SYN
	if known && begins {
		if s, able := out.(apps.Forgetter); !able || !a.forgets.Take(in.At.DPID, a.now(), apps.ForgetRate) {
			a.counters.late.Add(1)
		} else {
			a.counters.forgot.Add(1)
			s.Forget(apps.Forget{Zone: zone, Proto: f.Proto, Client: netip.AddrPortFrom(f.Src, f.SrcPort),
				Backend: netip.AddrPortFrom(f.Dst, f.DstPort)})
		}
		return true
	}
	_, _, id, _ := apps.SplitCookie(in.Cookie)
	if !known && v.Silent(id, f) {
		a.counters.silent.Add(1)
		return true
	}
	buf := a.answers.Get().(*[]byte)
	defer a.answers.Put(buf)
	reject := apps.Reject
	if known {
		reject = apps.RejectTranslated
	}
	frame, ok := reject(f, (*buf)[:0])
	if !ok {
		return true
	}
	*buf = frame
	if !known {
		a.counters.refused.Add(1)
		out.PacketOut(in.At.No, backOut, frame)
		return true
	}
	a.counters.ended.Add(1)
	actions := [...]flows.Action{flows.SetNum(apps.RegOutput, uint64(in.At.No)), unNAT(zone)}
	out.PacketOut(flows.PortController, actions[:], frame)
	return true
}

// unNAT leads an answer out as it leads a backend's.
func unNAT(zone uint16) flows.CT { return apps.Known(zone, apps.TableUnNAT) }

// DropReason names what a rule of this mode that drops is for; not ok for any other rule.
func DropReason(r *flows.Rule) (reason string, ok bool) {
	kind, class, _, ours := apps.SplitCookie(r.Cookie)
	if !ours || kind != apps.KindDesired || class != apps.ClassGroup || len(r.Actions) > 0 {
		return "", false
	}
	switch {
	case r.Table == apps.TableGroup && r.Priority == prioUntracked:
		return "to a VIP, but conntrack has no room", true
	case r.Table == apps.TableGroup:
		return "to a VIP, but of no connection and not the first of one", true
	case r.Table == apps.TableCommit:
		return "chosen by a group for a backend that has gone", true
	}
	return "", false
}
