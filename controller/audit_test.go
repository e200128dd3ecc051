package controller_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/openflow"
	"github.com/google/go-cmp/cmp"
)

// auditing runs a test in a bubble with a switch that is audited each minute and holds one owner's state.
func auditing(t *testing.T, cfg controller.Config, text string, test func(h *harness, fake *controllertest.Switch)) {
	for _, v := range versions {
		t.Run(v.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg.AuditInterval = time.Minute
				h := start(t, cfg)
				h.t = t
				fake := controllertest.NewSwitch(1, controllertest.Versions(v))
				h.connect(fake)
				h.ctl.Replace(1, []controller.OwnerState{want(t, "a", 1, text)})
				h.until(t, "applied a 1")
				fake.Forget()
				test(h, fake)
				h.stop()
			})
		})
	}
}

const audited = `meter=101 pktps bands=type=drop rate=1
meter=102 pktps bands=type=drop rate=1
group_id=101,type=indirect,bucket=bucket_id:0,actions=output:1
group_id=102,type=indirect,bucket=bucket_id:0,actions=output:1
` + cD + `priority=5,ip actions=meter:101,group:101
` + cD + `priority=6,ip actions=output:6
` + cD + `priority=7,ip actions=output:7
` + cD + "priority=8,ip actions=output:8\n"

func TestAuditMendsDrift(t *testing.T) {
	auditing(t, controller.Config{}, audited, func(h *harness, fake *controllertest.Switch) {
		const foreign = "meter=1 pktps bands=type=drop rate=7\ngroup_id=1,type=indirect,bucket=bucket_id:0,actions=output:3\n" +
			"priority=1,ip actions=group:1\n" + cC + "priority=2,ip actions=output:1\n" + cL + "priority=3,ip actions=output:1\n"
		fake.Put(foreign)
		fake.Remove("meter=102 pktps bands=type=drop rate=1\ngroup_id=101,type=indirect\npriority=5,ip actions=drop\npriority=6,ip actions=drop")
		fake.Put("meter=101 pktps bands=type=drop rate=5\ngroup_id=102,type=indirect,bucket=bucket_id:0,actions=output:9\n" +
			cD + "priority=7,ip actions=output:9\npriority=8,ip actions=drop\n" + // the last is a foreign one now
			cD + "priority=9,ip actions=output:9\nmeter=103 pktps bands=type=drop rate=5\ngroup_id=103,type=indirect,bucket=bucket_id:0,actions=output:9")
		synctest.Wait()
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff(sorted(h.t, audited+foreign), fake.Dump()); diff != "" {
			h.t.Errorf("state (-want +got):\n%s", diff)
		}
		c := h.session().Counters()
		if c.Audits != 1 || c.Drift != 11 || c.Modifications != 8+11 {
			h.t.Errorf("%+v", c)
		}
		for _, line := range []string{"drift", "found=none", "mended=\"delete ", "more=1"} {
			if !strings.Contains(h.logs.String(), line) {
				h.t.Errorf("%s not logged in\n%s", line, h.logs)
			}
		}
		fake.Forget()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if mods := fake.Modifications(); mods != nil {
			h.t.Errorf("sent %v", mods)
		}
		if c := h.session().Counters(); c.Audits != 11 || c.Drift != 11 {
			h.t.Errorf("%+v", c)
		}
	})
}

// What the audit cannot mend it reports to the owner.
func TestAuditRefused(t *testing.T) {
	auditing(t, controller.Config{}, audited, func(h *harness, fake *controllertest.Switch) {
		fake.Remove("priority=6,ip actions=drop")
		fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
			if strings.Contains(m.String(), "priority=6") {
				v.Refuse = &openflow.Error{Type: openflow.ErrFlowModFailed, Code: 1}
			}
			return v
		})
		time.Sleep(61 * time.Second)
		h.until(h.t, "refused a 1")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := len(fake.Modifications()); n != 1 {
			h.t.Errorf("tried %d times", n)
		}
	})
}

// A switch that will not be read is not given up, and left alone.
func TestAuditNotPossible(t *testing.T) {
	auditing(t, controller.Config{}, audited, func(h *harness, fake *controllertest.Switch) {
		fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
			if m.Type == openflow.TypeMultipartRequest {
				v.Refuse = &openflow.Error{Type: openflow.ErrBadRequest, Code: 2}
			}
			return v
		})
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if mods := fake.Modifications(); mods != nil || h.session().Counters().Audits != 0 {
			h.t.Errorf("sent %v, %+v", mods, h.session().Counters())
		}
	})
}

// Only the rules that the mask selects are read.
func TestAuditMask(t *testing.T) {
	auditing(t, controller.Config{AuditCookie: 0xef01 << 48, AuditMask: 0xffff << 48}, audited, func(h *harness, fake *controllertest.Switch) {
		fake.Put(cC + "priority=77,ip actions=output:1")
		fake.Put("priority=6,ip actions=drop")
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff(sorted(h.t, audited+cC+"priority=77,ip actions=output:1"), fake.Dump()); diff != "" {
			h.t.Errorf("state (-want +got):\n%s", diff)
		}
		for _, m := range fake.Received(openflow.TypeMultipartRequest) {
			p, _ := openflow.ParseMultipartRequest(m.Raw)
			if p.Kind != openflow.MultipartFlow {
				continue
			}
			if f, err := openflow.ParseFlowStatsRequest(p.Body); err != nil || f.CookieMask != 0xffff<<48 || f.Cookie != 0xef01<<48 {
				h.t.Errorf("asked for %+v, %v", f, err)
			}
		}
	})
}

// What an audit would mend it mends too if a change has found it missing before, in a switch that was read again for that.
func TestAuditMendsWhatAChangeHasFoundMissing(t *testing.T) {
	auditing(t, controller.Config{}, audited, func(h *harness, fake *controllertest.Switch) {
		const group = "group_id=201,type=indirect,bucket=bucket_id:0,actions=output:"
		h.ctl.Update(1, []controller.OwnerState{want(h.t, "b", 1, group+"1\n")})
		h.until(h.t, "applied b 1")
		fake.Remove("group_id=201,type=indirect\nmeter=102 pktps bands=type=drop rate=1\npriority=6,ip actions=drop")
		h.ctl.Update(1, []controller.OwnerState{want(h.t, "b", 2, group+"2\n")})
		h.until(h.t, "applied b 2")
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff(sorted(h.t, audited+group+"2\n"), fake.Dump()); diff != "" {
			h.t.Errorf("state (-want +got):\n%s", diff)
		}
		fake.Forget()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if mods := fake.Modifications(); mods != nil {
			h.t.Errorf("sent %v", mods)
		}
	})
}

// What cannot be mended of one owner keeps nobody else's from being mended, also in a switch that does not say what it refuses.
func TestAuditRefusedOfOneOwner(t *testing.T) {
	for name, opts := range map[string][]controllertest.Option{
		"1.5":       {controllertest.Versions(openflow.V15)},
		"1.5 vague": {controllertest.Versions(openflow.V15), controllertest.VagueCommits()},
		"1.3":       {controllertest.Versions(openflow.V13)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, controller.Config{AuditInterval: time.Minute})
				fake := controllertest.NewSwitch(1, opts...)
				h.connect(fake)
				const b, c = "group_id=201,type=indirect,bucket=bucket_id:0,actions=output:1\n" + cD + "priority=11,ip actions=group:201\n",
					cD + "priority=12,ip actions=output:6\n"
				h.ctl.Replace(1, []controller.OwnerState{want(t, "a", 1, audited), want(t, "b", 1, b), want(t, "c", 1, c)})
				h.until(t, "applied c 1")
				fake.Remove("priority=6,ip actions=drop\npriority=12,ip actions=drop\npriority=11,ip actions=drop\ngroup_id=201,type=indirect")
				fake.Put(cD + "priority=13,ip actions=output:9\n")
				fake.Intercept(func(m controllertest.Message) (v controllertest.Verdict) {
					if strings.Contains(m.String(), "priority=6") {
						v.Refuse = &openflow.Error{Type: openflow.ErrFlowModFailed, Code: 1}
					}
					return v
				})
				time.Sleep(61 * time.Second)
				h.until(t, "refused a 1")
				synctest.Wait()
				broken := strings.Replace(audited, cD+"priority=6,ip actions=output:6\n", "", 1)
				if diff := cmp.Diff(sorted(t, broken+b+c), fake.Dump()); diff != "" {
					t.Errorf("state (-want +got):\n%s", diff)
				}
				h.stop()
			})
		})
	}
}
