package deferred

import (
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

var backOut = []flows.Action{flows.Output{Port: flows.PortIn}}

// PacketIn refuses what comes while no backend takes connections.
func (a *App) PacketIn(v *apps.View, in *apps.Punted, out apps.Reply) (handled bool) {
	if apps.Marker(in.Frame.EthSrc) { // nobody knows any more who has sent it
		return true
	}
	if _, _, id, _ := apps.SplitCookie(in.Cookie); v.Silent(id, in.Frame) {
		return true
	}
	buf := a.answers.Get().(*[]byte)
	defer a.answers.Put(buf)
	frame, ok := apps.Reject(in.Frame, (*buf)[:0])
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
	case r.Table == apps.TableArrival && r.Priority == prioStray:
		return "ICMP to a VIP about a connection of another edge", true
	case r.Table == apps.TableArrival:
		return "to a VIP, but of no connection and not the first of one", true
	case r.Table == apps.TableDeliver:
		return "to a VIP's backend that has gone, or conntrack has no room", true
	case r.Table == apps.TableAccept:
		return "chosen for a backend that has gone, and there is no other", true
	case r.Table == apps.TableAsk:
		return "to a VIP that has no backend now, of no known connection", true
	case r.Table == apps.TableMirrored:
		return "answer of a backend to itself that nobody knows", true
	}
	return "", false
}
