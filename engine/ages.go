package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
)

// age names the connections of a VIP that began in a generation; in generation 0, in one that is not kept any more.
type age struct {
	vip        vip.ID
	generation uint32
}

// aged is when a packet of a connection that began in a generation was last seen; the zero time: never.
func (t *tally) aged(id vip.ID, generation uint32) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ages[age{id, generation}]
}

// agesRead reports whether the counters of all connected switches have been read later than a time.
func (t *tally) agesRead(v *apps.View, after time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for d, i := range v.Switches {
		if i.Deferrable() && !t.readAges[d].After(after) {
			return false
		}
	}
	return true
}

// noteAges adds what a switch's rules of table 78 count, as read from a time on. kept says of what there can be connections: what
// a switch tells of others, or has told before, is passed over and forgotten.
func (t *tally) noteAges(d flows.DPID, now time.Time, rules []flows.InstalledRule, kept func(age) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readAges[d] = now
	last, next := t.lastAges[d], make(map[age]uint64, len(t.lastAges[d]))
	for i := range rules {
		id, ok := rules[i].Match.Get(apps.RegVIP)
		label, _ := rules[i].Match.Get(flows.CTLabel)
		k := age{vip.ID(id.Value.Uint64(4)), uint32(label.Value.Uint64(16))}
		if !ok || !kept(k) {
			continue
		}
		if n, known := last[k]; rules[i].Packets != n && (known || rules[i].Packets > 0) {
			t.ages[k] = now
		}
		next[k] = rules[i].Packets
	}
	t.lastAges[d] = next
	maps.DeleteFunc(t.ages, func(k age, _ time.Time) bool { return !kept(k) })
}

// kept reports whether a VIP keeps a generation.
func (a age) kept(v *apps.View) bool {
	x := v.VIP(a.vip)
	switch {
	case x == nil:
		return false
	case a.generation == 0 || x.Generations == nil:
		return a.generation == 0
	}
	return slices.ContainsFunc(x.Generations.Kept, func(k vip.Generation) bool { return k.ID == a.generation })
}

// accepted turns rules that commit connections into such as name their endpoint in the match, as those of other tables do.
func accepted(rules []flows.InstalledRule) []flows.InstalledRule {
	out := make([]flows.InstalledRule, 0, len(rules))
	for _, r := range rules {
		for _, a := range r.Actions {
			ct, ok := a.(flows.CT)
			if !ok || !ct.Commit {
				continue
			}
			for _, b := range ct.Actions {
				if set, ok := b.(flows.SetField); ok && set.Field == flows.CTMark {
					r.Match = flows.Match{}.Exact(flows.CTMark, set.Value)
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// readAges reads the counters of a switch's rules of mode deferred.
func (e *Engine) readAges(ctx context.Context, sw *controller.Switch) error {
	d, now := sw.Info().DPID, e.cfg.Now()
	for _, table := range []uint8{apps.TableAccept, apps.TableDeliver, apps.TableAge} {
		begun := e.tally.begin()
		rules, err := e.counting(ctx, sw, table, apps.ClassDeferred)
		if err != nil {
			return err
		}
		switch table {
		case apps.TableAccept:
			e.tally.note(d, table, begun, now, accepted(rules))
		case apps.TableDeliver:
			e.tally.note(d, table, begun, now, rules)
		default:
			v := e.view.Load()
			e.tally.noteAges(d, now, rules, func(a age) bool { return a.kept(v) })
		}
	}
	return e.readNotes(ctx, sw)
}
