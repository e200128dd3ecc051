package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
	"github.com/evenflow/evenflow/openflow"
	"github.com/google/go-cmp/cmp"
)

// onOVS runs a test in both versions on a real switch that looks for its controller, which does not run yet.
func onOVS(t *testing.T, test func(t *testing.T, o *ovs)) {
	for _, v := range versions {
		t.Run(v.String(), func(t *testing.T) {
			l := lab.New(t)
			protocol := "OpenFlow13"
			if v == openflow.V15 {
				protocol = "OpenFlow15"
			}
			o := &ovs{t: t, lab: l, version: v, sw: l.Switch("s1", lab.DPID(0x51), lab.Protocols(protocol))}
			o.sw.SetController("unix:" + o.sw.ControllerSocket())
			test(t, o)
		})
	}
}

type ovs struct {
	t       *testing.T
	lab     *lab.Lab
	version openflow.Version
	sw      *lab.Switch
}

// start starts a controller and waits until the switch is there.
func (o *ovs) start(cfg controller.Config) *running {
	o.t.Helper()
	cfg.Listen = []string{"unix:" + o.sw.ControllerSocket()}
	cfg.Kind = kind
	cfg.OwnGroup = func(id uint32) bool { return id >= 100 }
	cfg.OwnMeter = cfg.OwnGroup
	r := run(o.t, cfg)
	r.until(o.t, "connected")
	return r
}

// everything is all that the switch holds.
func (o *ovs) everything() string {
	o.t.Helper()
	all := append(o.sw.DumpGroups(), o.sw.DumpFlows()...)
	return state(o.t, strings.Join(all, "\n")+"\n"+o.sw.Ofctl("dump-meters")).String()
}

// onOVSWanted is something of everything, as the modes of both versions use it.
func onOVSWanted(v openflow.Version) string {
	group := "group_id=101,type=select,bucket=bucket_id:0,weight:1,actions=set_field:02:00:00:00:00:01->eth_dst,output:1"
	if v == openflow.V15 {
		group = "group_id=101,type=select,selection_method=hash,fields(ip_src,ip_dst),bucket=bucket_id:256,actions=output:1,bucket=bucket_id:512,actions=output:2"
	}
	return group + `
meter=101 pktps burst bands=type=drop rate=100 burst_size=100
meter=1001 pktps bands=type=drop rate=5
` + cD + `priority=300,dl_type=0x88cc actions=meter:101,CONTROLLER:65535
` + cD + `priority=250,in_port=1,dl_src=0e:ef:01:00:00:00/ff:ff:ff:00:00:00 actions=drop
` + cD + `priority=200,in_port=1 actions=resubmit(,1)
` + cD + `table=1, priority=100,in_port=1,dl_src=02:00:00:00:00:09 actions=resubmit(,10)
` + cD + `table=10, priority=100,arp,arp_tpa=10.0.0.100,arp_op=1 actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:ef:00:00:00:01->eth_src,set_field:2->arp_op,move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],set_field:02:ef:00:00:00:01->arp_sha,move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:10.0.0.100->arp_spa,set_field:0->in_port,output:1
` + cD + `table=30, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 actions=resubmit(,40)
` + cD + `table=30, priority=90,icmp,nw_dst=10.0.0.100,icmp_type=8,icmp_code=0 actions=set_field:0->icmp_type,IN_PORT
` + cD + `table=40, priority=1,tcp actions=group:101
` + cD + `table=40, send_flow_rem priority=2,tcp actions=meter:1001,CONTROLLER:65535
` + cD + `table=60, priority=0 actions=drop
` + cD + `table=60, priority=100,dl_dst=02:00:00:00:00:09 actions=set_field:0x1->reg0,resubmit(,80)
` + cD + `table=80, priority=100,reg0=0x1 actions=output:1
`
}

func TestOVS(t *testing.T) {
	onOVS(t, func(t *testing.T, o *ovs) {
		const foreign = "cookie=0x77, table=99, priority=7,ip actions=output:7\n"
		const conn = cC + "table=40, idle_timeout=600, send_flow_rem priority=100,tcp,nw_src=10.0.0.9,nw_dst=10.0.0.100,tp_src=40000,tp_dst=80 actions=output:1\n"
		o.sw.Ofctl("add-flow", strings.TrimSpace(foreign))
		o.sw.Ofctl("add-flow", cD+"table=5,priority=7,ip,actions=drop") // left by an older controller
		o.sw.Ofctl("add-group", "group_id=199,type=indirect,bucket=output:9")
		o.sw.Ofctl("add-group", "group_id=9,type=indirect,bucket=output:9")
		text := onOVSWanted(o.version)
		a := want(t, "a", 1, text)
		b := want(t, "b", 1, cD+"table=60, priority=50,dl_dst=02:00:00:00:00:08 actions=drop\n")

		r := o.start(controller.Config{})
		if info := r.session().Info(); info.Version != o.version || !info.Nicira || info.DPID != 0x51 ||
			info.Desc.Manufacturer != "Nicira, Inc." || len(info.Ports) != 1 {
			t.Errorf("%+v", info)
		}
		r.ctl.Replace(0x51, []controller.OwnerState{a, b})
		r.until(t, "applied a 1")
		r.until(t, "applied b 1")
		keep := text + foreign + b.State.String() + "group_id=9,type=indirect,bucket=bucket_id:0,actions=output:9\n"
		if diff := cmp.Diff(sorted(t, keep), o.everything()); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}

		// Rules of connections, their counters and their end.
		rule := state(t, conn).Rules[0]
		r.session().Add(&rule)
		r.session().AskRule(&rule)
		if got := r.until(t, "stats"); !strings.HasSuffix(got, "packets=0 found=true") {
			t.Error(got)
		}
		r.session().DeleteStrict(&rule)
		r.until(t, "removed "+cC+"table=40")
		r.session().AskRule(&rule)
		if got := r.untilNth(t, "stats", 2); !strings.HasSuffix(got, "packets=0 found=false") {
			t.Error(got)
		}
		r.session().Add(&rule)
		bad := rule
		bad.Match = nil
		bad.Actions = []flows.Action{flows.ToGroup{ID: 12345}}
		r.session().Add(&bad)
		if got := r.until(t, "error"); !strings.Contains(got, bad.String()) || !strings.Contains(got, "OFPBAC_BAD_OUT_GROUP") {
			t.Error(got)
		}

		// An unchanged restart sends nothing.
		before := o.everything()
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		r = o.start(controller.Config{})
		if got, want := r.until(t, "connected"), "connected ["+strings.TrimSpace(conn)+"]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		a.Version, b.Version = 2, 2
		r.ctl.Replace(0x51, []controller.OwnerState{a, b})
		r.until(t, "applied a 2")
		r.until(t, "applied b 2")
		if c := r.session().Counters(); c.Modifications != 0 || c.FlowMods != 0 || c.Errors != 0 {
			t.Errorf("modified something: %+v", c)
		}
		if diff := cmp.Diff(before, o.everything()); diff != "" {
			t.Error(diff)
		}

		// One owner's mistake does not hinder the other: ct(nat) without ip in the match, say.
		wrong := want(t, "a", 3, text+cD+"table=60, priority=51,dl_dst=02:00:00:00:00:07 actions=set_field:10.0.0.1->ip_dst\n")
		b = want(t, "b", 3, cD+"table=60, priority=52,dl_dst=02:00:00:00:00:08 actions=drop\n")
		late := want(t, "c", 3, cD+"table=60, priority=53,dl_dst=02:00:00:00:00:07 actions=group:12345\n") // noticed at commit
		r.ctl.Update(0x51, []controller.OwnerState{wrong, b, late})
		r.until(t, "refused a 3")
		r.until(t, "refused c 3")
		r.until(t, "applied b 3")
		if err := r.refusal("c"); !strings.Contains(err.Error(), "actions=group:12345: OFPBAC_BAD_OUT_GROUP") {
			t.Error(err)
		}
		if err := r.refusal("a"); !strings.Contains(err.Error(), "priority=51") {
			t.Error(err)
		}
		if diff := cmp.Diff(strings.Replace(before, "priority=50", "priority=52", 1), o.everything()); diff != "" {
			t.Error(diff)
		}

		// A switch that has lost everything is made whole.
		a.Version = 4
		o.sw.Restart()
		r.untilNth(t, "connected", 2)
		r.ctl.Replace(0x51, []controller.OwnerState{a, b})
		r.until(t, "applied a 4")
		if diff := cmp.Diff(sorted(t, text+b.State.String()), o.everything()); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
	})
}

func TestOVSAudit(t *testing.T) {
	onOVS(t, func(t *testing.T, o *ovs) {
		r := o.start(controller.Config{AuditInterval: 100 * time.Millisecond, AuditCookie: 0xef01 << 48, AuditMask: 0xffff << 48})
		text := onOVSWanted(o.version)
		r.ctl.Replace(0x51, []controller.OwnerState{want(t, "a", 1, text)})
		r.until(t, "applied a 1")
		const foreign = "cookie=0x77, table=99, priority=7,ip actions=output:7\n"
		o.sw.Ofctl("add-flow", strings.TrimSpace(foreign))
		o.sw.Ofctl("del-flows", "table=30")
		o.sw.Ofctl("add-flow", cD+"table=31,priority=7,ip,actions=output:7")
		o.sw.Ofctl("add-flow", "table=60,priority=0,actions=output:3")
		o.sw.Ofctl("mod-flows", "table=1,actions=output:3")
		o.sw.Ofctl("del-groups", "group_id=101") // and the rule that refers to it
		o.sw.Ofctl("del-meter", "meter=1001")    // the same
		o.sw.Ofctl("mod-meter", "meter=101,pktps,bands=type=drop,rate=1")
		o.lab.Eventually(30*time.Second, func() error {
			if diff := cmp.Diff(sorted(t, text+foreign), o.everything()); diff != "" {
				return fmt.Errorf("state (-want +got):\n%s", diff)
			}
			return nil
		})
		drift := r.session().Counters().Drift
		if drift < 9 {
			t.Errorf("%d pieces of drift counted", drift)
		}
		audits := r.session().Counters().Audits
		o.lab.Eventually(30*time.Second, func() error {
			if r.session().Counters().Audits < audits+3 {
				return fmt.Errorf("no audit")
			}
			return nil
		})
		if n := r.session().Counters().Drift; n != drift {
			t.Errorf("%d pieces of drift in a switch at rest", n-drift)
		}
	})
}

// A first load of many rules, and the reading of it, in time.
func TestOVSManyRules(t *testing.T) {
	onOVS(t, func(t *testing.T, o *ovs) {
		const n = 12000
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "%stable=30, priority=100,tcp,nw_dst=10.%d.%d.1,tp_dst=80 actions=resubmit(,40)\n", cD, i/250, i%250)
		}
		r := o.start(controller.Config{})
		s := want(t, "a", 1, text.String())
		r.ctl.Replace(0x51, []controller.OwnerState{s})
		r.until(t, "applied a 1")
		if c := r.session().Counters(); c.Modifications != n || c.Errors != 0 {
			t.Errorf("%+v", c)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		rules, err := r.session().Flows(ctx, openflow.FlowFilter{Table: 30})
		if err != nil || len(rules) != n {
			t.Errorf("%d rules, %v", len(rules), err)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		r = o.start(controller.Config{})
		s.Version = 2
		r.ctl.Replace(0x51, []controller.OwnerState{s})
		r.until(t, "applied a 2")
		if c := r.session().Counters(); c.Modifications != 0 {
			t.Errorf("%+v", c)
		}
	})
}
