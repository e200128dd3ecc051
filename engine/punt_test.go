package engine

import (
	"slices"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/group"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

// Every rule that sends packets to the controller does so behind a meter that the switch has.
func TestEveryPuntIsMetered(t *testing.T) {
	for name, opts := range map[string][]controllertest.Option{
		"OpenFlow 1.5": nil,
		"OpenFlow 1.3": {controllertest.Versions(openflow.V13)},
		"plain":        {controllertest.Versions(openflow.V13), controllertest.Plain()},
	} {
		t.Run(name, func(t *testing.T) {
			fake := controllertest.NewSwitch(1, append(opts, controllertest.Ports(1, 2))...)
			e, ctx := withSwitch(t, store.Memory(), fake, func(cfg *Config) {
				cfg.Apps = append(cfg.Apps, Mount{apps.ClassGroup, group.New(group.Config{})})
				cfg.Topo.Ports = map[topo.PortID]topo.Fixed{{DPID: 1, No: 1}: {Kind: topo.Edge}}
			})
			for i, s := range []vip.Spec{spec("a", "10.0.0.100", "b1=10.0.0.1"), spec("b", "10.0.0.101"), spec("c", "fd00::100", "b1=fd00::1"), spec("d", "10.0.0.102")} {
				if i%2 == 1 {
					s.Mode = vip.ModeGroup
				}
				r, err := e.CreateVIP(ctx, s, apps.WriteOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := e.WaitVIP(ctx, s.Name, r.Version); err != nil {
					t.Fatal(err)
				}
			}
			meters := map[uint32]bool{}
			for _, m := range fake.State().Meters {
				meters[m.ID] = true
			}
			punts := 0
			for _, r := range fake.State().Rules {
				i := slices.IndexFunc(r.Actions, func(a flows.Action) bool {
					if _, is := a.(flows.ToController); is {
						return true
					}
					o, is := a.(flows.Output)
					return is && o.Port == flows.PortController
				})
				if i < 0 {
					continue
				}
				punts++
				j := slices.IndexFunc(r.Actions, func(a flows.Action) bool { m, is := a.(flows.ToMeter); return is && meters[m.ID] })
				if j < 0 || j > i {
					t.Errorf("not metered: %s", r)
				}
			}
			if punts < 10 {
				t.Errorf("only %d rules send to the controller", punts)
			}
		})
	}
}
