package controller_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// A reply without end is cut off at its bound, however small its pieces are: in the handshake that is the session's end.
func TestEndlessReply(t *testing.T) {
	for _, body := range []int{0, 1000, 60000} {
		t.Run(fmt.Sprint(body), func(t *testing.T) {
			const limit = 1 << 20
			h := start(t, controller.Config{ReadMax: limit})
			fake := controllertest.NewSwitch(1)
			fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
				p, err := openflow.ParseMultipartRequest(m.Raw)
				if err != nil || p.Kind != openflow.MultipartMeterConfig {
					return v
				}
				piece, err := openflow.AppendMultipartReply(nil, openflow.V15, m.XID, p.Kind, true, make([]byte, body))
				if err != nil {
					t.Error(err)
				}
				return controllertest.Verdict{Ignore: true, Send: []byte(strings.Repeat(string(piece), limit/(body+80)+2))}
			})
			mustBe(t, <-h.serve(fake.Connect()), controller.ErrExcess)
			if n := h.ctl.Endings()["sends too much"]; n != 1 || !strings.Contains(h.logs.String(), "reply to meter configuration") {
				t.Errorf("%d counted, logged %s", n, h.logs)
			}
		})
	}
}

// News that never ends during the handshake is cut off, too.
func TestEndlessNewsInHandshake(t *testing.T) {
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1)
	news := openflow.AppendPortStatus(nil, openflow.V15, 0, openflow.PortModified, controllertest.Port(1))
	fake.Intercept(func(m controllertest.Message) controllertest.Verdict {
		if m.Type == openflow.TypeBarrierRequest {
			return controllertest.Verdict{Ignore: true, Send: []byte(strings.Repeat(string(news), 16<<20/(len(news)+64)+1))}
		}
		return controllertest.Verdict{}
	})
	mustBe(t, <-h.serve(fake.Connect()), controller.ErrExcess)
}

// A flood of errors is counted, and told of a hundred times a second.
func TestErrorFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, controller.Config{})
		fake := controllertest.NewSwitch(1)
		h.connect(fake)
		for range 3 {
			var all []byte
			for i := range uint32(5000) {
				all = openflow.AppendError(all, openflow.V15, &openflow.Error{XID: 1e6 + i, Type: openflow.ErrBadRequest, Code: 8})
			}
			fake.Write(all)
			synctest.Wait()
			time.Sleep(2 * time.Second)
		}
		fake.PacketIn(1, 0, []byte("after"))
		h.until(t, "packet-in 1 after")
		told := 0
		for _, e := range h.log() {
			if strings.HasPrefix(e, "error to message") {
				told++
			}
		}
		h.stop()
		if c := h.session().Counters(); told != 300 || c.Errors != 15000 || c.Unmatched != 14700 {
			t.Errorf("told of %d, %+v", told, c)
		}
	})
}

// Many ports, and many changes of them, are kept in step.
func TestPortFlood(t *testing.T) {
	const n = 10000
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1)
	h.connect(fake)
	var all []byte
	for round := range 4 {
		for i := uint32(n); i > 0; i-- {
			p := controllertest.Port(i)
			if round%2 == 1 {
				p.State = openflow.LinkDown
			}
			all = openflow.AppendPortStatus(all, openflow.V15, 0, openflow.PortModified, p)
		}
	}
	fake.Write(all)
	fake.PacketIn(1, 0, []byte("after"))
	h.until(t, "packet-in 1 after")
	ports := h.session().Info().Ports
	if len(ports) != n || ports[0].No != 1 || ports[n-1].No != n || ports[7].Up() {
		t.Errorf("%d ports", len(ports))
	}
}

// A switch that refuses all changes keeps its session, and is not asked the same again and again. One that refuses to say
// what it holds loses it.
func TestEverythingRefused(t *testing.T) {
	const text = "meter=101 pktps bands=type=drop rate=1\ngroup_id=101,type=indirect,bucket=bucket_id:0,actions=output:1\n" +
		cD + "priority=5,ip actions=meter:101,group:101"
	refuse := func(all bool) func(m controllertest.Message) (v controllertest.Verdict) {
		return func(m controllertest.Message) (v controllertest.Verdict) {
			switch m.Type {
			case openflow.TypeFlowMod, openflow.TypeGroupMod, openflow.TypeMeterMod, openflow.TypeBundleControl:
				v.Refuse = &openflow.Error{Type: openflow.ErrBadRequest, Code: openflow.CodeBadType}
			case openflow.TypeBarrierRequest, openflow.TypeMultipartRequest:
				if all {
					v.Refuse = &openflow.Error{Type: openflow.ErrBadRequest, Code: openflow.CodeBadType}
				}
			}
			return v
		}
	}
	eachVersion(t, controller.Config{}, func(t *testing.T, h *harness, fake *controllertest.Switch) {
		fake.Intercept(refuse(false))
		h.ctl.Replace(1, []controller.OwnerState{want(t, "a", 1, text), want(t, "b", 1, cD+"priority=6,ip actions=drop")})
		h.until(t, "refused a 1")
		h.until(t, "refused b 1")
		if fake.Dump() != "" || len(h.ctl.Switches()) != 1 {
			t.Errorf("%d switches, %s", len(h.ctl.Switches()), fake.Dump())
		}
		if n := fake.Count(); n > 60 {
			t.Errorf("asked %d times:\n%s", n, messages(fake))
		}
		fake.Intercept(nil)
		h.ctl.Update(1, []controller.OwnerState{want(t, "a", 2, text)})
		h.until(t, "applied a 2")

		fake.Intercept(refuse(true))
		h.ctl.Update(1, []controller.OwnerState{want(t, "a", 3, text+"\nmeter=102 pktps bands=type=drop rate=1")})
		h.until(t, "disconnected: what the switch holds cannot be found out: ")
	})
}

// A switch that refuses all of the handshake is refused in its turn.
func TestHandshakeRefused(t *testing.T) {
	for _, from := range []openflow.Type{openflow.TypeFeaturesRequest, openflow.TypeMultipartRequest, openflow.TypeBarrierRequest} {
		h := start(t, controller.Config{})
		fake := controllertest.NewSwitch(1)
		fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
			if m.Type == from {
				v.Refuse = &openflow.Error{Type: openflow.ErrBadRequest, Code: openflow.CodeBadType}
			}
			return v
		})
		if err := <-h.serve(fake.Connect()); err == nil || !strings.Contains(err.Error(), "BAD_TYPE") {
			t.Errorf("%s refused: %v", from, err)
		}
		if len(h.log()) != 0 {
			t.Errorf("told %v", h.log())
		}
	}
}

// Those who flood, stall, or talk nonsense at one controller take nothing from another switch: all its packets are answered,
// in order, and it is served no matter what becomes of them.
func TestOthersAreServed(t *testing.T) {
	r := run(t, controller.Config{Listen: []string{"127.0.0.1:0"}, WriteMax: 1 << 20})
	r.onPacketIn = func(sw *controller.Switch, in *openflow.PacketIn) {
		sw.PacketOut(in.InPort, []flows.Action{flows.Output{Port: 2}}, in.Data)
	}
	address := r.ctl.Addrs()[0].String()
	dialTo := func(dpid flows.DPID) *controllertest.Switch {
		t.Helper()
		s := controllertest.NewSwitch(dpid)
		if err := s.Dial(t.Context(), "tcp", address); err != nil {
			t.Fatal(err)
		}
		if err := s.Await(t.Context(), func() bool { _, ok := r.ctl.Switch(dpid); return ok }); err != nil {
			t.Fatal(err)
		}
		return s
	}
	honest, stalled := dialTo(1), dialTo(2)
	stalled.Freeze()
	t.Cleanup(stalled.Thaw)
	stop, stopped := make(chan struct{}), make(chan struct{}, 20)
	flood := func(address string) {
		defer func() { stopped <- struct{}{} }()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		go io.Copy(io.Discard, conn)
		b := openflow.AppendHello(nil, 1, openflow.V15)
		for range 200 {
			b, _ = openflow.AppendPacketIn(b, openflow.V15, 0, &openflow.PacketIn{Data: make([]byte, 100)})
			b = openflow.AppendEchoRequest(b, openflow.V15, 9, []byte("x"))
		}
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := conn.Write(b); err != nil { // hung up on: again
				_ = conn.Close()
				if conn, err = net.Dial("tcp", address); err != nil {
					return
				}
				go io.Copy(io.Discard, conn)
			}
		}
	}
	for range 2 {
		go flood(address)
	}
	frame := make([]byte, 1400)
	var noise []byte
	for range 100 {
		noise, _ = openflow.AppendPacketIn(noise, openflow.V15, 0, &openflow.PacketIn{Data: frame})
	}
	go func() { // answers to it pile up, until it is given up
		defer func() { stopped <- struct{}{} }()
		for stalled.Connected() > 0 {
			stalled.Write(noise)
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	const n = 3000
	for i := range uint32(n) {
		honest.PacketIn(1, 0, binary.BigEndian.AppendUint32(nil, i))
	}
	if err := honest.Await(t.Context(), func() bool { return honest.Count(openflow.TypePacketOut) == n }); err != nil {
		t.Fatal(err)
	}
	close(stop)
	for range 3 {
		<-stopped
	}
	for i, m := range honest.Received(openflow.TypePacketOut) {
		if p, err := openflow.ParsePacketOut(m.Raw); err != nil || binary.BigEndian.Uint32(p.Data) != uint32(i) {
			t.Fatalf("answer %d: %x, %v", i, p.Data, err)
		}
	}
}

// Beside a switch that sends packet-ins as fast as it can another's are answered at a rate of the same order as alone. Alone
// and beside it are measured in one run, and the bound is far from what is usual, a third to a half.
func TestRateBesideFlood(t *testing.T) {
	r := run(t, controller.Config{Listen: []string{"127.0.0.1:0"}})
	r.onPacketIn = func(sw *controller.Switch, in *openflow.PacketIn) {
		sw.PacketOut(in.InPort, []flows.Action{flows.Output{Port: 2}}, in.Data)
	}
	honest, flooder := controllertest.NewSwitch(1), controllertest.NewSwitch(2)
	for _, s := range []*controllertest.Switch{honest, flooder} {
		if err := s.Dial(t.Context(), "tcp", r.ctl.Addrs()[0].String()); err != nil {
			t.Fatal(err)
		}
	}
	r.untilNth(t, "connected", 2)
	const n = 1000
	took := func() time.Duration { // n packets, one after the other
		honest.Forget()
		begin := time.Now()
		for i := range n {
			honest.PacketIn(1, 0, []byte("x"))
			if err := honest.Await(t.Context(), func() bool { return honest.Count(openflow.TypePacketOut) > i }); err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(begin)
	}
	alone := took()
	var noise []byte
	for range 500 {
		noise, _ = openflow.AppendPacketIn(noise, openflow.V15, 0, &openflow.PacketIn{Data: make([]byte, 100)})
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			flooder.Write(noise)
			flooder.Forget()
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	beside := took()
	close(stop)
	<-stopped
	t.Logf("%d packets: alone %v, beside a flood %v", n, alone, beside)
	if beside > 50*alone {
		t.Errorf("%d packets took %v beside a flood, and %v alone", n, beside, alone)
	}
}
