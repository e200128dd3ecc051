package engine

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/arp"
	"github.com/evenflow/evenflow/apps/base"
	"github.com/evenflow/evenflow/apps/deferred"
	"github.com/evenflow/evenflow/apps/group"
	"github.com/evenflow/evenflow/apps/nat"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/health"
	"github.com/evenflow/evenflow/topo"
)

// Of two rules of one table and priority that one packet may match, a switch takes either: so they must do the same, whoever wants them.
// And no two owners may want the same rule. The view has all modes, families, protocols, ports of all kinds, backends that share
// hosts, ports and VIPs, routers and routes.
func TestRulesDoNotOverlap(t *testing.T) {
	for _, step := range []vip.Step{vip.StepPrepare, vip.StepFlip, vip.StepSteady} {
		t.Run(string(step), func(t *testing.T) {
			v := crowdedView(t, step)
			all := []apps.App{base.New(base.Config{}), arp.New(), nat.New(nat.Config{}), group.New(group.Config{}), deferred.New(deferred.Config{}),
				othello.New(), health.New(health.Config{})}
			type place struct {
				dpid     flows.DPID
				table    uint8
				priority uint16
			}
			type wanted struct {
				flows.Rule
				by string
			}
			rules, count := map[place][]wanted{}, 0
			for _, o := range ownersOf(v) {
				for _, app := range all {
					for d, s := range app.Desired(v, o) {
						for _, r := range s.Rules {
							at := place{d, r.Table, r.Priority}
							rules[at] = append(rules[at], wanted{r, fmt.Sprintf("%s of %s", app.Name(), o)})
							count++
						}
					}
				}
			}
			told := 0
			for _, list := range rules {
				for i := range list {
					for j := range i {
						a, b := &list[i], &list[j]
						same := a.Match.Equal(b.Match)
						if told < 10 && (same && a.by != b.by || overlap(a.Match, b.Match) && !flows.EqualActions(a.Actions, b.Actions)) {
							told++
							t.Errorf("%s:\n\t%s\n%s:\n\t%s", a.by, a.Rule.String(), b.by, b.Rule.String())
						}
					}
				}
			}
			t.Logf("%d rules", count)
		})
	}
}

// overlap reports whether some packet matches both. A fragment has the ports 0 (OFPC_FRAG_NORMAL), which are nobody's.
func overlap(a, b flows.Match) bool {
	if fragments(a) && ports(b) || fragments(b) && ports(a) {
		return false
	}
	for _, x := range a {
		y, both := b.Get(x.Field)
		if !both {
			continue
		}
		mx, my := x.Field.FullMask(), y.Field.FullMask()
		if x.Masked {
			mx = x.Mask
		}
		if y.Masked {
			my = y.Mask
		}
		for i := range mx {
			if (x.Value[i]^y.Value[i])&mx[i]&my[i] != 0 {
				return false
			}
		}
	}
	return true
}

func fragments(m flows.Match) bool {
	_, ok := m.Get(flows.IPFrag)
	return ok
}

func ports(m flows.Match) bool {
	return slices.ContainsFunc([]flows.Field{flows.TCPSrc, flows.TCPDst, flows.UDPSrc, flows.UDPDst}, func(f flows.Field) bool {
		_, ok := m.Get(f)
		return ok
	})
}

func ownersOf(v *apps.View) []apps.Owner {
	out := []apps.Owner{{Kind: apps.OwnerBase}}
	addresses := map[netip.Addr]bool{}
	for _, r := range v.Routers {
		addresses[r.Address.Addr()] = true
	}
	for _, x := range v.VIPs {
		out = append(out, apps.Owner{Kind: apps.OwnerVIP, VIP: x.ID})
		addresses[x.Address] = true
	}
	for a := range addresses {
		out = append(out, apps.Owner{Kind: apps.OwnerAddress, Addr: a})
	}
	for _, h := range v.Topo.Hosts() {
		out = append(out, apps.Owner{Kind: apps.OwnerHost, MAC: h.MAC})
	}
	for d := range v.Switches {
		out = append(out, apps.Owner{Kind: apps.OwnerSwitch, DPID: d})
	}
	return out
}

// crowdedView is a view of two switches with a cable and five hosts, of which each has two addresses, and two claim
// those of backends behind gateways.
func crowdedView(t *testing.T, step vip.Step) *apps.View {
	t.Helper()
	at := func(d flows.DPID, no uint32) topo.PortID { return topo.PortID{DPID: d, No: no} }
	one, two := at(1, 10), at(2, 10)
	saved := topo.Saved{Ports: []topo.SavedPort{{PortID: one, Kind: topo.Link, Peer: &two}, {PortID: two, Kind: topo.Link, Peer: &one}}}
	for i := range 5 {
		p := at(flows.DPID(1+i%2), uint32(1+i/2))
		saved.Ports = append(saved.Ports, topo.SavedPort{PortID: p, Kind: topo.Edge})
		saved.Hosts = append(saved.Hosts, topo.SavedHost{MAC: flows.MAC{2, 0, 0, 0, 0, byte(i + 1)}, At: p, Live: true, Addresses: []netip.Addr{
			netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1))}})
	}
	claim := func(host int, a string) {
		h := &saved.Hosts[host-1]
		h.Addresses = append(h.Addresses, netip.MustParseAddr(a))
		slices.SortFunc(h.Addresses, netip.Addr.Compare)
	}
	claim(1, "10.8.7.7") // which is behind host 4
	claim(5, "10.8.9.9") // as its gateway may
	now := time.Unix(1000, 0)
	snap := topo.New(now, topo.Config{Key: bytes.Repeat([]byte{1}, 32)}, saved).Snapshot()
	routes := apps.NewRoutes([]apps.Route{{Network: netip.MustParsePrefix("10.8.0.0/16"), Via: netip.MustParseAddr("10.0.0.5")},
		{Network: netip.MustParsePrefix("10.8.7.0/24"), Via: netip.MustParseAddr("10.0.0.4")}})
	var vips []*apps.VIP
	for _, mode := range []vip.Mode{vip.ModeNAT, vip.ModeGroup, vip.ModeDeferred, vip.ModeOthello} {
		for _, v6 := range []bool{false, true} {
			for _, proto := range []vip.Protocol{vip.TCP, vip.UDP} {
				for k, port := range []vip.PortRange{"80", "8000-8010", "443"} {
					id := vip.ID(len(vips) + 1)
					address, host := fmt.Sprintf("10.0.1.%d", 1+int(id)/4), "10.0.0.%d"
					if v6 {
						address, host = fmt.Sprintf("fd00::1:%d", 1+int(id)/4), "fd00::%d"
					}
					if k == 2 && !v6 {
						address = fmt.Sprintf("10.9.0.%d", id) // of no network here
					}
					spec := vip.Spec{Name: fmt.Sprintf("v%d", id), Address: address, Protocol: proto, Port: port, Mode: mode,
						Health: &vip.Health{Type: []string{vip.HealthARP, vip.HealthICMP, vip.HealthICMP}[k]}}
					if proto == vip.TCP && k == 1 {
						spec.Health.Type = vip.HealthTCP
					}
					for i := range 4 {
						b := vip.BackendSpec{Name: fmt.Sprintf("b%d", i), Address: fmt.Sprintf(host, i+1)}
						if port == "80" && i%2 == 1 {
							b.Port = 8080
						}
						if port == "443" { // of its own alone
							b.Port = 9000 + uint16(id)
						}
						if i == 3 {
							b.Admin = vip.Draining
						}
						spec.Backends = append(spec.Backends, b)
					}
					if k != 0 && !v6 {
						spec.Backends = append(spec.Backends, vip.BackendSpec{Name: "far", Address: "10.8.7.7"}, vip.BackendSpec{Name: "farther", Address: "10.8.9.9"})
					}
					x, err := vip.Create(id, spec, vip.OriginAPI)
					if err != nil {
						t.Fatal(err)
					}
					y := &apps.VIP{VIP: x, Hairpin: 30000 + uint16(id), Backends: apps.ResolveBackends(x, snap, routes, now)}
					for i := range y.Backends {
						if mode != vip.ModeNAT {
							y.Backends[i].Endpoint = uint32(id)*100 + uint32(i) + 1
						}
					}
					vips = append(vips, y)
				}
			}
		}
	}
	v := apps.NewView(snap, map[flows.DPID]apps.SwitchInfo{
		1: {DPID: 1, Nicira: true, OF15: true, Zone: 1, Deferred: 60001, Mirror: 60002, Foretold: true},
		2: {DPID: 2, Nicira: true, OF15: true, Zone: 2, Deferred: 60003, Mirror: 60004, Foretold: true},
	}, vips)
	v.Routes = routes
	v.Routers = []apps.Router{{Address: netip.MustParsePrefix("10.0.0.254/23"), Gateway: netip.MustParseAddr("10.0.0.5")},
		{Address: netip.MustParsePrefix("10.1.0.254/8"), Gateway: netip.MustParseAddr("10.0.0.4")}, {Address: netip.MustParsePrefix("fd00::fe/64")}}
	v.Edges, v.Numbers = map[flows.DPID]uint16{1: 0, 2: 1}, map[flows.DPID]uint16{1: 1, 2: 2}
	v.Gateways = map[flows.DPID]flows.MAC{1: apps.GatewayMAC(1)}
	for _, x := range vips {
		if !x.Deferred() {
			continue
		}
		g := (*vip.Generations)(nil).Begin([]vip.Member{{Backend: 1, Replicas: 1}, {Backend: 2, Replicas: 3}, {Backend: 4, Replicas: 1}})
		g = g.Next(32).Next(32).Next(32).BeginAs(v.Wants(x))
		g.Step = step
		if x.Spec.Mode == vip.ModeOthello {
			g = othello.Settle(g, nil)
		}
		x.Generations = g
	}
	return v
}
