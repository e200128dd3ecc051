package nat

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// six is the IPv6 address that stands for one of IPv4 in these tests.
func six(a netip.Addr) netip.Addr {
	b := [16]byte{0: 0xfd}
	copy(b[12:], a.AsSlice())
	return netip.AddrFrom16(b)
}

var (
	dotted = regexp.MustCompile(`\d+\.\d+\.\d+\.\d+`)
	spelt  = strings.NewReplacer("tcp,", "tcp6,", "udp,", "udp6,", "nw_src=", "ipv6_src=", "nw_dst=", "ipv6_dst=",
		"->ip_src", "->ipv6_src", "->ip_dst", "->ipv6_dst")
)

// sixText is what a text about IPv4 is of IPv6.
func sixText(s string) string {
	return spelt.Replace(dotted.ReplaceAllStringFunc(s, func(a string) string { return six(netip.MustParseAddr(a)).String() }))
}

// v6 gives a VIP and its backends such addresses.
func v6(x *apps.VIP) {
	x.Address = six(x.Address)
	for i := range x.Backends {
		x.Backends[i].Address = six(x.Backends[i].Address)
	}
}

// sixPacket is the packet in IPv6.
func sixPacket(p packet) packet {
	for _, a := range []*string{&p.from, &p.to} {
		ap := netip.MustParseAddrPort(*a)
		*a = netip.AddrPortFrom(six(ap.Addr()), ap.Port()).String()
	}
	return p
}

// clients are those of the connections of VIP 7.
func clients(a *App) string {
	var all []string
	for _, c := range a.List(7, 0) {
		all = append(all, c.Client.Addr().String()+" "+c.Backend)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// All that is done over IPv4 is done over IPv6, by the same rules but for the fields' names.
func TestIPv6IsAsIPv4(t *testing.T) {
	itself := func(x *apps.VIP) {
		x.Backends[0].Host.At = topo.PortID{DPID: edge, No: 9}
	}
	closed := packet{from: client, to: "10.0.0.100:81", flags: apps.SYN, cookie: apps.Cookie(apps.KindDesired, apps.ClassNAT, 0)}
	hairpin := packet{from: "10.0.1.1:40000", to: web, flags: apps.SYN}
	for _, c := range []struct {
		name    string
		changes []change
		packets []packet
	}{
		{"a connection", nil, []packet{syn(client), data(client), syn("10.0.0.9:40001"), data("10.0.0.9:40002")}},
		{"UDP", []change{udp}, []packet{{from: client, to: web, proto: apps.ProtoUDP}}},
		{"a range", []change{at(80, 89)}, []packet{syn(client)}},
		{"the same port", []change{listen(0)}, []packet{syn(client)}},
		{"no backend is up", []change{func(x *apps.VIP) { x.Backends = nil }}, []packet{syn(client)}},
		{"a closed port", nil, []packet{closed}},
		{"itself", []change{itself}, []packet{hairpin}},
		{"elsewhere", nil, []packet{hairpin}}, // by another than the backend
	} {
		t.Run(c.name, func(t *testing.T) {
			x4, x6 := newVIP(1, c.changes...), newVIP(1, append(c.changes[:len(c.changes):len(c.changes)], v6)...)
			r4, r6 := newRig(t, x4), newRig(t, x6)
			same(t, "desired", desiredText(t, r6.view, edge), sixText(desiredText(t, r4.view, edge)))
			host := apps.Owner{Kind: apps.OwnerHost, MAC: flows.MAC{2, 0, 0, 0, 1, 1}}
			apart4, apart6 := New(Config{}).Desired(r4.view, host)[edge].String(), New(Config{}).Desired(r6.view, host)[edge].String()
			same(t, "apart", strings.TrimSpace(apart6), sixText(apart4))
			var all []string
			for _, p := range c.packets {
				got4, got6 := r4.in(p), r6.in(sixPacket(p))
				same(t, "answer", got6, sixText(got4))
				for line := range strings.Lines(got6) {
					if rule, is := strings.CutPrefix(strings.TrimSpace(line), "add "); is && !slices.Contains(all, rule) {
						all = append(all, rule)
					}
				}
			}
			again := newRig(t, x6)
			same(t, "not adopted", again.adopt(edge, strings.Join(all, "\n")), "")
			if was, now := clients(r6.app), clients(again.app); was != now || was != sixText(clients(r4.app)) {
				t.Errorf("connections of %q, adopted of %q, over IPv4 %q", was, now, clients(r4.app))
			}
		})
	}
}

// An IPv4 address in an IPv6 packet is no client's: it would pass for that of IPv4.
func TestMappedAddressIsRefused(t *testing.T) {
	r := newRig(t, newVIP(1, v6))
	p := sixPacket(syn(client))
	p.from = "[::ffff:10.0.0.9]:40000"
	if got := r.in(p); got != "" {
		t.Errorf("%s", got)
	}
	r.live(0)
}
