package nat

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// discard is a Reply that keeps nothing.
type discard struct{}

func (discard) Add(*flows.Rule)                          {}
func (discard) Delete(*flows.Rule)                       {}
func (discard) PacketOut(uint32, []flows.Action, []byte) {}
func (discard) AskRule(*flows.Rule)                      {}
func (discard) Sighted(topo.Sighting) bool               { return true }

// bench calls f with the packet-in of the n-th client.
func bench(b *testing.B, x *apps.VIP, now func() time.Time, f func(app *App, v *apps.View, in *apps.Punted)) {
	v := view(x)
	in := syn(client).punted(v.VIPs)
	frame, data := *in.Frame, append([]byte(nil), in.Frame.Data...)
	var app *App
	const clients = 1 << 17
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		if n%clients == 0 {
			b.StopTimer()
			app = New(Config{Now: now})
			app.Sync(v)
			b.StartTimer()
		}
		binary.BigEndian.PutUint16(data[28:], uint16(n>>12))
		binary.BigEndian.PutUint16(data[34:], uint16(n&0xfff))
		if err := apps.ParseFrame(data, &frame); err != nil {
			b.Fatal(err)
		}
		in.Frame = &frame
		f(app, v, in)
		n++
	}
}

// BenchmarkSYN is a new connection, the parsing of its frame included.
func BenchmarkSYN(b *testing.B) {
	for _, scheduler := range vip.Schedulers() {
		b.Run(scheduler, func(b *testing.B) {
			x := newVIP(8, func(x *apps.VIP) { x.Spec.Scheduler = scheduler })
			bench(b, x, nil, func(app *App, v *apps.View, in *apps.Punted) { app.PacketIn(v, in, discard{}) })
		})
	}
}

// BenchmarkCrowd is a million new connections, so many that tables are far larger than caches, in bursts of packet-ins whose lines are
// fetched first or, alone, are not.
func BenchmarkCrowd(b *testing.B) {
	const crowd, burst = 1 << 20, 32
	v := view(newVIP(10))
	var frames [burst]apps.Frame
	var ins [burst]apps.Punted
	data := make([][]byte, burst)
	for i := range ins {
		ins[i] = *syn(client).punted(v.VIPs)
		data[i], ins[i].Frame = slices.Clone(ins[i].Frame.Data), &frames[i]
	}
	for name, first := range map[string]func(*App, *apps.Punted){
		"alone": func(*App, *apps.Punted) {},
		"burst": func(app *App, in *apps.Punted) { app.Prefetch(v, in) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				app := New(Config{})
				app.Sync(v)
				for n := 0; n < crowd; n += burst {
					for i := range ins {
						binary.BigEndian.PutUint32(data[i][26:], 0x0a100000+uint32(n+i)>>10)
						binary.BigEndian.PutUint16(data[i][34:], uint16(n+i)&1023)
						if err := apps.ParseFrame(data[i], &frames[i]); err != nil {
							b.Fatal(err)
						}
						first(app, &ins[i])
					}
					for i := range ins {
						app.PacketIn(v, &ins[i], discard{})
					}
				}
				if n := app.Counters().Connections; n != crowd {
					b.Fatal(n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/crowd, "ns/syn")
		})
	}
}

// BenchmarkLife is a whole connection: its SYN, and both its rules gone idle.
func BenchmarkLife(b *testing.B) {
	var x scratch
	var clock int64
	now := func() time.Time { // each look at it is an idle timeout later
		clock += 3600
		return time.Unix(clock, 0)
	}
	bench(b, newVIP(1), now, func(app *App, v *apps.View, in *apps.Punted) {
		app.PacketIn(v, in, discard{})
		s := (*app.services.Load())[7]
		p := s.plan.Load()
		k := key{in.Frame.Src.As16(), in.Frame.SrcPort, 80}
		app.FlowRemoved(v, edge, x.half(p, &p.targets[0], k, forward), apps.RemovedIdle, flows.Stats{}, discard{})
		app.FlowRemoved(v, edge, x.half(p, &p.targets[0], k, reverse), apps.RemovedIdle, flows.Stats{}, discard{})
	})
}

// BenchmarkRefused is a packet of an unknown connection.
func BenchmarkRefused(b *testing.B) {
	bench(b, newVIP(1), nil, func(app *App, v *apps.View, in *apps.Punted) {
		in.Frame.TCPFlags = apps.ACK
		app.PacketIn(v, in, discard{})
	})
}
