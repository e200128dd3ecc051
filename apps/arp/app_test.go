package arp

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

func at(d flows.DPID, no uint32) topo.PortID { return topo.PortID{DPID: d, No: no} }

func mac(n byte) flows.MAC { return flows.MAC{0, 0, 0, 0, 0, n} }

func ten(n byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, n}) }

// view has an Open vSwitch 1 and a plain switch 2; hosts 1 and 2, of which 2 is not live, and 3, which holds the address
// of VIP 101; VIPs 100 (two of them), 101 and fd00::100; routers 10.0.0.254 and fd00::fe.
func view() *apps.View {
	var s topo.Saved
	for n := range byte(3) {
		s.Ports = append(s.Ports, topo.SavedPort{PortID: at(1, uint32(n+1)), Kind: topo.Edge})
		s.Hosts = append(s.Hosts, topo.SavedHost{MAC: mac(n + 1), At: at(1, uint32(n+1)), Live: n != 1, Addresses: []netip.Addr{ten(n + 1)}})
	}
	s.Hosts[0].Addresses = append(s.Hosts[0].Addresses, netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fe80::1"))
	s.Hosts[2].Addresses = []netip.Addr{ten(101)}
	var vips []*apps.VIP
	for i, n := range []byte{100, 100, 101} {
		vips = append(vips, &apps.VIP{VIP: &vip.VIP{ID: vip.ID(i + 1), Address: ten(n)}})
	}
	vips = append(vips, &apps.VIP{VIP: &vip.VIP{ID: 4, Address: netip.MustParseAddr("fd00::100")}})
	infos := map[flows.DPID]apps.SwitchInfo{1: {DPID: 1, Nicira: true}, 2: {DPID: 2}}
	v := apps.NewView(topo.New(time.Unix(1, 0), topo.Config{}, s).Snapshot(), infos, vips)
	v.Routers = []apps.Router{{Address: netip.MustParsePrefix("10.0.0.254/24")}, {Address: netip.MustParsePrefix("fd00::fe/64")}}
	return v
}

func text(states map[flows.DPID]flows.State) string {
	out := ""
	for d := range flows.DPID(3) {
		if s, ok := states[d]; ok {
			out += fmt.Sprintf("s%d\n%s", d, s)
		}
	}
	return out
}

const addressRules = `s1
cookie=0xef01020000000000, table=10, priority=120,arp,arp_spa=10.0.0.100 actions=meter:2,CONTROLLER:65535
cookie=0xef01020000000000, table=10, priority=100,arp,arp_tpa=10.0.0.100,arp_op=1 actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:ef:00:00:00:01->eth_src,set_field:2->arp_op,move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],set_field:02:ef:00:00:00:01->arp_sha,move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:10.0.0.100->arp_spa,IN_PORT
cookie=0xef01020000000000, table=30, priority=90,icmp,nw_dst=10.0.0.100,icmp_type=8,icmp_code=0 actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:ef:00:00:00:01->eth_src,move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[],set_field:10.0.0.100->ip_src,set_field:64->nw_ttl,set_field:0->icmp_type,IN_PORT
cookie=0xef01030000000000, table=30, priority=50,ip,nw_dst=10.0.0.100 actions=meter:5,CONTROLLER:65535
s2
cookie=0xef01020000000000, table=10, priority=120,arp,arp_spa=10.0.0.100 actions=meter:2,CONTROLLER:65535
cookie=0xef01020000000000, table=10, priority=100,arp,arp_tpa=10.0.0.100,arp_op=1 actions=meter:2,CONTROLLER:65535
cookie=0xef01020000000000, table=30, priority=90,icmp,nw_dst=10.0.0.100,icmp_type=8,icmp_code=0 actions=meter:4,CONTROLLER:65535
cookie=0xef01030000000000, table=30, priority=50,ip,nw_dst=10.0.0.100 actions=meter:5,CONTROLLER:65535
`

const hostRules = `s1
cookie=0xef01020000000000, table=10, priority=110,arp,dl_src=00:00:00:00:00:01,arp_tpa=10.0.0.1 actions=resubmit(,60),resubmit(,3)
cookie=0xef01020000000000, table=10, priority=110,arp,arp_spa=10.0.0.1,arp_tpa=10.0.0.1 actions=resubmit(,60),resubmit(,3)
cookie=0xef01020000000000, table=10, priority=100,arp,arp_tpa=10.0.0.1,arp_op=1 actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:00:00:00:00:00:01->eth_src,set_field:2->arp_op,move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],set_field:00:00:00:00:00:01->arp_sha,move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:10.0.0.1->arp_spa,IN_PORT
cookie=0xef01020000000000, table=10, priority=100,icmp6,icmp_type=135,nd_target=fd00::1,nd_options_type=1 actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:00:00:00:00:00:01->eth_src,move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[],set_field:fd00::1->ipv6_src,set_field:136->icmpv6_type,set_field:1610612736->nd_reserved,set_field:2->nd_options_type,resubmit(,11)
cookie=0xef01020000000000, table=10, priority=100,icmp6,icmp_type=135,nd_target=fe80::1 actions=set_field:00:00:00:00:00:01->eth_dst,resubmit(,60)
s2
`

// fill puts an address, and the flags of its answers, into rules.
func fill(rules, a, flags string) string {
	return strings.NewReplacer("ADDR", a, "FLAGS", flags).Replace(rules)
}

const (
	ndClaimed = `cookie=0xef01020000000000, table=10, priority=120,icmp6,ipv6_src=ADDR,icmp_type=135 actions=meter:2,CONTROLLER:65535
cookie=0xef01020000000000, table=10, priority=120,icmp6,icmp_type=136,nd_target=ADDR actions=meter:2,CONTROLLER:65535
`
	ndProbed = `cookie=0xef01020000000000, table=10, priority=115,icmp6,ipv6_src=::,icmp_type=135,nd_target=ADDR actions=set_field:33:33:00:00:00:01->eth_dst,set_field:02:ef:00:00:00:01->eth_src,set_field:ff02::1->ipv6_dst,set_field:ADDR->ipv6_src,set_field:136->icmpv6_type,IN_PORT
`
	ndAsked = `cookie=0xef01020000000000, table=10, priority=100,icmp6,icmp_type=135,nd_target=ADDR,nd_options_type=1 actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:ef:00:00:00:01->eth_src,move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[],set_field:ADDR->ipv6_src,set_field:136->icmpv6_type,set_field:FLAGS->nd_reserved,set_field:2->nd_options_type,resubmit(,11)
`
	ndOddly = `cookie=0xef01020000000000, table=10, priority=95,icmp6,icmp_type=135,nd_target=ADDR actions=meter:2,CONTROLLER:65535
`
	addressIPv6 = "s1\n" + ndClaimed + ndProbed + ndAsked + ndOddly +
		`cookie=0xef01020000000000, table=30, priority=90,icmp6,ipv6_dst=ADDR,icmp_type=128,icmp_code=0 actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:ef:00:00:00:01->eth_src,move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[],set_field:ADDR->ipv6_src,set_field:64->nw_ttl,set_field:129->icmpv6_type,IN_PORT
cookie=0xef01030000000000, table=30, priority=50,ipv6,ipv6_dst=ADDR actions=meter:5,CONTROLLER:65535
` + "s2\n" + ndClaimed + ndOddly +
		`cookie=0xef01020000000000, table=30, priority=90,icmp6,ipv6_dst=ADDR,icmp_type=128,icmp_code=0 actions=meter:4,CONTROLLER:65535
cookie=0xef01030000000000, table=30, priority=50,ipv6,ipv6_dst=ADDR actions=meter:5,CONTROLLER:65535
`
	ndFree = "cookie=0xef01020000000000, table=10, priority=110,icmp6,ipv6_src=::,icmp_type=135 actions=resubmit(,60),resubmit(,3)\n"
	ndEnd  = "cookie=0xef01020000000000, table=11, priority=100,icmp6,icmp_type=136 actions=move:NXM_OF_ETH_SRC[]->NXM_NX_ND_TLL[],IN_PORT\n"

	hostFlags, routerFlags = "1610612736", "3758096384"
)

// baseRules are those of our own link-local addresses, each with its own MAC.
var baseRules = "s1\n" + doubled(ndClaimed+ndProbed+ndFree+ndAsked+ndOddly+ndEnd) + "s2\n" + doubled(ndClaimed+ndOddly)

// doubled are rules for both addresses, line by line.
func doubled(rules string) (out string) {
	for line := range strings.Lines(rules) {
		out += fill(line, "fe80::ef:ff:fe00:1", hostFlags)
		if strings.Contains(line, "ADDR") {
			out += strings.ReplaceAll(fill(line, "fe80::ef:ff:fe00:2", hostFlags), "02:ef:00:00:00:01", "02:ef:00:00:00:02")
		}
	}
	return out
}

func TestDesired(t *testing.T) {
	for name, c := range map[string]struct {
		owner apps.Owner
		want  string
	}{
		"VIP":       {apps.Owner{Kind: apps.OwnerAddress, Addr: ten(100)}, addressRules},
		"no VIP":    {apps.Owner{Kind: apps.OwnerAddress, Addr: ten(99)}, ""},
		"IPv6":      {apps.Owner{Kind: apps.OwnerAddress, Addr: netip.MustParseAddr("fd00::1")}, ""},
		"VIP IPv6":  {apps.Owner{Kind: apps.OwnerAddress, Addr: netip.MustParseAddr("fd00::100")}, fill(addressIPv6, "fd00::100", hostFlags)},
		"router":    {apps.Owner{Kind: apps.OwnerAddress, Addr: ten(254)}, strings.ReplaceAll(addressRules, "10.0.0.100", "10.0.0.254")},
		"router v6": {apps.Owner{Kind: apps.OwnerAddress, Addr: netip.MustParseAddr("fd00::fe")}, fill(addressIPv6, "fd00::fe", routerFlags)},
		"host":      {apps.Owner{Kind: apps.OwnerHost, MAC: mac(1)}, hostRules},
		"not live":  {apps.Owner{Kind: apps.OwnerHost, MAC: mac(2)}, ""},
		"with VIP":  {apps.Owner{Kind: apps.OwnerHost, MAC: mac(3)}, ""},
		"no host":   {apps.Owner{Kind: apps.OwnerHost, MAC: mac(9)}, ""},
		"base":      {apps.Owner{Kind: apps.OwnerBase}, baseRules},
		"one VIP's": {apps.Owner{Kind: apps.OwnerVIP, VIP: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, text(New().Desired(view(), c.owner))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
