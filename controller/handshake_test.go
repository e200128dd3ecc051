package controller_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/openflow"
	"github.com/google/go-cmp/cmp"
)

func TestHandshake(t *testing.T) {
	v13, v15 := openflow.V13, openflow.V15
	for _, c := range []struct {
		name         string
		ours         []openflow.Version
		opts         []controllertest.Option
		version      openflow.Version
		nicira       bool
		bundleProbes int
	}{
		{"both speak both", nil, nil, v15, true, 2},
		{"switch speaks 1.3", nil, []controllertest.Option{controllertest.Versions(v13)}, v13, true, 0},
		{"switch speaks 1.0, 1.3 and 1.4", nil, []controllertest.Option{controllertest.Versions(1, v13, 5)}, v13, true, 0},
		{"we offer 1.3 only", []openflow.Version{v13}, nil, v13, true, 0},
		{"plain 1.5", nil, []controllertest.Option{controllertest.Plain()}, v15, false, 2},
		{"plain 1.3", nil, []controllertest.Option{controllertest.Plain(), controllertest.Versions(v13)}, v13, false, 0},
		{"no bundles", nil, []controllertest.Option{controllertest.NoBundles()}, v15, true, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, controller.Config{Versions: c.ours})
			opts := append(c.opts, controllertest.Ports(1, 2), controllertest.Desc(openflow.Desc{Software: "7.1"}))
			fake := controllertest.NewSwitch(0xab, opts...)
			fake.Put(`cookie=0xef02000000000000, priority=7,ip actions=output:1
cookie=0xef01000000000000, priority=8,ip actions=output:1
priority=9,ip actions=output:1`)
			h.connect(fake)
			want := []string{"connected [cookie=0xef02000000000000, priority=7,ip actions=output:1]"}
			if diff := cmp.Diff(want, h.log()); diff != "" {
				t.Error(diff)
			}
			info := h.session().Info()
			if info.DPID != 0xab || info.Version != c.version || info.Nicira != c.nicira || info.Desc.Software != "7.1" {
				t.Errorf("%+v", info)
			}
			if diff := cmp.Diff([]openflow.Port{controllertest.Port(1), controllertest.Port(2)}, info.Ports); diff != "" {
				t.Error(diff)
			}
			if n := fake.Count(openflow.TypeBundleControl); n != c.bundleProbes {
				t.Errorf("%d bundle messages", n)
			}
			if mods := fake.Modifications(); mods != nil {
				t.Errorf("sent %v", mods)
			}
			config := fake.Received(openflow.TypeSetConfig)
			if len(config) != 1 || string(config[0].Raw[8:]) != "\x00\x00\xff\xff" {
				t.Errorf("set-config: %v", config)
			}
			sw, ok := h.ctl.Switch(0xab)
			if !ok || sw != h.session() || len(h.ctl.Switches()) != 1 {
				t.Error("the switch is not listed")
			}
			h.stop()
			if _, ok := h.ctl.Switch(0xab); ok || len(h.ctl.Switches()) != 0 {
				t.Error("the switch is listed after its end")
			}
			if got := h.until(t, "disconnected"); got != "disconnected: context canceled" {
				t.Error(got)
			}
		})
	}
}

// A switch that neither answers nor refuses an unknown experimenter has no extensions, and does not hold the session up.
func TestProbeIgnored(t *testing.T) {
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1)
	fake.Intercept(func(m controllertest.Message) controllertest.Verdict {
		return controllertest.Verdict{Ignore: m.Type == openflow.TypeExperimenter}
	})
	h.connect(fake)
	if h.session().Info().Nicira {
		t.Error("the extensions are believed in")
	}
}

func TestNoCommonVersion(t *testing.T) {
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1, controllertest.Versions(1, 5))
	refusal := make(chan controllertest.Message, 1)
	fake.Intercept(func(m controllertest.Message) controllertest.Verdict {
		if m.Type == openflow.TypeError {
			refusal <- m
		}
		return controllertest.Verdict{Ignore: true}
	})
	err := <-h.serve(fake.Connect())
	if err == nil || !strings.Contains(err.Error(), "no common version: ours [1.5 1.3], the peer's [1.0 1.4]") {
		t.Error(err)
	}
	e, err := openflow.ParseError((<-refusal).Raw)
	if err != nil || e.Type != openflow.ErrHelloFailed || e.Code != openflow.CodeIncompatible {
		t.Errorf("the switch was told %v, %v", e, err)
	}
	if len(h.log()) != 0 {
		t.Errorf("told %v", h.log())
	}
}

// What happens between reading the state and Connected is not lost, and packets are not handed to a handler that knows
// nothing of the switch yet.
func TestEventsDuringHandshake(t *testing.T) {
	for _, v := range []openflow.Version{openflow.V13, openflow.V15} {
		t.Run(v.String(), func(t *testing.T) {
			h := start(t, controller.Config{})
			fake := controllertest.NewSwitch(1, controllertest.Versions(v), controllertest.Ports(1))
			rule := state(t, "cookie=0xef02000000000000, send_flow_rem priority=7,ip actions=output:1").Rules[0]
			fake.Intercept(func(m controllertest.Message) (verdict controllertest.Verdict) {
				if m.Type != openflow.TypeBarrierRequest {
					return verdict
				}
				in := openflow.PacketIn{BufferID: openflow.NoBufferID, InPort: 1, Data: []byte("early")}
				b, _ := openflow.AppendPacketIn(nil, v, 0, &in)
				b, _ = openflow.AppendFlowRemoved(b, v, 0, &openflow.FlowRemoved{Rule: rule, Stats: flowsStats(3)})
				down := controllertest.Port(1)
				down.State = openflow.LinkDown
				verdict.Send = openflow.AppendPortStatus(b, v, 0, openflow.PortModified, down)
				return verdict
			})
			h.connect(fake)
			fake.PacketIn(1, 0, []byte("late"))
			h.until(t, "packet-in")
			want := []string{
				"connected []",
				"removed cookie=0xef02000000000000, priority=7,ip actions=drop reason=0 packets=3",
				"port 1 modify up=false",
				"packet-in 1 late",
			}
			if diff := cmp.Diff(want, h.log()); diff != "" {
				t.Error(diff)
			}
			if p := h.session().Info().Ports; len(p) != 1 || p[0].Up() {
				t.Errorf("ports %+v", p)
			}
			h.stop()
			if c := h.session().Counters(); c.DroppedIns != 1 || c.PacketIns != 1 {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestAuxiliaryRefused(t *testing.T) {
	h := start(t, controller.Config{})
	mustBe(t, <-h.serve(controllertest.NewSwitch(1, controllertest.Auxiliary(1)).Connect()), controller.ErrAuxiliary)
}

func TestSilenceInHandshake(t *testing.T) {
	for _, c := range []struct {
		name string
		deaf openflow.Type // from this message on
		want string
	}{
		{"no hello", openflow.TypeHello, "no answer to hello within 5s"},
		{"no features", openflow.TypeFeaturesRequest, "no answer to features request within 30s"},
		{"no state", openflow.TypeMultipartRequest, "no answer to description within 30s"},
		{"no barrier", openflow.TypeBarrierRequest, "no answer to barrier request within 30s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, controller.Config{})
				var conn net.Conn
				if c.deaf == openflow.TypeHello {
					ours, theirs := net.Pipe()
					go io.Copy(io.Discard, theirs)
					defer theirs.Close()
					conn = ours
				} else {
					fake := controllertest.NewSwitch(1)
					fake.Intercept(func(m controllertest.Message) controllertest.Verdict {
						return controllertest.Verdict{Ignore: m.Type == c.deaf}
					})
					conn = fake.Connect()
				}
				begin := time.Now()
				err := <-h.serve(conn)
				mustBe(t, err, controller.ErrNoAnswer)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v after %v, want %s", err, time.Since(begin), c.want)
				}
			})
		})
	}
}

// A long list that comes slowly, in pieces, is no silence: neither during the handshake nor later.
func TestSlowPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, controller.Config{RequestTimeout: 3 * time.Second})
		fake := controllertest.NewSwitch(1, controllertest.Ports(1))
		slow := openflow.MultipartPortDesc
		fake.Intercept(func(m controllertest.Message) controllertest.Verdict {
			p, err := openflow.ParseMultipartRequest(m.Raw)
			if err != nil || p.Kind != slow {
				return controllertest.Verdict{}
			}
			go func() {
				for i := range uint32(5) {
					time.Sleep(2 * time.Second)
					var body []byte
					if p.Kind == openflow.MultipartPortDesc {
						body = openflow.AppendPortDesc(nil, openflow.V15, controllertest.Port(i+1))
					}
					b, _ := openflow.AppendMultipartReply(nil, openflow.V15, m.XID, p.Kind, i < 4, body)
					fake.Write(b)
				}
			}()
			return controllertest.Verdict{Ignore: true}
		})
		h.connect(fake)
		if n := len(h.session().Info().Ports); n != 5 {
			t.Errorf("%d ports", n)
		}
		slow = openflow.MultipartGroupDesc
		if _, err := h.session().Groups(t.Context()); err != nil {
			t.Error(err)
		}
		h.stop()
	})
}

// Whatever a peer sends first, its session ends with a reason and nothing else happens.
func TestGarbageInsteadOfHello(t *testing.T) {
	for _, c := range []struct{ name, bytes, want string }{
		{"HTTP, which claims to be 21,536 bytes long", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "unexpected EOF"},
		{"length 0", "\x06\x00\x00\x00\x00\x00\x00\x00", "not OpenFlow"},
		{"length 3", "\x06\x00\x00\x03\x00\x00\x00\x00", "not OpenFlow"},
		{"length 4", "\x06\x00\x00\x04\x00\x00\x00\x00", "not OpenFlow"},
		{"a packet-in", "\x06\x0a\x00\x0c\x00\x00\x00\x00\x00\x00\x00\x00", "not OpenFlow"},
		{"hello element of length 0", "\x06\x00\x00\x10\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00", "not OpenFlow"},
		{"hello failed", "\x06\x01\x00\x0e\x00\x00\x00\x00\x00\x00\x00\x00no", `OFPHFC_INCOMPATIBLE (0/0): "no"`},
		{"half a hello", "\x06\x00\x00\x10\x00", "unexpected EOF"},
		{"nothing", "", "closed the connection"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, controller.Config{})
			ours, theirs := net.Pipe()
			end := h.serve(ours)
			go io.Copy(io.Discard, theirs)
			if _, err := io.WriteString(theirs, c.bytes); err != nil {
				t.Fatal(err)
			}
			if len(c.bytes)%8 != 0 || c.bytes == "" {
				theirs.Close()
			}
			err := <-end
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if len(h.log()) != 0 || !strings.Contains(h.logs.String(), "session ended") {
				t.Errorf("told %v, logged %s", h.log(), h.logs)
			}
		})
	}
}
