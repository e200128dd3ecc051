package controller_test

import (
	"strings"
	"testing"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/openflow"
	"github.com/google/go-cmp/cmp"
)

// sorted is text as Dump writes it.
func sorted(t testing.TB, text string) string {
	t.Helper()
	return state(t, text).String()
}

// Cookies: cD desired, cC connection, cL learned.
const (
	cD = "cookie=0xef01000000000000, "
	cC = "cookie=0xef02000000000000, "
	cL = "cookie=0xef03000000000000, "
)

func TestReplace(t *testing.T) {
	const base = `meter=101 pktps bands=type=drop rate=100
group_id=101,type=select,bucket=bucket_id:0,actions=output:1,bucket=bucket_id:1,actions=output:2
` + cD + `priority=10,ip actions=meter:101,resubmit(,1)
` + cD + `table=1, priority=10,ip actions=group:101
` + cD + `table=1, priority=0 actions=drop
`
	for _, c := range []struct {
		name     string
		has      string // the switch, before
		a, b     string // what two owners want
		mods     []string
		leaves   string // the switch, afterwards, if not a and b alone
		replaces string // logged
	}{
		{name: "nothing to nothing"},
		{
			name: "everything into an empty switch, what is referred to first", a: base,
			mods: []string{
				"ADD meter=101 pktps bands=type=drop rate=100",
				"ADD group_id=101,type=select,bucket=bucket_id:0,actions=output:1,bucket=bucket_id:1,actions=output:2",
				"ADD " + cD + "table=1, priority=10,ip actions=group:101",
				"ADD " + cD + "table=1, priority=0 actions=drop",
				"ADD " + cD + "priority=10,ip actions=meter:101,resubmit(,1)",
			},
		},
		{name: "all is right already", has: base, a: base},
		{
			name: "all is right and belongs to two", has: base + cD + "priority=20,arp actions=drop", a: base,
			b: cD + "priority=20,arp actions=drop",
		},
		{
			name: "wrong things are mended", a: base,
			has: `meter=101 pktps bands=type=drop rate=99
group_id=101,type=select,bucket=bucket_id:0,actions=output:1
cookie=0xef01000000000001, priority=10,ip actions=meter:101,resubmit(,1)
` + cD + `table=1, priority=10,ip actions=output:9
` + cD + `table=1, idle_timeout=5, priority=0 actions=drop`,
			mods: []string{
				"MOD meter=101 pktps bands=type=drop rate=100",
				"MOD group_id=101,type=select,bucket=bucket_id:0,actions=output:1,bucket=bucket_id:1,actions=output:2",
				"ADD " + cD + "table=1, priority=10,ip actions=group:101",
				"ADD " + cD + "table=1, priority=0 actions=drop",
				"ADD " + cD + "priority=10,ip actions=meter:101,resubmit(,1)",
			},
		},
		{
			name: "what is ours and unwanted goes, what refers to something before that", has: base,
			mods: []string{
				"DEL_STRICT " + cD + "priority=10,ip actions=drop",
				"DEL_STRICT " + cD + "table=1, priority=0 actions=drop",
				"DEL_STRICT " + cD + "table=1, priority=10,ip actions=drop",
				"DEL group_id=101,type=select",
				"DEL meter=101",
			},
		},
		{
			name: "others' rules, connections, learned rules, others' groups and meters stay",
			has: `meter=7 pktps bands=type=drop rate=5
group_id=7,type=indirect,bucket=bucket_id:0,actions=output:3
priority=1,ip actions=group:7
` + cC + `priority=2,ip actions=output:1
` + cL + `priority=3,ip actions=output:1
cookie=0xee01000000000000, priority=4,ip actions=output:1
`,
			a:    cD + "priority=9,ip actions=drop",
			mods: []string{"ADD " + cD + "priority=9,ip actions=drop"},
			leaves: `meter=7 pktps bands=type=drop rate=5
group_id=7,type=indirect,bucket=bucket_id:0,actions=output:3
priority=1,ip actions=group:7
` + cC + `priority=2,ip actions=output:1
` + cL + `priority=3,ip actions=output:1
cookie=0xee01000000000000, priority=4,ip actions=output:1
` + cD + "priority=9,ip actions=drop",
		},
		{
			name: "another's rule in the place of one of ours is replaced, with a warning",
			has:  "priority=9,ip actions=output:3", a: cD + "priority=9,ip actions=drop",
			mods: []string{"ADD " + cD + "priority=9,ip actions=drop"}, replaces: "a foreign rule is replaced",
		},
		{
			name: "groups that refer to groups",
			a: `group_id=101,type=indirect,bucket=bucket_id:0,actions=group:103
group_id=102,type=indirect,bucket=bucket_id:0,actions=output:1
group_id=103,type=indirect,bucket=bucket_id:0,actions=group:102`,
			mods: []string{
				"ADD group_id=102,type=indirect,bucket=bucket_id:0,actions=output:1",
				"ADD group_id=103,type=indirect,bucket=bucket_id:0,actions=group:102",
				"ADD group_id=101,type=indirect,bucket=bucket_id:0,actions=group:103",
			},
		},
		{
			name: "the flags that matter only when adding do not differ",
			has:  cD + "send_flow_rem priority=9,ip actions=drop", a: cD + "send_flow_rem reset_counts priority=9,ip actions=drop",
			leaves: cD + "send_flow_rem priority=9,ip actions=drop",
		},
	} {
		for _, v := range []openflow.Version{openflow.V15, openflow.V13} {
			t.Run(c.name+"/"+v.String(), func(t *testing.T) {
				h := start(t, controller.Config{})
				fake := controllertest.NewSwitch(1, controllertest.Versions(v))
				fake.Put(c.has)
				h.connect(fake)
				h.ctl.Replace(1, []controller.OwnerState{want(t, "a", 1, c.a), want(t, "b", 2, c.b)})
				h.until(t, "applied a 1")
				h.until(t, "applied b 2")
				if v == openflow.V13 { // buckets have no ids there
					for i := range c.mods {
						c.mods[i] = strings.ReplaceAll(c.mods[i], "bucket_id:1", "bucket_id:0")
					}
				}
				if diff := cmp.Diff(c.mods, fake.Modifications()); diff != "" {
					t.Errorf("modifications (-want +got):\n%s", diff)
				}
				leaves := c.leaves
				if leaves == "" {
					leaves = c.a + "\n" + c.b
				}
				dump := fake.Dump()
				if v == openflow.V13 {
					dump = strings.Replace(dump, "1,bucket=bucket_id:0", "1,bucket=bucket_id:1", 1)
				}
				if diff := cmp.Diff(sorted(t, leaves), dump); diff != "" {
					t.Errorf("state (-want +got):\n%s", diff)
				}
				if n := h.session().Counters().Modifications; n != uint64(len(c.mods)) {
					t.Errorf("%d modifications counted", n)
				}
				if c.replaces != "" && !strings.Contains(h.logs.String(), c.replaces) {
					t.Errorf("not logged: %s", h.logs)
				}

				// The controller is killed and comes back with the same wishes: it changes nothing.
				fake.Disconnect()
				h.untilNth(t, "disconnected", 1)
				fake.Forget()
				h.connect(fake)
				h.ctl.Replace(1, []controller.OwnerState{want(t, "b", 4, c.b), want(t, "a", 3, c.a)})
				h.until(t, "applied a 3")
				if mods := fake.Modifications(); mods != nil {
					t.Errorf("sent again: %v", mods)
				}
				if n := h.session().Counters().Modifications; n != 0 {
					t.Errorf("%d modifications counted", n)
				}
			})
		}
	}
}

// bundles groups what was received by the bundles it came in: "bundle N ..." lines stand between.
func steps(fake *controllertest.Switch) []string {
	var out []string
	for _, m := range fake.Received(openflow.TypeBarrierRequest, openflow.TypeBundleControl, openflow.TypeFlowMod, openflow.TypeGroupMod,
		openflow.TypeMeterMod) {
		s := m.String()
		if m.Stage == controllertest.Adding {
			s = "  " + s
		}
		out = append(out, s)
	}
	return out
}

func TestStepsOfTransaction(t *testing.T) {
	const before = `meter=101 pktps bands=type=drop rate=100
group_id=101,type=indirect,bucket=bucket_id:0,actions=output:1
` + cD + `priority=10,ip actions=meter:101,group:101`
	const after = `meter=102 pktps bands=type=drop rate=100
group_id=102,type=indirect,bucket=bucket_id:0,actions=output:1
` + cD + `priority=10,ipv6 actions=meter:102,group:102`
	for _, c := range []struct {
		name string
		opts []controllertest.Option
		want []string
	}{
		{"bundle", nil, []string{
			"ADD meter=102 pktps bands=type=drop rate=100",
			"BARRIER_REQUEST",
			"bundle 2 open",
			"  ADD group_id=102,type=indirect,bucket=bucket_id:0,actions=output:1",
			"  ADD " + cD + "priority=10,ipv6 actions=meter:102,group:102",
			"  DEL_STRICT " + cD + "priority=10,ip actions=drop",
			"  DEL group_id=101,type=indirect",
			"bundle 2 close",
			"bundle 2 commit",
			"DEL meter=101",
			"BARRIER_REQUEST",
		}},
		{"rows in 1.3", []controllertest.Option{controllertest.Versions(openflow.V13)}, rowSteps},
		{"rows without bundles", []controllertest.Option{controllertest.NoBundles()}, rowSteps},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, controller.Config{})
			fake := controllertest.NewSwitch(1, c.opts...)
			h.connect(fake)
			h.ctl.Replace(1, []controller.OwnerState{want(t, "a", 1, before)})
			h.until(t, "applied a 1")
			fake.Forget()
			h.ctl.Update(1, []controller.OwnerState{want(t, "a", 2, after)})
			h.until(t, "applied a 2")
			if diff := cmp.Diff(c.want, steps(fake)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(sorted(t, after), fake.Dump()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var rowSteps = []string{
	"ADD meter=102 pktps bands=type=drop rate=100",
	"BARRIER_REQUEST",
	"ADD group_id=102,type=indirect,bucket=bucket_id:0,actions=output:1",
	"ADD " + cD + "priority=10,ipv6 actions=meter:102,group:102",
	"BARRIER_REQUEST",
	"DEL_STRICT " + cD + "priority=10,ip actions=drop",
	"DEL group_id=101,type=indirect",
	"BARRIER_REQUEST",
	"DEL meter=101",
	"BARRIER_REQUEST",
}
