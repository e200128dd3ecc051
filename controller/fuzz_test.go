package controller_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// transcript is a connection that keeps what has been read from it.
type transcript struct {
	net.Conn
	mu   sync.Mutex
	read bytes.Buffer
}

func (c *transcript) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read.Write(b[:n])
	return n, err
}

// script is a connection from which some bytes can be read, and nothing after them.
type script struct {
	bytes.Reader
	net.Conn
}

func (c *script) Read(b []byte) (int, error)       { return c.Reader.Read(b) }
func (c *script) Write(b []byte) (int, error)      { return len(b), nil }
func (c *script) Close() error                     { return nil }
func (c *script) SetReadDeadline(time.Time) error  { return nil }
func (c *script) SetWriteDeadline(time.Time) error { return nil }
func (c *script) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (c *script) LocalAddr() net.Addr              { return &net.UnixAddr{} }

// asking is a handler that answers each packet-in and wants something of the switch.
type asking struct {
	recorder
	ctl *controller.Controller
	all []controller.OwnerState
}

func (a *asking) Connected(sw *controller.Switch, _ []flows.InstalledRule) {
	a.ctl.Replace(sw.Info().DPID, a.all)
}

func (a *asking) PacketIns(sw *controller.Switch, ins []openflow.PacketIn) {
	for i := range ins {
		sw.PacketOut(ins[i].InPort, nil, ins[i].Data)
		sw.AskRule(&a.all[0].State.Plain().Rules[0])
	}
}

// Whatever a switch sends, in the handshake or later: its session ends with an error, and no more. The seeds are whole sessions;
// the message ids in them are those that any session uses.
func FuzzSession(f *testing.F) {
	for _, v := range versions {
		h := start(f, controller.Config{})
		fake := controllertest.NewSwitch(1, controllertest.Versions(v), controllertest.Ports(1, 2))
		fake.Put("meter=101 pktps bands=type=drop rate=1\ngroup_id=101,type=indirect,bucket=bucket_id:0,actions=output:1\n" +
			cD + "send_flow_rem priority=5,ip actions=meter:101,group:101\n" + cC + "priority=6,ip actions=output:1")
		conn := &transcript{Conn: fake.Connect()}
		h.onPacketIn = func(sw *controller.Switch, _ *openflow.PacketIn) {
			sw.AskRule(&flows.Rule{Priority: 6, Match: flows.Match(nil).Num(flows.EthType, 0x800)})
		}
		h.serve(conn)
		h.until(f, "connected")
		fake.PacketIn(1, 7, []byte("frame"))
		h.until(f, "stats")
		h.ctl.Replace(1, []controller.OwnerState{want(f, "a", 1, cD+"priority=7,ip actions=output:1")})
		h.until(f, "applied")
		fake.SetPort(controllertest.Port(3))
		fake.Write(openflow.AppendError(nil, v, &openflow.Error{XID: 3, Type: openflow.ErrBadRequest, Data: []byte("xxxxxxxx")}))
		h.until(f, "error")
		h.stop()
		f.Add(conn.read.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a := &asking{recorder: recorder{changed: make(chan struct{}), errs: map[owner]error{}}}
		a.all = []controller.OwnerState{want(t, "a", 1, cD+"priority=7,ip actions=output:1")}
		a.ctl = controller.New(controller.Config{Kind: kind, RequestTimeout: time.Second}, a)
		conn := &script{}
		conn.Reset(data)
		if err := a.ctl.Serve(context.Background(), conn); err == nil {
			t.Error("no reason given")
		}
		if n := len(a.ctl.Switches()); n != 0 {
			t.Errorf("%d switches left", n)
		}
	})
}
