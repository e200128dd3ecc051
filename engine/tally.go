package engine

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// tally counts connections by endpoint, for modes in which the switches make them. It never goes backwards: it adds up by how
// much the counters of rules rise, and takes one that has fallen for one that has begun anew. Counters of groups would not do,
// for Open vSwitch sets all of a group's to zero at each change of it.
type tally struct {
	mu    sync.Mutex
	last  map[counterKey]uint64
	made  map[uint32]int64     // by endpoint: connections
	heard map[uint32]time.Time // by endpoint: when a packet was last seen to have been counted

	lastAges map[ageKey]uint64
	ages     map[age]time.Time // when a packet of such connections was last seen
}

type counterKey struct {
	dpid     flows.DPID
	table    uint8
	endpoint uint32
}

func newTally() *tally {
	return &tally{last: map[counterKey]uint64{}, made: map[uint32]int64{}, heard: map[uint32]time.Time{},
		lastAges: map[ageKey]uint64{}, ages: map[age]time.Time{}}
}

// note adds what a switch's rules of mode group count: each packet that commits is a connection, each one to an endpoint a sign
// of life.
func (t *tally) note(d flows.DPID, now time.Time, rules []flows.InstalledRule) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range rules {
		r := &rules[i]
		field := flows.CTMark
		if r.Table == apps.TableCommit {
			field = apps.RegEndpoint
		}
		c, ok := r.Match.Get(field)
		if !ok || c.Masked {
			continue
		}
		k := counterKey{d, r.Table, uint32(c.Value[0])<<24 | uint32(c.Value[1])<<16 | uint32(c.Value[2])<<8 | uint32(c.Value[3])}
		if k.endpoint == 0 {
			continue
		}
		more := r.Packets - t.last[k]
		if r.Packets < t.last[k] {
			more = r.Packets
		}
		t.last[k] = r.Packets
		if more == 0 {
			continue
		}
		if r.Table == apps.TableCommit || r.Table == apps.TableAccept {
			t.made[k.endpoint] += int64(more)
		} else {
			t.heard[k.endpoint] = now
		}
	}
}

// of is how many connections an endpoint has had, and when it was last heard of; the zero time: never.
func (t *tally) of(endpoint uint32) (made int64, heard time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.made[endpoint], t.heard[endpoint]
}

// forget drops a deleted VIP and its endpoints.
func (t *tally) forget(id vip.ID, gone map[uint32]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := range t.last {
		if gone[k.endpoint] {
			delete(t.last, k)
		}
	}
	maps.DeleteFunc(t.lastAges, func(k ageKey, _ uint64) bool { return k.vip == id })
	maps.DeleteFunc(t.ages, func(k age, _ time.Time) bool { return k.vip == id })
	for n := range gone {
		delete(t.made, n)
		delete(t.heard, n)
	}
}

// readTally reads the counters of a switch's rules of mode group, if there are VIPs of the mode.
func (e *Engine) readTally(ctx context.Context, sw *controller.Switch) error {
	v := e.view.Load()
	if !sw.Info().Nicira {
		return nil
	}
	if hasMode(v, vip.ModeDeferred) {
		if err := e.readAges(ctx, sw); err != nil {
			return err
		}
	}
	if !hasMode(v, vip.ModeGroup) {
		return nil
	}
	for _, table := range []uint8{apps.TableCommit, apps.TableGroup} {
		f := openflow.FlowFilter{Table: table}
		f.Cookie, f.CookieMask = apps.ClassCookies(apps.ClassGroup)
		rules, err := sw.Flows(ctx, f)
		if err != nil {
			return err
		}
		// Two rules of an endpoint, in its table, differ in who sends: what is counted there is whether any does.
		e.tally.note(sw.Info().DPID, e.cfg.Now(), joined(rules))
	}
	e.checkShares(v)
	return nil
}

func hasMode(v *apps.View, m vip.Mode) bool {
	for _, x := range v.VIPs {
		if x.Spec.Mode == m {
			return true
		}
	}
	return false
}

// joined adds up the rules that name one endpoint by its mark.
func joined(rules []flows.InstalledRule) []flows.InstalledRule {
	at := map[flows.Value]int{}
	out := rules[:0:0]
	for _, r := range rules {
		c, ok := r.Match.Get(flows.CTMark)
		if !ok || r.Table != apps.TableGroup && r.Table != apps.TableDeliver {
			out = append(out, r)
			continue
		}
		if i, there := at[c.Value]; there {
			out[i].Packets += r.Packets
			continue
		}
		at[c.Value] = len(out)
		out = append(out, r)
	}
	return out
}
