package apps

import (
	"net/netip"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/ovshash"
)

// Tuple is a connection as its client sees it.
type Tuple struct {
	Proto    uint8 // ProtoTCP or ProtoUDP
	Src, Dst netip.AddrPort
}

// Flow is what Open vSwitch hashes of the connection's first packet, but for its MACs.
func (t Tuple) Flow() *ovshash.Flow {
	f := &ovshash.Flow{EthType: EtherTypeIPv4, Src: t.Src.Addr(), Dst: t.Dst.Addr(), Proto: t.Proto, SrcPort: t.Src.Port(), DstPort: t.Dst.Port()}
	if f.Src.Is6() {
		f.EthType = EtherTypeIPv6
	}
	return f
}

// TupleOf is the reverse of Flow.
func TupleOf(f *ovshash.Flow) Tuple {
	return Tuple{Proto: f.Proto, Src: netip.AddrPortFrom(f.Src, f.SrcPort), Dst: netip.AddrPortFrom(f.Dst, f.DstPort)}
}

// Explainer is an app that can say where connections of its mode go.
type Explainer interface {
	// Explain says which backend of a VIP a switch gives a new connection; nil, and why, if it gives it none or nobody can know.
	// For a VIP of another mode it is nil and "".
	Explain(v *View, x *VIP, d flows.DPID, t Tuple) (b *Backend, reason string)
}

// Detailer is an app that can say how a new connection of its mode is chosen for.
type Detailer interface {
	// Detail is one line; "" for a VIP of another mode, or if there is nothing to say.
	Detail(v *View, x *VIP, t Tuple) string
}

// Describer is an app that can say what its rules and groups are for, by the names of a view. Each is one line; "" for what is
// another's, or needs no word.
type Describer interface {
	About(v *View, r *flows.Rule) string
	AboutGroup(v *View, id uint32) string
}

// Explanation says where a new connection goes, if its first packet came now.
type Explanation struct {
	VIP      string   `json:"vip"`
	Mode     vip.Mode `json:"mode"`
	DPID     string   `json:"dpid" doc:"Switch where the client's packets come in; empty: the client is no known host"`
	Backend  string   `json:"backend" doc:"Name; empty: none, or it cannot be known"`
	Via      string   `json:"via" doc:"The gateway that the backend is behind; empty: none"`
	Reason   string   `json:"reason" doc:"Why there is no backend"`
	Detail   string   `json:"detail" doc:"How it is chosen, in mode othello: Dcode, generation, owner and pin"`
	Switches []Choice `json:"switches" doc:"What each connected switch would choose, if the client's packets came in there"`
}

// Choice is what one switch would do.
type Choice struct {
	DPID    flows.DPID `json:"dpid"`
	Hash    string     `json:"hash" enum:"murmur,crc32c," doc:"By which it chooses; empty: not known"`
	Backend string     `json:"backend"`
	Reason  string     `json:"reason"`
}
