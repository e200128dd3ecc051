package openflow

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
	"github.com/google/go-cmp/cmp"
)

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
		c.send(AppendNiciraProbe(nil, v, 78))
		if msg := c.next(TypeExperimenter, TypeError); !IsNiciraProbeReply(msg) || IsNiciraProbe(msg) {
			t.Errorf("%s: the probe is answered by %x", v, msg)
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
