package controller_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/google/go-cmp/cmp"
)

var versions = []openflow.Version{openflow.V13, openflow.V15}

// eachVersion runs a test in both versions with one switch connected.
func eachVersion(t *testing.T, cfg controller.Config, test func(t *testing.T, h *harness, fake *controllertest.Switch),
	opts ...controllertest.Option) {
	for _, v := range versions {
		t.Run(v.String(), func(t *testing.T) {
			h := start(t, cfg)
			fake := controllertest.NewSwitch(1, append(opts, controllertest.Versions(v), controllertest.Ports(1, 2))...)
			h.connect(fake)
			fake.Forget()
			test(t, h, fake)
		})
	}
}

func TestPacketInsInOrder(t *testing.T) {
	const n = 20000
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1)
	next, done := uint32(0), make(chan error, 1)
	h.onPacketIn = func(_ *controller.Switch, in *openflow.PacketIn) {
		if got := binary.BigEndian.Uint32(in.Data); got != next {
			done <- fmt.Errorf("packet %d where %d was expected", got, next)
		}
		if next++; next == n {
			done <- nil
		}
	}
	h.connect(fake)
	var all []byte
	for i := range uint32(n) {
		all, _ = openflow.AppendPacketIn(all, openflow.V15, 0, &openflow.PacketIn{Data: binary.BigEndian.AppendUint32(nil, i)})
	}
	fake.Write(all)
	if err := <-done; err != nil {
		t.Error(err)
	}
	h.stop()
	if c := h.session().Counters(); c.PacketIns != n || c.DroppedIns != 0 || c.BytesIn < uint64(len(all)) {
		t.Errorf("%+v", c)
	}
}

// Packet-ins that were read together with other messages are handed over in order, also with a broken one among them.
func TestBurst(t *testing.T) {
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1)
	h.connect(fake)
	packet := func(b []byte, s string) []byte {
		b, _ = openflow.AppendPacketIn(b, openflow.V15, 0, &openflow.PacketIn{InPort: 1, Data: []byte(s)})
		return b
	}
	var all []byte
	var want []string
	for i := range 70 { // more than two bursts
		all = packet(all, strconv.Itoa(i))
		want = append(want, "packet-in 1 "+strconv.Itoa(i))
		switch i {
		case 40:
			all = append(all, byte(openflow.V15), byte(openflow.TypePacketIn), 0, 8, 0, 0, 0, 0)
		case 50:
			all = openflow.AppendPortStatus(all, openflow.V15, 0, openflow.PortAdded, openflow.Port{No: 9})
			want = append(want, "port 9 add up=true")
		}
	}
	fake.Write(all)
	h.until(t, want[len(want)-1])
	if got := h.log(); !slices.Equal(got[len(got)-len(want):], want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	h.stop()
	if c := h.session().Counters(); c.Malformed != 1 || c.PacketIns != 70 {
		t.Errorf("%+v", c)
	}
}

// Answers given in the handler reach the switch in their order, together with what others send.
func TestAnswers(t *testing.T) {
	eachVersion(t, controller.Config{}, func(t *testing.T, h *harness, fake *controllertest.Switch) {
		rule := flows.MustParseRule("cookie=0xef02000000000000, table=40, idle_timeout=60, send_flow_rem priority=100,tcp,nw_src=10.0.0.9,tp_src=40000 actions=output:2")
		h.onPacketIn = func(sw *controller.Switch, in *openflow.PacketIn) {
			sw.Add(&rule)
			sw.PacketOut(in.InPort, []flows.Action{flows.Output{Port: 2}}, in.Data)
			sw.DeleteStrict(&rule)
			if string(in.Data) == "last" {
				sw.Add(&rule)
			}
		}
		fake.PacketIn(1, 0, []byte("first"))
		fake.PacketIn(1, 0, []byte("last"))
		h.await(fake, "answers", func() bool { return fake.Count(openflow.TypeFlowMod) == 5 })
		add := "ADD " + rule.String()
		del := "DEL_STRICT cookie=0xef02000000000000, table=40, priority=100,tcp,nw_src=10.0.0.9,tp_src=40000 actions=drop"
		want := []string{
			add, "packet-out in_port=1 actions=output:2 6669727374", del,
			add, "packet-out in_port=1 actions=output:2 6c617374", del, add,
		}
		var got []string
		for _, m := range fake.Received() {
			got = append(got, m.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(rule.String()+"\n", fake.Dump()); diff != "" {
			t.Error(diff)
		}
		if c := h.session().Counters(); c.FlowMods != 5 || c.PacketOuts != 2 || c.Modifications != 0 {
			t.Errorf("%+v", c)
		}
		h.session().DeleteWhere(openflow.FlowFilter{Table: 0xff, Cookie: rule.Cookie, CookieMask: 0xff << 48})
		h.untilNth(t, "removed cookie=0xef02000000000000, table=40, idle_timeout=60, priority=100,tcp,nw_src=10.0.0.9,tp_src=40000", 3)
		if fake.Dump() != "" {
			t.Error(fake.Dump())
		}
	})
}

// The reply to an echo request has its xid and payload, and comes though the handler has not returned from an earlier message
// of the switch's own making only because nothing but the reader answers it.
func TestEchoRequest(t *testing.T) {
	eachVersion(t, controller.Config{}, func(t *testing.T, h *harness, fake *controllertest.Switch) {
		v := h.session().Info().Version
		for _, payload := range []string{"", "ping", strings.Repeat("x", 60000)} {
			fake.Forget()
			fake.Write(openflow.AppendEchoRequest(nil, v, 77, []byte(payload)))
			h.await(fake, "echo reply", func() bool { return fake.Count(openflow.TypeEchoReply) == 1 })
			reply := fake.Received(openflow.TypeEchoReply)[0]
			if reply.XID != 77 || string(reply.Raw[8:]) != payload {
				t.Errorf("xid %d, %d bytes", reply.XID, len(reply.Raw)-8)
			}
		}
	})
}

func TestDeadPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, controller.Config{EchoInterval: 5 * time.Second, EchoTimeout: 10 * time.Second})
		fake := controllertest.NewSwitch(1)
		end := h.connect(fake)
		time.Sleep(time.Hour)
		select {
		case err := <-end:
			t.Fatalf("ended with a living switch: %v", err)
		default:
		}
		if n := fake.Count(openflow.TypeEchoRequest); n < 600 {
			t.Errorf("%d echo requests in an hour", n)
		}
		fake.Mute(true)
		begin := time.Now()
		// A peer that sends but does not answer is as dead.
		go func() {
			for range 100 {
				time.Sleep(time.Second)
				fake.PacketIn(1, 0, []byte("still here"))
			}
		}()
		mustBe(t, <-end, controller.ErrSilent)
		if d := time.Since(begin); d > 15*time.Second {
			t.Errorf("noticed after %v", d)
		}
		h.until(t, "disconnected: the switch does not answer echo requests")
		time.Sleep(2 * time.Minute) // the injecting goroutine
	})
}

// A peer that does not read loses its session before memory runs out, whoever sends.
func TestPeerDoesNotRead(t *testing.T) {
	h := start(t, controller.Config{WriteMax: 1 << 20})
	fake := controllertest.NewSwitch(1)
	end := h.connect(fake)
	fake.Freeze()
	defer fake.Thaw()
	frame := make([]byte, 1400)
	for range 2000 {
		h.session().PacketOut(flows.PortController, []flows.Action{flows.Output{Port: 1}}, frame)
	}
	mustBe(t, <-end, controller.ErrStalled)
	h.until(t, "disconnected: the switch does not read")
	h.session().PacketOut(flows.PortController, nil, frame) // goes nowhere
}

func TestGarbageEndsSession(t *testing.T) {
	for _, c := range []struct{ name, bytes, want string }{
		{"length 0", "\x06\x00\x00\x00\x00\x00\x00\x00", "not OpenFlow"},
		{"length 6, many times", strings.Repeat("\x06\x0a\x00\x06\x00\x00", 60), "not OpenFlow"},
		{"another version", "\x04\x02\x00\x08\x00\x00\x00\x00", "message of version 4 in a session of version 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, controller.Config{})
			fake := controllertest.NewSwitch(1)
			end := h.connect(fake)
			fake.Write([]byte(c.bytes))
			err := <-end
			mustBe(t, err, controller.ErrProtocol)
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			h.until(t, "disconnected: not OpenFlow")
			if !strings.Contains(h.logs.String(), c.want) {
				t.Errorf("not logged: %s", h.logs)
			}
		})
	}
}

// What cannot be read but has a length, and what is not known, is counted and ignored.
func TestOddMessagesIgnored(t *testing.T) {
	eachVersion(t, controller.Config{}, func(t *testing.T, h *harness, fake *controllertest.Switch) {
		v := byte(h.session().Info().Version)
		odd := [][]byte{
			{v, 10, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0},            // packet-in of 12 bytes
			{v, 11, 0, 8, 0, 0, 0, 0},                         // empty flow-removed
			{v, 12, 0, 8, 0, 0, 0, 0},                         // empty port-status
			{v, 1, 0, 8, 0, 0, 0, 0},                          // empty error
			{v, 99, 0, 8, 0, 0, 0, 0},                         // no such type
			{v, 30, 0, 8, 0, 0, 0, 0},                         // role-status
			{v, 14, 0, 8, 0, 0, 0, 0},                         // a flow-mod, from a switch
			{v, 21, 0, 8, 0, 1, 2, 3},                         // barrier reply that nobody waits for
			{v, 19, 0, 8, 0, 1, 2, 3},                         // multipart reply that nobody waits for
			{v, 0, 0, 8, 0, 0, 0, 0},                          // a second hello
			{v, 4, 0, 16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2}, // experimenter
		}
		fake.Write(bytes.Join(odd, nil))
		fake.PacketIn(1, 0, []byte("after"))
		h.until(t, "packet-in 1 after")
		h.stop()
		if c := h.session().Counters(); c.Malformed != 4 || c.Unknown != 6 {
			t.Errorf("%+v", c)
		}
	})
}

func TestPortStatus(t *testing.T) {
	eachVersion(t, controller.Config{}, func(t *testing.T, h *harness, fake *controllertest.Switch) {
		down := controllertest.Port(2)
		down.State = openflow.LinkDown
		fake.SetPort(down)
		fake.SetPort(controllertest.Port(3))
		fake.DeletePort(1)
		h.until(t, "port 1 delete")
		if diff := cmp.Diff([]string{"connected []", "port 2 modify up=false", "port 3 add up=true", "port 1 delete up=true"}, h.log()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]openflow.Port{down, controllertest.Port(3)}, h.session().Info().Ports); diff != "" {
			t.Error(diff)
		}
		stats, err := h.session().PortStats(t.Context())
		if err != nil || len(stats) != 2 || stats[0].No != 2 || stats[1].No != 3 {
			t.Errorf("%v, %v", stats, err)
		}
	})
}

// Of two connections with one datapath id the older stays if it lives.
func TestDuplicateRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // however busy the machine is, the older answers in time
		h := start(t, controller.Config{})
		older, newer := controllertest.NewSwitch(1), controllertest.NewSwitch(1)
		end := h.connect(older)
		mustBe(t, <-h.serve(newer.Connect()), controller.ErrDuplicate)
		older.PacketIn(1, 0, []byte("alive"))
		h.until(t, "packet-in 1 alive")
		if len(h.log()) != 2 {
			t.Error(h.log())
		}
		older.Disconnect()
		mustBe(t, <-end, controller.ErrClosed)
		h.connect(newer)
		h.stop()
	})
}

func TestTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, controller.Config{})
		older, newer := controllertest.NewSwitch(1), controllertest.NewSwitch(1)
		end := h.connect(older)
		older.Mute(true)
		begin := time.Now()
		h.connect(newer)
		mustBe(t, <-end, controller.ErrTakenOver)
		if d := time.Since(begin); d > 3*time.Second {
			t.Errorf("took %v", d)
		}
		want := []string{"connected []", "disconnected: another connection has taken over: by pipe", "connected []"}
		if diff := cmp.Diff(want, h.log()); diff != "" {
			t.Error(diff)
		}
		if sw, ok := h.ctl.Switch(1); !ok || sw != h.session() {
			t.Error("the newer session is not the switch's")
		}
		h.stop()
	})
}

// Errors outside of transactions name the message.
func TestErrorsMatchedToMessages(t *testing.T) {
	eachVersion(t, controller.Config{}, func(t *testing.T, h *harness, fake *controllertest.Switch) {
		bad := &openflow.Error{Type: openflow.ErrFlowModFailed, Code: 1}
		fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
			s := m.String()
			if strings.Contains(s, "10.0.0.66") || m.Type == openflow.TypePacketOut {
				v.Refuse = bad
			}
			return v
		})
		sw := h.session()
		rule := flows.MustParseRule("cookie=0xef02000000000000, table=40, priority=5,ip,nw_src=10.0.0.1 actions=output:1")
		bad66 := flows.MustParseRule("cookie=0xef02000000000000, table=40, priority=5,ip,nw_src=10.0.0.66,nw_dst=10.0.0.1 actions=output:1,output:2,output:3,output:4")
		sw.Add(&rule)
		sw.Add(&bad66)
		sw.DeleteStrict(&bad66)
		sw.Add(&rule)
		sw.PacketOut(1, []flows.Action{flows.Output{Port: 2}}, []byte("x"))
		h.untilNth(t, "error", 3)
		want := []string{
			"connected []",
			"error to " + bad66.String() + ": OFPFMFC_TABLE_FULL (5/1)",
			"rule refused " + bad66.String(),
			"error to DEL_STRICT cookie=0xef02000000000000, table=40, priority=5,ip,nw_src=10.0.0.66,nw_dst=10.0.0.1 actions=drop: OFPFMFC_TABLE_FULL (5/1)",
			"error to packet-out actions=output:2: OFPFMFC_TABLE_FULL (5/1)",
		}
		if diff := cmp.Diff(want, h.log()); diff != "" {
			t.Error(diff)
		}
		// An error to a message that nobody remembers.
		fake.Write(openflow.AppendError(nil, sw.Info().Version, &openflow.Error{XID: 0xdead0000, Type: openflow.ErrBadRequest, Code: 8}))
		h.until(t, "error to message 0xdead0000: OFPBRC_BUFFER_UNKNOWN (1/8)")
	})
}

// A rule that the version cannot express is refused without the switch.
func TestAddNotExpressible(t *testing.T) {
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1)
	h.connect(fake)
	fake.Forget()
	rule := flows.MustParseRule("priority=5,ip actions=output:1")
	rule.Match = flows.Match{{Field: flows.FieldNone}}
	h.session().Add(&rule)
	h.until(t, "error to priority=5,")
	if n := fake.Count(openflow.TypeFlowMod); n != 0 {
		t.Errorf("%d sent", n)
	}
}

// No session leaves a goroutine behind, whichever way it ends: the bubble would not end.
func TestNothingLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, controller.Config{AuditInterval: time.Second})
		fake := controllertest.NewSwitch(1)
		for i := range 50 {
			end := h.connect(fake)
			h.ctl.Replace(1, []controller.OwnerState{want(t, "a", uint64(i), "priority=5,ip actions=drop")})
			switch i % 3 {
			case 0:
				fake.Disconnect()
			case 1:
				fake.Write([]byte("\x06\x00\x00\x00\x00\x00\x00\x00"))
			case 2:
				fake.Mute(true)
			}
			if err := <-end; err == nil || errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			fake.Mute(false)
		}
		h.stop()
		synctest.Wait()
		if n := fake.Connected(); n != 0 {
			t.Errorf("%d connections left", n)
		}
	})
}
