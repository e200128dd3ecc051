package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/group"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
)

// Whatever a switch refuses of a VIP, by whichever way it was sent, stands in the VIP's status and names the thing; another VIP
// is up, and what was refused is tried again with the next write.
func TestRefusalsReachStatus(t *testing.T) {
	old := controllertest.Versions(openflow.V13)
	for name, c := range map[string]struct {
		mode  vip.Mode
		opts  []controllertest.Option
		stage controllertest.Stage
		kind  openflow.Type
		part  string // of the message refused
		err   *openflow.Error
		want  string // in the status
	}{
		"a rule, added to a bundle": {vip.ModeNAT, nil, controllertest.Adding, openflow.TypeFlowMod, "nw_dst=10.0.0.100",
			&openflow.Error{Type: openflow.ErrFlowModFailed, Code: 1}, "nw_dst=10.0.0.100"},
		"a rule, when a bundle is committed": {vip.ModeNAT, nil, controllertest.Committed, openflow.TypeFlowMod, "nw_dst=10.0.0.100",
			&openflow.Error{Type: openflow.ErrFlowModFailed, Code: 1}, "nw_dst=10.0.0.100"},
		"a bundle, without a word on which": {vip.ModeNAT, []controllertest.Option{controllertest.VagueCommits()}, controllertest.Committed,
			openflow.TypeFlowMod, "nw_dst=10.0.0.100", &openflow.Error{Type: openflow.ErrFlowModFailed, Code: 1}, "OFPBFC_MSG_FAILED"},
		"a rule, in 1.3": {vip.ModeNAT, []controllertest.Option{old}, controllertest.Plainly, openflow.TypeFlowMod, "nw_dst=10.0.0.100",
			&openflow.Error{Type: openflow.ErrFlowModFailed, Code: 1}, "nw_dst=10.0.0.100"},
		"a meter": {vip.ModeNAT, nil, controllertest.Plainly, openflow.TypeMeterMod, "meter=1001",
			&openflow.Error{Type: openflow.ErrMeterModFailed, Code: 10}, "meter=1001 pktps"},
		"a meter, in 1.3": {vip.ModeNAT, []controllertest.Option{old}, controllertest.Plainly, openflow.TypeMeterMod, "meter=1001",
			&openflow.Error{Type: openflow.ErrMeterModFailed, Code: 10}, "OFPMMFC_OUT_OF_METERS"},
		"a group": {vip.ModeGroup, nil, controllertest.Adding, openflow.TypeGroupMod, "group_id=16777217",
			&openflow.Error{Type: openflow.ErrGroupModFailed, Code: 3}, "group_id=16777217"},
		"a group, when a bundle is committed": {vip.ModeGroup, nil, controllertest.Committed, openflow.TypeGroupMod, "group_id=16777217",
			&openflow.Error{Type: openflow.ErrGroupModFailed, Code: 3}, "OFPGMFC_OUT_OF_GROUPS"},
		"a group, in 1.3": {vip.ModeGroup, []controllertest.Option{old}, controllertest.Plainly, openflow.TypeGroupMod, "group_id=16777217",
			&openflow.Error{Type: openflow.ErrGroupModFailed, Code: 3}, "OFPGMFC_OUT_OF_GROUPS"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := controllertest.NewSwitch(1, append(c.opts, controllertest.Ports(1, 2))...)
			e, ctx := withSwitch(t, store.Memory(), fake, func(cfg *Config) {
				cfg.Apps = append(cfg.Apps, Mount{apps.ClassGroup, group.New(group.Config{})})
				cfg.Topo.Ports = map[topo.PortID]topo.Fixed{{DPID: 1, No: 1}: {Kind: topo.Edge}}
			})
			fake.PacketIn(1, apps.Cookie(apps.KindDesired, apps.ClassBase, 0), announcement(1))
			for changed := e.EventsChanged(); len(e.Hosts()) == 0; changed = e.EventsChanged() {
				select {
				case <-changed:
				case <-ctx.Done():
					t.Fatal("the backend is not heard")
				}
			}
			refused := 0
			fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
				if m.Type == c.kind && m.Stage == c.stage && strings.Contains(m.String(), c.part) {
					refused++
					v.Refuse = c.err
				}
				return v
			})
			web, other := spec("web", "10.0.0.100", "b1=10.0.0.1"), spec("other", "10.0.0.101", "b1=10.0.0.1")
			web.Mode = c.mode
			r, err := e.CreateVIP(ctx, web, apps.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r, err = e.WaitVIP(ctx, "web", r.Version)
			if !errors.Is(err, apps.ErrRefused) || !strings.Contains(r.Status.Applied[0].Error, c.want) || refused == 0 {
				t.Fatalf("refused %d times; %v, %+v", refused, err, r.Status)
			}
			o, err := e.CreateVIP(ctx, other, apps.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if o, err = e.WaitVIP(ctx, "other", o.Version); err != nil || o.Status.Applied[0].Error != "" {
				t.Errorf("the other VIP: %v, %+v", err, o.Status)
			}
			fake.Intercept(nil)
			r, err = e.UpdateVIP(ctx, "web", apps.WriteOptions{}, func(s *vip.Spec) error {
				s.Backends = append(s.Backends, vip.BackendSpec{Name: "b2", Address: "10.0.0.2", Port: 8080})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if r, err = e.WaitVIP(ctx, "web", r.Version); err != nil || r.Status.Applied[0].Error != "" {
				t.Errorf("after the refusals have ended: %v, %+v", err, r.Status)
			}
		})
	}
}

// announcement is ARP by which a host tells that it has 10.0.0.N.
func announcement(n byte) []byte {
	mac := []byte{2, 0, 0, 0, 0, n}
	b := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, mac...)
	b = append(b, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1)
	b = append(append(b, mac...), 10, 0, 0, n)
	return append(append(b, 0, 0, 0, 0, 0, 0), 10, 0, 0, n)
}
