package apps

import "github.com/evenflow/evenflow/apps/vip"

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
