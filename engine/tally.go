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

// tally counts connections by endpoint and by VIP, for modes in which the switches make them. It never goes backwards: it adds up
// by how much the counters of rules rise, and takes one that has fallen for one that has begun anew. Counters of groups would not
// do, for Open vSwitch sets all of a group's to zero at each change of it.
type tally struct {
	mu    sync.Mutex
	last  map[counters]map[uint32]uint64 // by endpoint: packets
	ended map[counters]map[uint32]uint64 // by endpoint: at which step its rule was told to have ended
	step  uint64
	owner map[uint32]vip.ID    // of endpoints that there are: what switches tell of others, they have made up
	made  map[uint32]int64     // by endpoint: connections
	total map[vip.ID]int64     // also of endpoints that are gone
	heard map[uint32]time.Time // by endpoint: when a packet was last seen to have been counted

	counted bool      // something, since encode
	encoded time.Time // when encode last had something; zero: it is to be stored soon

	lastAges map[flows.DPID]map[age]uint64
	ages     map[age]time.Time // when a packet of such connections was last seen
	readAges map[flows.DPID]time.Time
}

// counters are where something is counted.
type counters struct {
	dpid  flows.DPID
	table uint8
}

func newTally() *tally {
	return &tally{last: map[counters]map[uint32]uint64{}, ended: map[counters]map[uint32]uint64{}, owner: map[uint32]vip.ID{},
		made: map[uint32]int64{}, total: map[vip.ID]int64{}, heard: map[uint32]time.Time{}, lastAges: map[flows.DPID]map[age]uint64{}, ages: map[age]time.Time{},
		readAges: map[flows.DPID]time.Time{}}
}

// know notes endpoints that there are.
func (t *tally) know(endpoints map[backendKey]uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, n := range endpoints {
		t.owner[n] = k.vip
	}
}

// endpointOf is the endpoint whose packets a rule counts, 0 if it is no such rule.
func endpointOf(table uint8, r *flows.Rule) uint32 {
	field := flows.CTMark
	if table == apps.TableCommit {
		field = apps.RegEndpoint
	}
	c, ok := r.Match.Get(field)
	if !ok || c.Masked {
		return 0
	}
	return uint32(c.Value[0])<<24 | uint32(c.Value[1])<<16 | uint32(c.Value[2])<<8 | uint32(c.Value[3])
}

// begin is called before a table is read, and its answer passed to note.
func (t *tally) begin() (step uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.step
}

// note adds what all of a switch's rules of a mode in a table count: each packet that commits is a connection, each one to an
// endpoint a sign of life. Rules that name one endpoint count together. What was counted by rules that are not there any more is
// over: the next ones begin with zero.
func (t *tally) note(d flows.DPID, table uint8, begun uint64, now time.Time, rules []flows.InstalledRule) {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := counters{d, table}
	last, ended, next := t.last[from], t.ended[from], make(map[uint32]uint64, len(rules))
	for i := range rules {
		r := &rules[i]
		endpoint := endpointOf(table, &r.Rule)
		if t.owner[endpoint] == 0 || ended[endpoint] > begun {
			continue // what was read is of before, or it has been counted
		}
		next[endpoint] += r.Packets
	}
	for endpoint, packets := range next {
		t.add(endpoint, table, now, last[endpoint], packets)
	}
	t.last[from] = next
	maps.DeleteFunc(ended, func(_ uint32, step uint64) bool { return step <= begun })
}

// add adds what has been counted for an endpoint since the last reading. The caller holds mu.
func (t *tally) add(endpoint uint32, table uint8, now time.Time, last, packets uint64) {
	more := packets
	if packets >= last {
		more -= last
	} else {
		t.encoded = time.Time{} // what was counted before can be read nowhere else
	}
	switch {
	case more == 0:
	case table == apps.TableCommit || table == apps.TableAccept:
		t.made[endpoint] += int64(more)
		t.total[t.owner[endpoint]] += int64(more)
		t.counted = true
	default:
		t.heard[endpoint] = now
	}
}

// end adds the last of what a rule has counted, which has been taken out.
func (t *tally) end(d flows.DPID, r *flows.Rule, now time.Time, packets uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	endpoint, from := endpointOf(r.Table, r), counters{d, r.Table}
	if t.owner[endpoint] == 0 {
		return
	}
	t.add(endpoint, r.Table, now, t.last[from][endpoint], packets)
	delete(t.last[from], endpoint)
	t.counted, t.encoded = true, time.Time{}
	if t.ended[from] == nil {
		t.ended[from] = map[uint32]uint64{}
	}
	t.step++
	t.ended[from][endpoint] = t.step
}

// of is how many connections an endpoint has had, and when it was last heard of; the zero time: never.
func (t *tally) of(endpoint uint32) (made int64, heard time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.made[endpoint], t.heard[endpoint]
}

// ofVIP is how many connections a VIP has had, also to backends that have left.
func (t *tally) ofVIP(id vip.ID) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total[id]
}

// forget drops a deleted VIP with its endpoints.
func (t *tally) forget(id vip.ID, gone map[uint32]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.total, id)
	for _, last := range t.lastAges {
		maps.DeleteFunc(last, func(k age, _ uint64) bool { return k.vip == id })
	}
	maps.DeleteFunc(t.ages, func(k age, _ time.Time) bool { return k.vip == id })
	for n := range gone {
		delete(t.owner, n)
		delete(t.made, n)
		delete(t.heard, n)
	}
}

// readTally reads the counters of a switch's rules of the modes in which switches make connections, if there are VIPs of such.
func (e *Engine) readTally(ctx context.Context, sw *controller.Switch) error {
	v := e.view.Load()
	if !sw.Info().Nicira {
		return nil
	}
	if hasMode(v, vip.ModeDeferred) || hasMode(v, vip.ModeOthello) {
		if err := e.readAges(ctx, sw); err != nil {
			return err
		}
	}
	if !hasMode(v, vip.ModeGroup) {
		return nil
	}
	for _, table := range []uint8{apps.TableCommit, apps.TableGroup} {
		begun := e.tally.begin()
		rules, err := e.counting(ctx, sw, table, apps.ClassGroup)
		if err != nil {
			return err
		}
		e.tally.note(sw.Info().DPID, table, begun, e.cfg.Now(), rules)
	}
	if s := e.session(sw); s != nil && !s.tallied {
		s.tallied = true
		e.shares.reset(e.cfg.Now()) // what was made while it was away, is not to be taken for new
	}
	e.checkShares(v)
	return nil
}

// counting are the rules of a mode in a table. It is an error if the session has ended: a newer one may have been read already,
// and what is older would look as if counters had begun anew.
func (e *Engine) counting(ctx context.Context, sw *controller.Switch, table uint8, class apps.Class) ([]flows.InstalledRule, error) {
	f := openflow.FlowFilter{Table: table}
	f.Cookie, f.CookieMask = apps.ClassCookies(class)
	rules, err := sw.Flows(ctx, f)
	if err == nil && e.session(sw) == nil {
		err = controller.ErrLost
	}
	return rules, err
}

func hasMode(v *apps.View, m vip.Mode) bool {
	for _, x := range v.VIPs {
		if x.Spec.Mode == m {
			return true
		}
	}
	return false
}
