package controller_test

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// sink is a connection whose written bytes go nowhere once it is open, so that the peer's work is not measured.
type sink struct {
	net.Conn
	open atomic.Bool
}

func (s *sink) Write(b []byte) (int, error) {
	if s.open.Load() {
		return len(b), nil
	}
	return s.Conn.Write(b)
}

// rounds returns a function that sends packet-ins to a session whose handler answers each by two rules and a packet-out, and
// waits until all have been answered.
func rounds(t testing.TB, h *harness, packets int) func() {
	served, more := 0, make(chan struct{}, 1)
	out := []flows.Action{flows.Output{Port: 2}}
	rule := flows.MustParseRule("cookie=0xef02000000000000, table=40, idle_timeout=60, send_flow_rem priority=100,tcp,nw_src=10.0.0.9," +
		"nw_dst=10.0.0.1,tp_src=4000,tp_dst=80 actions=set_field:10.0.0.2->ip_dst,output:2")
	h.onPacketIn = func(sw *controller.Switch, in *openflow.PacketIn) {
		sw.Add(&rule)
		sw.Add(&rule)
		sw.PacketOut(in.InPort, out, in.Data)
		if served++; served%packets == 0 {
			more <- struct{}{}
		}
	}
	fake := controllertest.NewSwitch(1)
	conn := &sink{Conn: fake.Connect()}
	h.serve(conn)
	h.until(t, "connected")
	conn.open.Store(true)
	var batch []byte
	for range packets {
		batch, _ = openflow.AppendPacketIn(batch, openflow.V15, 0, &openflow.PacketIn{InPort: 1, Data: make([]byte, 64)})
	}
	return func() {
		fake.Write(batch)
		select {
		case <-more:
		case <-time.After(time.Minute):
			t.Fatal("stuck")
		}
	}
}

// The way of a packet-in through the session, and of its answers to the write buffer, allocates nothing.
func TestPacketInAllocatesNothing(t *testing.T) {
	const packets = 1000
	round := rounds(t, start(t, controller.Config{}), packets)
	for range 30 {
		round() // buffers grow
	}
	// Those of the test itself are not per packet, nor are those of pools, which under the race detector lose a quarter of what they get.
	if n := testing.AllocsPerRun(50, round); n > packets/5 {
		t.Errorf("%v allocations for %d packet-ins", n, packets)
	}
}

// What the session layer costs for one packet-in that is answered by two rules and a packet-out.
func BenchmarkPacketIn(b *testing.B) {
	const packets = 1000
	round := rounds(b, start(b, controller.Config{EchoInterval: time.Hour}), packets)
	for b.Loop() {
		round()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/packets, "ns/packet-in")
}
