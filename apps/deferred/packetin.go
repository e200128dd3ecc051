package deferred

import (
	"net/netip"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

var backOut = []flows.Action{flows.Output{Port: flows.PortIn}}

// PacketIn refuses what comes while no backend takes connections. Of a connection whose backend has gone, and which the switch still
// knows, for its cache was behind when it was to forget, it is told again; the client's next packet finds another backend.
func (a *App) PacketIn(v *apps.View, in *apps.Punted, out apps.Reply) (handled bool) {
	f := in.Frame
	if in.Table == apps.TableDeliver {
		if s, able := out.(apps.Forgetter); able && !f.Fragment && a.forgets.Take(in.At.DPID, a.now(), apps.ForgetRate) {
			s.Forget(apps.Forget{Zone: v.Switches[in.At.DPID].Deferred, Proto: f.Proto, Client: netip.AddrPortFrom(f.Src, f.SrcPort),
				Backend: netip.AddrPortFrom(f.Dst, f.DstPort)})
		}
		return true
	}
	if apps.Marker(f.EthSrc) { // nobody knows any more who has sent it
		return true
	}
	if _, _, id, _ := apps.SplitCookie(in.Cookie); v.Silent(id, f) {
		return true
	}
	buf := a.answers.Get().(*[]byte)
	defer a.answers.Put(buf)
	frame, ok := apps.Reject(f, (*buf)[:0])
	if ok {
		*buf = frame
		out.PacketOut(in.At.No, backOut, frame)
	}
	return true
}

// DropReason names what a rule of this mode that drops is for; not ok for any other rule.
func DropReason(r *flows.Rule) (reason string, ok bool) {
	kind, class, _, ours := apps.SplitCookie(r.Cookie)
	if !ours || kind != apps.KindDesired || class != apps.ClassDeferred || len(r.Actions) > 0 {
		return "", false
	}
	switch {
	case r.Table == apps.TableForward:
		return "to a VIP's backend that there is no way to", true
	case r.Table == apps.TableArrival && r.Priority == prioStray:
		return "ICMP to a VIP about a connection of another edge", true
	case r.Table == apps.TableArrival:
		return "to a VIP, but of no connection and not the first of one", true
	case r.Table == apps.TableDeliver:
		return "to a VIP of mode deferred, but conntrack has no room", true
	case r.Table == apps.TableAccept:
		return "chosen for a backend that has gone, and there is no other", true
	case r.Table == apps.TableAsk:
		return "to a VIP that has no backend now, of no known connection", true
	case r.Table == apps.TableMirrored:
		return "answer of a backend to itself that nobody knows", true
	}
	return "", false
}
