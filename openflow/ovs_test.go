package openflow

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
	"github.com/google/go-cmp/cmp"
)

// session is the least that speaks to a real switch.
type session struct {
	t    *testing.T
	v    Version
	conn net.Conn
	r    *Reader
	xid  uint32
}

// dial opens a session with a switch in version v.
func dial(t *testing.T, s *lab.Switch, v Version) *session {
	t.Helper()
	conn, err := net.Dial("unix", s.ManagementSocket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	c := &session{t: t, v: v, conn: conn, r: NewReader(conn)}
	c.send(AppendHello(nil, 1, v))
	h, err := ParseHello(c.next(TypeHello))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Negotiate([]Version{v}, h); err != nil || got != v {
		t.Fatalf("negotiated %s, %v", got, err)
	}
	return c
}

func (c *session) send(msg []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(msg); err != nil {
		c.t.Fatal(err)
	}
}

// next is the next message of one of the types.
func (c *session) next(types ...Type) []byte {
	c.t.Helper()
	for {
		msg, err := c.r.Next()
		if err != nil {
			c.t.Fatalf("waiting for %v: %v", types, err)
		}
		if slices.Contains(types, Type(msg[1])) {
			return msg
		}
	}
}

// try sends a message and a barrier and returns the error that the message caused.
func (c *session) try(msg []byte, err error) error {
	c.t.Helper()
	if err != nil {
		return err
	}
	c.xid++
	c.send(AppendBarrier(msg, c.v, c.xid))
	reply := c.next(TypeBarrierReply, TypeError)
	if Type(reply[1]) == TypeBarrierReply {
		return nil
	}
	e, err := ParseError(reply)
	if err != nil {
		c.t.Fatal(err)
	}
	c.next(TypeBarrierReply)
	return e
}

// multipart sends a request and returns the bodies of all pieces.
func (c *session) multipart(request []byte) (body []byte, pieces int) {
	c.t.Helper()
	c.send(request)
	for {
		reply := c.next(TypeMultipartReply, TypeError)
		if e, err := ParseError(reply); err == nil {
			c.t.Fatalf("multipart: %v", e)
		}
		p, err := ParseMultipart(reply)
		if err != nil {
			c.t.Fatal(err)
		}
		body = append(body, p.Body...)
		pieces++
		if !p.More {
			return body, pieces
		}
	}
}

func (c *session) rules() []flows.InstalledRule {
	c.t.Helper()
	body, _ := c.multipart(must(c.t)(AppendFlowStatsRequest(nil, c.v, 1, FlowFilter{Table: 0xff})))
	rules, err := ParseFlowStats(c.v, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return rules
}

// TestRulesInOpenVSwitch: each rule is accepted, read back equal, and shown by ovs-ofctl as its own text.
func TestRulesInOpenVSwitch(t *testing.T) {
	l := lab.New(t)
	s := l.Switch("s1")
	for _, v := range versions {
		c := dial(t, s, v)
		for _, id := range []uint32{1, 4294901760} { // the least and the largest
			if err := c.try(AppendMeterMod(nil, v, 1, MeterAdd, flows.Meter{ID: id, Rate: 10})); err != nil {
				t.Errorf("meter %d: %v", id, err)
			}
		}
		group := flows.Group{ID: 4294967040, Buckets: []flows.Bucket{}}
		if err := c.try(AppendGroupMod(nil, v, 1, GroupAdd, &group)); err != nil {
			t.Errorf("group: %v", err)
		}
		for _, r := range allRules(t) {
			if err := c.try(AppendFlowMod(nil, v, 7, FlowAdd, &r)); err != nil {
				t.Errorf("%s %s: %v", v, r, err)
				continue
			}
			got := c.rules()
			if len(got) != 1 {
				t.Fatalf("%s %s: %d rules", v, r, len(got))
			}
			if diff := cmp.Diff(r, got[0].Rule); diff != "" {
				t.Errorf("%s %s: read back (-want +got):\n%s", v, r, diff)
			}
			if v >= V15 {
				if !got[0].HasIdle {
					t.Errorf("%s: no idle time", r)
				}
				if dump := s.DumpFlows(); len(dump) != 1 || dump[0] != r.String() {
					t.Errorf("ovs-ofctl shows\n%q, we write\n%q", dump, r)
				}
			}
			if err := c.try(AppendFlowMod(nil, v, 7, FlowDeleteStrict, &r)); err != nil {
				t.Errorf("%s delete %s: %v", v, r, err)
			}
			if got := c.rules(); len(got) != 0 {
				t.Fatalf("%s: %s is not deleted", v, got[0])
			}
		}
		if err := c.try(AppendGroupMod(nil, v, 1, GroupDelete, &flows.Group{ID: AllGroups})); err != nil {
			t.Errorf("delete groups: %v", err)
		}
		if err := c.try(AppendMeterMod(nil, v, 1, MeterDelete, flows.Meter{ID: AllMeters})); err != nil {
			t.Errorf("delete meters: %v", err)
		}
	}
}

func TestGroupsAndMetersInOpenVSwitch(t *testing.T) {
	l := lab.New(t)
	s := l.Switch("s1")
	for _, v := range versions {
		c := dial(t, s, v)
		none := func(k flows.Bucket) flows.Bucket {
			k.WatchPort, k.WatchGroup = flows.PortAny, anyGroup
			return k
		}
		want := []flows.Group{
			{ID: 1, Type: flows.GroupAll, Buckets: []flows.Bucket{none(flows.Bucket{Actions: []flows.Action{flows.Output{Port: 1}}})}},
			{ID: 2, Type: flows.GroupSelect, Buckets: []flows.Bucket{
				none(flows.Bucket{Weight: 1, Actions: []flows.Action{flows.SetMAC(flows.EthDst, flows.MAC{2, 3}), flows.Go(60)}}),
				none(flows.Bucket{Weight: 65535, Actions: []flows.Action{flows.SetNum(flows.Reg15, 9), flows.Controller()}}),
			}},
		}
		if v >= V15 {
			want[1].Buckets[0].ID, want[1].Buckets[1].ID = 5*256, 5*256+1
			hash := want[1]
			hash.ID, hash.Method = 3, "hash"
			hash.Fields = []flows.Field{flows.IPv4Src, flows.IPv4Dst, flows.IPv6Src, flows.IPv6Dst, flows.IPProto, flows.TCPSrc,
				flows.TCPDst, flows.UDPSrc, flows.UDPDst, flows.Metadata, flows.Reg3, flows.CTMark, flows.EthSrc, flows.IPDSCP, flows.TCPFlags}
			slices.Sort(hash.Fields)
			plain := want[1]
			plain.ID, plain.Method, plain.Param = 4, "dp_hash", 1
			want = append(want, hash, plain)
		}
		for _, cmd := range []GroupCommand{GroupAdd, GroupModify} {
			for _, g := range want {
				if err := c.try(AppendGroupMod(nil, v, 1, cmd, &g)); err != nil {
					t.Errorf("%s %s: %v", v, g.String(), err)
				}
			}
			body, _ := c.multipart(AppendGroupDescRequest(nil, v, 2))
			got, err := ParseGroupDescs(v, body)
			slices.SortFunc(got, func(a, b flows.Group) int { return int(a.ID) - int(b.ID) })
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: %v, groups (-want +got):\n%s", v, err, diff)
			}
		}
		if err := c.try(AppendGroupMod(nil, v, 1, GroupAdd, &want[0])); !errors.Is(err, &Error{Type: ErrGroupModFailed, Code: CodeGroupExists}) {
			t.Errorf("%s: adding a group twice: %v", v, err)
		}
		if err := c.try(AppendGroupMod(nil, v, 1, GroupDelete, &flows.Group{ID: AllGroups})); err != nil {
			t.Error(err)
		}

		meters := []flows.Meter{{ID: 1, Rate: 100}, {ID: 2, Rate: 50000, Burst: 5}}
		for _, m := range meters {
			if err := c.try(AppendMeterMod(nil, v, 1, MeterAdd, m)); err != nil {
				t.Errorf("%s meter %d: %v", v, m.ID, err)
			}
		}
		body, _ := c.multipart(AppendMeterConfigRequest(nil, v, 3))
		got, err := ParseMeterConfigs(v, body)
		slices.SortFunc(got, func(a, b flows.Meter) int { return int(a.ID) - int(b.ID) })
		if diff := cmp.Diff(meters, got); diff != "" || err != nil {
			t.Errorf("%s: %v, meters (-want +got):\n%s", v, err, diff)
		}
		meters[1].Rate = 7
		if err := c.try(AppendMeterMod(nil, v, 1, MeterModify, meters[1])); err != nil {
			t.Error(err)
		}
		if err := c.try(AppendMeterMod(nil, v, 1, MeterModify, flows.Meter{ID: 9, Rate: 1})); !errors.Is(err,
			&Error{Type: ErrMeterModFailed, Code: CodeUnknownMeter}) {
			t.Errorf("%s: modifying a meter that is not there: %v", v, err)
		}
		if err := c.try(AppendMeterMod(nil, v, 1, MeterDelete, flows.Meter{ID: AllMeters})); err != nil {
			t.Error(err)
		}
	}
}

// TestForeignInOpenVSwitch: whatever ovs-ofctl can install is read without an error, and never equals a rule of ours.
func TestForeignInOpenVSwitch(t *testing.T) {
	l := lab.New(t)
	s := l.Switch("s1")
	texts := []string{
		"priority=1,ip,actions=multipath(symmetric_l4,1024,modulo_n,16,0,reg0[0..3])",
		"priority=2,tcp,actions=ct(commit,table=2,zone=42,nat(dst=10.0.0.5:8080),exec(set_field:1->ct_mark))",
		"priority=3,actions=learn(table=1,hard_timeout=5,eth_type=0x800,nw_dst=10.0.0.1,output:NXM_OF_IN_PORT[])",
		"priority=4,actions=push_vlan:0x8100,set_field:4101->vlan_vid,output:1",
		"priority=5,ip,actions=dec_ttl,ct_clear,note:01.02.03,exit",
		"priority=6,conj_id=7,ip,actions=output:1",
		"priority=7,ip,nw_src=10.0.0.1,actions=conjunction(7,1/2)",
		"priority=8,actions=write_metadata:0x5/0xff,goto_table:3",
		"priority=9,actions=clear_actions,write_actions(output:2),goto_table:4",
		"priority=10,actions=controller(userdata=01.02,pause),clone(output:1),check_pkt_larger(100)->reg0[0]",
		"priority=11,ip,actions=output:reg1[0..15],sample(probability=1,collector_set_id=1,obs_domain_id=1,obs_point_id=1)",
		"priority=12,tun_ipv6_src=fe80::1,actions=drop",
		"priority=13,mpls,mpls_ttl=7,actions=drop",
		"priority=14,ip,nw_tos=4,actions=bundle(eth_src,50,active_backup,ofport,members:1,2)",
		"priority=15,icmp6,icmp_type=135,nd_reserved=5,actions=drop",
		"priority=16,packet_type=(1,0x800),actions=drop",
		"priority=17,vlan_tci=0x1123/0x1fff,actions=strip_vlan,enqueue:1:2",
	}
	for _, text := range texts {
		s.Ofctl("add-flow", text)
	}
	ours := flows.MustParseRule("priority=100,arp,actions=drop")
	for _, v := range versions {
		c := dial(t, s, v)
		if err := c.try(AppendFlowMod(nil, v, 1, FlowAdd, &ours)); err != nil {
			t.Fatal(err)
		}
		rules := c.rules()
		if len(rules) != len(texts)+1 {
			t.Errorf("%s: %d rules, want %d", v, len(rules), len(texts)+1)
		}
		for _, r := range rules {
			unknown := Foreign(r.Match)
			for _, a := range r.Actions {
				if _, ok := a.(flows.Unknown); ok {
					unknown = true
				}
			}
			simple := r.Priority == ours.Priority || r.Priority == 6
			if unknown == simple {
				t.Errorf("%s: %s unknown: %v", v, r, unknown)
			}
			if equal := r.Match.Equal(ours.Match); equal != (r.Priority == ours.Priority) {
				t.Errorf("%s: %s equals ours: %v", v, r, equal)
			}
		}
	}
	s.Ofctl("add-group", "group_id=1,type=select,selection_method=hash,fields(ip_src=255.255.0.0,ip_dst),bucket=weight:1,actions=output:1")
	c := dial(t, s, V15)
	body, _ := c.multipart(AppendGroupDescRequest(nil, V15, 2))
	groups, err := ParseGroupDescs(V15, body)
	if err != nil || !slices.Contains(groups[0].Fields, flows.FieldNone) {
		t.Errorf("a group hashing half a field: %+v, %v", groups, err)
	}
	s.Ofctl("add-meter", "meter=1,kbps,band=type=drop,rate=100")
	body, _ = c.multipart(AppendMeterConfigRequest(nil, V15, 2))
	if meters, err := ParseMeterConfigs(V15, body); err != nil || meters[0] != (flows.Meter{ID: 1}) {
		t.Errorf("a meter in kilobits: %+v, %v", meters, err)
	}
}

// TestPacketsThroughOpenVSwitch sends a packet out through rules and a group, and reads what comes back.
func TestPacketsThroughOpenVSwitch(t *testing.T) {
	l := lab.New(t)
	s := l.Switch("s1")
	frame := make([]byte, 64)
	copy(frame, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5})
	for _, v := range versions {
		c := dial(t, s, v)
		if err := c.try(AppendSetConfig(nil, v, 1, 0, NoBuffer), nil); err != nil {
			t.Fatal(err)
		}
		g := flows.Group{ID: 1, Type: flows.GroupSelect, Buckets: []flows.Bucket{{Weight: 1, WatchPort: flows.PortAny, WatchGroup: anyGroup,
			Actions: []flows.Action{flows.SetNum(flows.Reg15, 0x1234), flows.SetNum(flows.Metadata, 7), flows.Controller()}}}}
		if err := c.try(AppendGroupMod(nil, v, 1, GroupAdd, &g)); err != nil {
			t.Fatal(err)
		}
		r := flows.MustParseRule("table=5,priority=3,cookie=0xef,send_flow_rem,idle_timeout=60,dl_type=0x88b5 " +
			"actions=move:NXM_OF_ETH_SRC[0..31]->NXM_NX_REG4[],group:1")
		if err := c.try(AppendFlowMod(nil, v, 1, FlowAdd, &r)); err != nil {
			t.Fatal(err)
		}
		c.send(must(t)(AppendPacketOut(nil, v, 9, flows.PortLocal, []flows.Action{flows.Go(5)}, frame)))
		var in PacketIn
		if err := ParsePacketIn(c.next(TypePacketIn), &in); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(in.Data, frame) || in.InPort != flows.PortLocal || in.TotalLen != 64 || in.Table != 5 || in.Cookie != 0xef ||
			in.BufferID != NoBufferID {
			t.Errorf("%s: %+v", v, in)
		}
		want := PacketInAction
		if v >= V15 {
			want = PacketInGroup
		}
		if in.Reason != want {
			t.Errorf("%s: reason %d, want %d", v, in.Reason, want)
		}
		for f, want := range map[flows.Field]uint64{flows.Reg15: 0x1234, flows.Metadata: 7, flows.Reg4: 2} {
			if got, ok := in.Field(f); !ok || got.Uint64(f.Width()) != want {
				t.Errorf("%s: %s is %x, %v; want %#x", v, f, got, ok, want)
			}
		}

		c.send(must(t)(AppendFlowDeleteWhere(nil, v, 10, FlowFilter{Table: 0xff, Cookie: 0xef, CookieMask: 0xff})))
		var gone FlowRemoved
		if err := ParseFlowRemoved(v, c.next(TypeFlowRemoved), &gone); err != nil {
			t.Fatal(err)
		}
		r.Actions, r.Flags = nil, 0
		if diff := cmp.Diff(r, gone.Rule); diff != "" || gone.Reason != RemovedDelete || gone.Packets != 1 || gone.Bytes != 64 {
			t.Errorf("%s: %+v (-want +got):\n%s", v, gone, diff)
		}
		if err := c.try(AppendGroupMod(nil, v, 1, GroupDelete, &g)); err != nil {
			t.Error(err)
		}
	}
}

func TestPortsInOpenVSwitch(t *testing.T) {
	l := lab.New(t)
	s, h := l.Switch("s1"), l.Host("h1", "10.0.0.1/24")
	cable := l.Link(h, 0, s, 3)
	for _, v := range versions {
		c := dial(t, s, v)
		body, _ := c.multipart(AppendPortDescRequest(nil, v, 1))
		ports, err := ParsePortDescs(v, body)
		if err != nil || len(ports) != 2 {
			t.Fatalf("%s: %+v, %v", v, ports, err)
		}
		i := slices.IndexFunc(ports, func(p Port) bool { return p.No == 3 })
		if p := ports[i]; p.Name != "s1-p3" || !p.Up() || p.SpeedKbps != 10_000_000 {
			t.Errorf("%s: %+v", v, p)
		}
		if p := ports[1-i]; p.No != flows.PortLocal || p.Name != "s1" || p.MAC != (flows.MAC{2, 0x5e, 0, 0, 0, byte(s.DPID())}) {
			t.Errorf("%s: %+v", v, p)
		}
		for _, ask := range []uint32{3, flows.PortAny} {
			body, _ = c.multipart(AppendPortStatsRequest(nil, v, 2, ask))
			stats, err := ParsePortStats(v, body)
			i := slices.IndexFunc(stats, func(p PortStats) bool { return p.No == 3 })
			if want := 1 + btoi(ask == flows.PortAny); err != nil || len(stats) != want || i < 0 || stats[i].RxErrors != 0 {
				t.Errorf("%s: %+v, %v", v, stats, err)
			}
		}
		// Those who connect to a switch are told nothing before they ask for packet-ins.
		if err := c.try(AppendSetConfig(nil, v, 1, 0, NoBuffer), nil); err != nil {
			t.Fatal(err)
		}
		cable.Cut()
		status := func(down bool) {
			for {
				reason, p, err := ParsePortStatus(v, c.next(TypePortStatus))
				if err != nil || p.No != 3 && p.No != flows.PortLocal {
					t.Fatalf("%s: %v %+v, %v", v, reason, p, err)
				}
				if p.No == 3 && p.Up() != down {
					return
				}
			}
		}
		status(true)
		cable.Restore()
		status(false)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestSessionWithOpenVSwitch(t *testing.T) {
	l := lab.New(t)
	s := l.Switch("s1", lab.DPID(0x1f))
	for _, v := range versions {
		c := dial(t, s, v)
		c.send(AppendFeaturesRequest(nil, v, 1))
		f, err := ParseFeatures(c.next(TypeFeaturesReply))
		if err != nil || f.DPID != 0x1f || f.Tables != 254 || f.Aux != 0 || f.Capabilities&CapPortStats == 0 {
			t.Errorf("%s: %+v, %v", v, f, err)
		}
		c.send(AppendEchoRequest(nil, v, 77, []byte("are you there")))
		if got := c.next(TypeEchoReply); !bytes.Equal(got, AppendEchoReply(nil, v, 77, []byte("are you there"))) {
			t.Errorf("%s: echo %q", v, got)
		}
		c.send(AppendSetConfig(nil, v, 1, 0, 99))
		c.send(AppendGetConfig(nil, v, 1))
		if flags, n, err := ParseConfig(c.next(TypeGetConfigReply)); flags != 0 || n != 99 || err != nil {
			t.Errorf("%s: config %d %d, %v", v, flags, n, err)
		}
		c.send(AppendRole(nil, v, 1, RoleMaster, 5))
		if role, gen, err := ParseRole(c.next(TypeRoleReply)); role != RoleMaster || gen != 5 || err != nil {
			t.Errorf("%s: role %s %d, %v", v, role, gen, err)
		}
		if err := c.try(AppendRole(nil, v, 1, RoleMaster, 4), nil); !errors.Is(err, &Error{Type: ErrRoleRequestFailed}) {
			t.Errorf("%s: a stale role: %v", v, err)
		}
		body, _ := c.multipart(AppendDescRequest(nil, v, 1))
		if d, err := ParseDesc(body); err != nil || d.Manufacturer != "Nicira, Inc." || d.Hardware != "Open vSwitch" {
			t.Errorf("%s: %+v, %v", v, d, err)
		}
		bad := appendRequest(nil, v, sampleXID, 17, true, 0)
		err = c.try(bad, nil)
		var e *Error
		if !errors.As(err, &e) || e.Type != ErrBadRequest || e.Code != 2 || e.XID != sampleXID || !bytes.HasPrefix(e.Data, bad[:16]) {
			t.Errorf("%s: an unknown multipart: %+v", v, err)
		}
		conn, err := net.Dial("unix", s.ManagementSocket())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write(AppendHello(nil, 1, 5)); err != nil {
			t.Fatal(err)
		}
		r := NewReader(conn)
		for {
			msg, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if e, err := ParseError(msg); err == nil {
				if !errors.Is(e, &Error{Type: ErrHelloFailed, Code: CodeIncompatible}) {
					t.Errorf("hello with 1.4: %v", e)
				}
				break
			}
		}
	}
}

// TestBundlesInOpenVSwitch: all or nothing, and the error bears the xid of the message it is about.
func TestBundlesInOpenVSwitch(t *testing.T) {
	l := lab.New(t)
	s := l.Switch("s1")
	c := dial(t, s, V15)
	good := flows.MustParseRule("priority=5,ip actions=group:1")
	bad := flows.MustParseRule("priority=6,ip actions=group:99")
	group := flows.Group{ID: 1, Type: flows.GroupAll}
	bundle := func(id uint32, rules ...flows.Rule) (replies []BundleType, failure *Error) {
		const flags = BundleAtomic | BundleOrdered
		b := AppendBundleControl(nil, V15, 100, id, BundleOpen, flags)
		b = must(t)(AppendBundleAdd(b, V15, 101, id, flags, must(t)(AppendGroupMod(nil, V15, 101, GroupAdd, &group))))
		for i, r := range rules {
			xid := 102 + uint32(i)
			b = must(t)(AppendBundleAdd(b, V15, xid, id, flags, must(t)(AppendFlowMod(nil, V15, xid, FlowAdd, &r))))
		}
		b = AppendBundleControl(b, V15, 200, id, BundleCommit, flags)
		c.send(AppendBarrier(b, V15, 201))
		for {
			msg := c.next(TypeBundleControl, TypeError, TypeBarrierReply)
			switch Type(msg[1]) {
			case TypeBarrierReply:
				return replies, failure
			case TypeError:
				e, err := ParseError(msg)
				if err != nil {
					t.Fatal(err)
				}
				if failure == nil {
					failure = e
				}
			default:
				ctl, err := ParseBundleControl(msg)
				if err != nil || ctl.ID != id {
					t.Fatalf("%+v, %v", ctl, err)
				}
				replies = append(replies, ctl.Type)
			}
		}
	}
	replies, failure := bundle(1, good, bad)
	if failure == nil || failure.XID != 103 || failure.Name() != "OFPBAC_BAD_OUT_GROUP" {
		t.Errorf("replies %v, error %+v", replies, failure)
	}
	if n := len(c.rules()); n != 0 {
		t.Errorf("%d rules of a bundle that failed", n)
	}
	replies, failure = bundle(2, good)
	if want := []BundleType{BundleOpened, BundleCommitted}; failure != nil || !slices.Equal(replies, want) {
		t.Errorf("replies %v, error %v", replies, failure)
	}
	if got := c.rules(); len(got) != 1 || !cmp.Equal(got[0].Rule, good) {
		t.Errorf("rules %v", got)
	}
}

// TestReplyInPieces reads more rules than one message holds.
func TestReplyInPieces(t *testing.T) {
	l := lab.New(t)
	s := l.Switch("s1")
	for _, v := range versions {
		c := dial(t, s, v)
		const n = 3000
		var b []byte
		for i := range n {
			r := flows.Rule{Table: 1, Priority: uint16(i), Match: flows.Match(nil).Num(flows.EthType, 0x800),
				Actions: []flows.Action{flows.Output{Port: uint32(i + 1)}}}
			b = must(t)(AppendFlowMod(b, v, 1, FlowAdd, &r))
		}
		if err := c.try(b, nil); err != nil {
			t.Fatal(err)
		}
		body, pieces := c.multipart(must(t)(AppendFlowStatsRequest(nil, v, 1, FlowFilter{Table: 1})))
		rules, err := ParseFlowStats(v, body)
		if err != nil || len(rules) != n || pieces < 2 {
			t.Errorf("%s: %d rules in %d pieces, %v", v, len(rules), pieces, err)
		}
	}
}
