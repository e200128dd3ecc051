package base

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

func at(d flows.DPID, no uint32) topo.PortID { return topo.PortID{DPID: d, No: no} }

func mac(n byte) flows.MAC { return flows.MAC{0, 0, 0, 0, 0, n} }

// triangle is three switches in a ring, each with a host; the cable from s2:4 to s3:4 is not on the tree. Host 3 is not live.
func triangle() *topo.Snapshot {
	var s topo.Saved
	port := func(id topo.PortID, peer ...topo.PortID) {
		p := topo.SavedPort{PortID: id, Kind: topo.Edge}
		if len(peer) > 0 {
			p.Kind, p.Peer = topo.Link, &peer[0]
		}
		s.Ports = append(s.Ports, p)
	}
	cable := func(a, b topo.PortID) {
		port(a, b)
		port(b, a)
	}
	for d := range flows.DPID(3) {
		port(at(d+1, 1))
		s.Hosts = append(s.Hosts, topo.SavedHost{MAC: mac(byte(d + 1)), At: at(d+1, 1), Live: d != 2,
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(d + 1)}), netip.AddrFrom16([16]byte{0: 0xfd, 15: byte(d + 1)})}})
	}
	port(at(2, 2))
	cable(at(1, 3), at(2, 3))
	cable(at(1, 4), at(3, 3))
	cable(at(2, 4), at(3, 4))
	t := topo.New(time.Unix(1, 0), topo.Config{}, s)
	return t.Snapshot()
}

func view(nicira bool, connected ...flows.DPID) *apps.View {
	infos := make(map[flows.DPID]apps.SwitchInfo)
	for _, d := range connected {
		infos[d] = apps.SwitchInfo{DPID: d, Nicira: nicira}
	}
	return apps.NewView(triangle(), infos, nil)
}

const meters = `meter=1 pktps burst bands=type=drop rate=100 burst_size=100
meter=2 pktps burst bands=type=drop rate=1000 burst_size=1000
meter=3 pktps burst bands=type=drop rate=50000 burst_size=50000
meter=4 pktps burst bands=type=drop rate=7 burst_size=7
meter=5 pktps burst bands=type=drop rate=1000 burst_size=1000
meter=6 pktps burst bands=type=drop rate=10 burst_size=10
meter=7 pktps burst bands=type=drop rate=100 burst_size=100
meter=8 pktps burst bands=type=drop rate=2000 burst_size=2000
`

// portMeters are those of the edge ports of s2 in the triangle.
const portMeters = `meter=11 pktps burst bands=type=drop rate=1000 burst_size=1000
meter=12 pktps burst bands=type=drop rate=1000 burst_size=1000
`

// s2 in the triangle; the rules' cookie is left out.
const openVSwitch = portMeters + `group_id=1,type=all,bucket=bucket_id:1,actions=resubmit(,2),bucket=bucket_id:2,actions=resubmit(,3)
priority=400,in_port=3,dl_type=0x88cc actions=CONTROLLER:65535
priority=400,in_port=4,dl_type=0x88cc actions=CONTROLLER:65535
priority=360,in_port=1,dl_type=0x88cc actions=meter:7,CONTROLLER:65535
priority=360,in_port=2,dl_type=0x88cc actions=meter:7,CONTROLLER:65535
priority=350,dl_type=0x88cc actions=meter:1,CONTROLLER:65535
priority=300,in_port=3 actions=resubmit(,60)
priority=300,in_port=4 actions=resubmit(,60)
priority=250,dl_src=02:ef:00:00:00:01 actions=meter:6,CONTROLLER:65535
priority=250,dl_src=02:ef:00:00:00:02 actions=meter:6,CONTROLLER:65535
priority=250,dl_src=0e:ef:03:00:00:00 actions=meter:6,CONTROLLER:65535
priority=250,dl_src=01:00:00:00:00:00/01:00:00:00:00:00 actions=meter:6,CONTROLLER:65535
priority=250,dl_src=0e:ef:01:00:00:00/ff:ff:ff:00:00:00 actions=meter:6,CONTROLLER:65535
priority=200,in_port=1 actions=resubmit(,1)
priority=200,in_port=2 actions=resubmit(,1)
priority=0 actions=drop
table=1, priority=200,arp,in_port=1,dl_src=00:00:00:00:00:02,arp_spa=10.0.0.2,arp_op=1 actions=resubmit(,2)
table=1, priority=200,icmp6,in_port=1,dl_src=00:00:00:00:00:02,ipv6_src=fd00::2,icmp_type=135 actions=resubmit(,2)
table=1, priority=150,arp,arp_op=1 actions=group:1
table=1, priority=150,icmp6,icmp_type=135 actions=group:1
table=1, priority=100,in_port=1,dl_src=00:00:00:00:00:02 actions=resubmit(,2)
table=1, priority=0 actions=group:1
table=2, priority=300,vlan_tci=0x1000/0x1000 actions=resubmit(,60)
table=2, priority=200,icmp6,nw_ttl=255,icmp_type=135,icmp_code=0 actions=resubmit(,10)
table=2, priority=200,icmp6,nw_ttl=255,icmp_type=136,icmp_code=0 actions=resubmit(,10)
table=2, priority=100,ip actions=resubmit(,20)
table=2, priority=100,arp actions=resubmit(,10)
table=2, priority=100,ipv6 actions=resubmit(,20)
table=2, priority=0 actions=resubmit(,60)
table=3, priority=200,in_port=1 actions=meter:11,CONTROLLER:65535
table=3, priority=200,in_port=2 actions=meter:12,CONTROLLER:65535
table=3, priority=100,arp actions=meter:2,CONTROLLER:65535
table=3, priority=100,icmp6,icmp_type=135 actions=meter:2,CONTROLLER:65535
table=3, priority=100,icmp6,icmp_type=136 actions=meter:2,CONTROLLER:65535
table=3, priority=0 actions=meter:4,CONTROLLER:65535
table=10, priority=50,dl_dst=02:ef:00:00:00:01 actions=resubmit(,3)
table=10, priority=0 actions=resubmit(,60),resubmit(,3)
table=20, priority=0 actions=resubmit(,30)
table=30, priority=0 actions=resubmit(,60)
table=40, priority=0 actions=resubmit(,60)
table=60, priority=100,dl_dst=00:00:00:00:00:01 actions=set_field:0x3->reg0,resubmit(,80)
table=60, priority=100,dl_dst=00:00:00:00:00:02 actions=set_field:0x1->reg0,resubmit(,70)
table=60, priority=100,dl_dst=00:00:00:00:00:03 actions=set_field:0x4->reg0,resubmit(,80)
table=60, priority=90,dl_dst=02:ef:00:00:00:01 actions=drop
table=60, priority=90,dl_dst=02:ef:00:00:00:02 actions=drop
table=60, priority=10,in_port=4 actions=drop
table=60, priority=0 actions=output:3,set_field:0xfffffffb->reg0,resubmit(,70)
table=70, priority=300,vlan_tci=0x1000/0x1000 actions=resubmit(,80)
table=70, priority=0 actions=resubmit(,80)
table=80, priority=100,reg0=0x1 actions=output:1
table=80, priority=100,reg0=0x2 actions=output:2
table=80, priority=100,reg0=0x3 actions=output:3
table=80, priority=100,reg0=0x4 actions=output:4
table=80, priority=100,reg0=0xfffffffb actions=output:1,output:2
table=80, priority=0 actions=drop
`

const plain = `priority=400,in_port=3,dl_type=0x88cc actions=CONTROLLER:65535
priority=400,in_port=4,dl_type=0x88cc actions=CONTROLLER:65535
priority=360,in_port=1,dl_type=0x88cc actions=meter:7,CONTROLLER:65535
priority=360,in_port=2,dl_type=0x88cc actions=meter:7,CONTROLLER:65535
priority=350,dl_type=0x88cc actions=meter:1,CONTROLLER:65535
priority=300,in_port=3 actions=goto_table:60
priority=300,in_port=4 actions=goto_table:60
priority=250,dl_src=02:ef:00:00:00:01 actions=meter:6,CONTROLLER:65535
priority=250,dl_src=02:ef:00:00:00:02 actions=meter:6,CONTROLLER:65535
priority=250,dl_src=0e:ef:03:00:00:00 actions=meter:6,CONTROLLER:65535
priority=250,dl_src=01:00:00:00:00:00/01:00:00:00:00:00 actions=meter:6,CONTROLLER:65535
priority=250,dl_src=0e:ef:01:00:00:00/ff:ff:ff:00:00:00 actions=meter:6,CONTROLLER:65535
priority=200,in_port=1 actions=goto_table:1
priority=200,in_port=2 actions=goto_table:1
priority=0 actions=drop
table=1, priority=100,in_port=1,dl_src=00:00:00:00:00:02 actions=goto_table:2
table=1, priority=0 actions=meter:4,CONTROLLER:65535,goto_table:2
table=2, priority=300,vlan_tci=0x1000/0x1000 actions=goto_table:60
table=2, priority=200,icmp6,nw_ttl=255,icmp_type=135,icmp_code=0 actions=goto_table:10
table=2, priority=200,icmp6,nw_ttl=255,icmp_type=136,icmp_code=0 actions=goto_table:10
table=2, priority=100,ip actions=goto_table:20
table=2, priority=100,arp actions=goto_table:10
table=2, priority=100,ipv6 actions=goto_table:20
table=2, priority=0 actions=goto_table:60
table=10, priority=50,dl_dst=02:ef:00:00:00:01 actions=meter:2,CONTROLLER:65535
table=10, priority=0 actions=meter:2,CONTROLLER:65535,goto_table:60
table=20, priority=0 actions=goto_table:30
table=30, priority=0 actions=goto_table:60
table=40, priority=0 actions=goto_table:60
table=60, priority=100,dl_dst=00:00:00:00:00:01 actions=output:3
table=60, priority=100,dl_dst=00:00:00:00:00:02 actions=goto_table:70
table=60, priority=100,dl_dst=00:00:00:00:00:03 actions=output:4
table=60, priority=90,dl_dst=02:ef:00:00:00:01 actions=drop
table=60, priority=90,dl_dst=02:ef:00:00:00:02 actions=drop
table=60, priority=10,in_port=4 actions=drop
table=60, priority=0 actions=output:3,output:1,output:2
table=70, priority=300,vlan_tci=0x1000/0x1000 actions=goto_table:80
table=70, priority=0 actions=goto_table:80
table=80, priority=100,dl_dst=00:00:00:00:00:02 actions=output:1
table=80, priority=0 actions=drop
`

// everything is the base and all hosts' rules.
func everything(a *App, v *apps.View) map[flows.DPID]flows.State {
	out := a.Desired(v, apps.Owner{Kind: apps.OwnerBase})
	for _, h := range v.Topo.Hosts() {
		for d, s := range a.Desired(v, apps.Owner{Kind: apps.OwnerHost, MAC: h.MAC}) {
			all := out[d]
			all.Append(s)
			out[d] = all
		}
	}
	return out
}

func TestDesired(t *testing.T) {
	for name, c := range map[string]struct {
		nicira bool
		want   string
	}{
		"Open vSwitch":   {true, openVSwitch},
		"plain OpenFlow": {false, plain},
	} {
		t.Run(name, func(t *testing.T) {
			states := everything(New(Config{Rates: map[uint32]uint32{apps.MeterOther: 7}}), view(c.nicira, 2, 9))
			if len(states) != 2 {
				t.Fatalf("states of %d switches, want 2", len(states))
			}
			got := states[2]
			for i := range got.Rules {
				want := apps.Cookie(apps.KindDesired, apps.ClassBase, 0)
				if len(got.Rules[i].Actions) == 0 || got.Rules[i].Priority == prioForbid {
					want = apps.Drop(want)
				}
				if got.Rules[i].Cookie != want {
					t.Errorf("cookie %#x", got.Rules[i].Cookie)
				}
				got.Rules[i].Cookie = 0
			}
			got.Sort()
			if diff := cmp.Diff(meters+c.want, got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// All of the base that drops is named, as are the same rules when read back without their actions' slice.
func TestDropReason(t *testing.T) {
	for _, nicira := range []bool{true, false} {
		for _, s := range everything(New(Config{}), view(nicira, 1, 2, 3, 9)) {
			for _, r := range s.Rules {
				if reason, ok := DropReason(&r); ok != (len(r.Actions) == 0 || r.Priority == prioForbid) || ok != (reason != "") {
					t.Errorf("%s: %q, %t", r.String(), reason, ok)
				}
			}
		}
	}
	if _, ok := DropReason(&flows.Rule{Table: apps.TableForward}); ok {
		t.Error("a rule that is not ours has a reason")
	}
}

func TestOtherOwnersHaveNoBase(t *testing.T) {
	if s := New(Config{}).Desired(view(true, 1), apps.Owner{Kind: apps.OwnerVIP, VIP: 1}); s != nil {
		t.Errorf("%v", s)
	}
}
