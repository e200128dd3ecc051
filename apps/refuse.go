package apps

import (
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Refusal are the actions that hand packets to a VIP over to be refused: behind its own meter, so that it starves no other VIP's
// refusals, to [RefusalRules].
func Refusal(id vip.ID, nicira bool) []flows.Action {
	if nicira {
		return []flows.Action{flows.ToMeter{ID: MeterVIPReject + uint32(id)}, flows.Go(TableRefuse)}
	}
	return []flows.Action{flows.ToMeter{ID: MeterVIPReject + uint32(id)}, flows.GotoTable{Table: TableRefuse}}
}

// RefusalMeter is the VIP's meter.
func RefusalMeter(id vip.ID) flows.Meter {
	return flows.Meter{ID: MeterVIPReject + uint32(id), Rate: RateVIPReject, Burst: RateVIPReject}
}

// RefusalRules send what passes the VIP's meter to the controller, behind the meter of all refusals. The cookie tells it whose it is.
func RefusalRules(x *VIP, cookie uint64) (out []flows.Rule) {
	for _, p := range x.Ports.Masks() {
		out = append(out, flows.Rule{Table: TableRefuse, Priority: prioRefuse, Cookie: cookie, Match: ToVIP(x, p),
			Actions: []flows.Action{flows.ToMeter{ID: MeterReject}, flows.Controller()}})
	}
	return out
}

const prioRefuse = 100 // table 59

// Silent reports whether the sender of a packet that is refused is not to be told: the VIP with an id, or with id 0 all VIPs of
// the address, since a closed port is theirs together, reject by dropping. Segments of connections that have been had are
// answered all the same.
func (v *View) Silent(id vip.ID, f *Frame) bool {
	if f.Proto == ProtoTCP && f.TCPFlags&(SYN|ACK) != SYN {
		return false
	}
	if x := v.VIP(id); x != nil {
		return x.Spec.Reject == vip.RejectDrop
	}
	all := v.VIPsAt(f.Dst)
	for _, x := range all {
		if x.Spec.Reject != vip.RejectDrop {
			return false
		}
	}
	return len(all) > 0
}
