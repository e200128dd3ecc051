package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/deferred"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/store"
)

// hashing makes a switch in memory hand the samples of mode othello back, each with the hash that it has by change.
func hashing(fake *controllertest.Switch, change func(i int, hash uint32) uint32) {
	fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
		p, err := openflow.ParsePacketOut(m.Raw)
		if m.Type != openflow.TypePacketOut || err != nil {
			return v
		}
		v.Send = hashed(p.Data, change)
		return v
	})
}

// hashed is the packet-in of a sample, nil if the frame is none.
func hashed(frame []byte, change func(i int, hash uint32) uint32) []byte {
	i, ok := othello.SampleOf(frame)
	if !ok {
		return nil
	}
	_, f := apps.HashSample(i)
	t := othello.Tuple(apps.TupleOf(&f))
	b, _ := openflow.AppendPacketIn(nil, openflow.V15, 0, &openflow.PacketIn{BufferID: openflow.NoBufferID, InPort: flows.PortController,
		Cookie: ^uint64(0), Data: frame}, flows.Match{}.Num(apps.RegHash, uint64(change(i, t.CodeHash())))...)
	return b
}

// A switch that hashes otherwise than foretold, be it one packet of sixteen, is refused for mode othello, and the VIP says so.
func TestWhoHashesOtherwiseIsRefused(t *testing.T) {
	for want, change := range map[string]func(i int, hash uint32) uint32{
		"foretold": func(_ int, hash uint32) uint32 { return hash },
		"other": func(i int, hash uint32) uint32 {
			if i == 11 {
				hash ^= 1 << 31
			}
			return hash
		},
	} {
		t.Run(want, func(t *testing.T) {
			fake := controllertest.NewSwitch(1, controllertest.Ports(1))
			hashing(fake, change)
			e, ctx := withSwitch(t, store.Memory(), fake)
			s := awaitSwitch(t, ctx, e, func(s apps.SwitchStatus) bool { return s.Codes != "" })
			warned := slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.Contains(w, "cannot have mode othello") })
			if s.Codes != want || warned != (want == "other") {
				t.Fatalf("%s, %q", s.Codes, s.Warnings)
			}
			x := spec("web", "10.0.0.100")
			x.Mode = vip.ModeOthello
			r, err := e.CreateVIP(ctx, x, apps.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = e.WaitVIP(ctx, "web", r.Version); err != nil {
				t.Fatal(err)
			}
			v := e.view.Load()
			degraded, reason := deferred.New(deferred.Config{}).Limits(v, v.VIPs[0])
			if refused := strings.Contains(reason, "mode deferred could be, on switch 0000000000000001: it hashes "); refused != (want == "other") || degraded != refused {
				t.Errorf("%s: %q", want, reason)
			}
			if n := len(othello.New().Desired(v, vipOwner(v.VIPs[0].VIP))); n > 0 && want == "other" {
				t.Errorf("it is wanted on %d switches", n)
			}
		})
	}
}
