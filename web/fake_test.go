package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const (
	s1 flows.DPID = 1
	s2 flows.DPID = 2
)

// fakeEngine holds VIPs with the real model's rules, and one connected switch, s1, that confirms everything at once unless
// late is set.
type fakeEngine struct {
	mu        sync.Mutex
	vips      map[string]*vip.VIP
	nextID    vip.ID
	late      bool   // the switch confirms nothing
	refuses   string // the switch refuses with this text
	notYet    error  // what Ready says
	readErr   error  // what Flows, Groups and Meters say
	events    []apps.Event
	nextEvent uint64
	backupErr error
	reports   []apps.LiveReport
	refusals  []string // of agents
	sessions  chan *fakeSession
	changed   chan struct{}
	waits     chan struct{} // gets a value when a request begins to wait
}

var backupBytes = []byte{0x1f, 0x8b, 0, '<', 0xff}

func (f *fakeEngine) Backup(w io.Writer) error {
	if f.backupErr == nil {
		_, f.backupErr = w.Write(backupBytes)
	}
	return f.backupErr
}

func (f *fakeEngine) Counts() []apps.Count {
	return []apps.Count{{Part: "nat", Reason: "closed port", N: 7}}
}

func (f *fakeEngine) ReportStates(_ context.Context, r apps.LiveReport) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Host.String() != "10.0.0.1" {
		return 0, apps.ErrNotFound
	}
	f.reports = append(f.reports, r)
	return int64(len(f.reports)), nil
}

func (f *fakeEngine) Agents() []apps.AgentStatus {
	return []apps.AgentStatus{{Host: netip.MustParseAddr("10.0.0.1"), Connected: true, Since: start, Heard: start, TCP: 3, UDP: new(2), Dumps: 1, Changes: 9},
		{Host: netip.MustParseAddr("10.0.0.2"), Since: start, Reason: "it has hung up"}}
}

func (f *fakeEngine) AgentToken(host netip.Addr) string { return "of " + host.String() }

func (f *fakeEngine) RefuseAgent(host netip.Addr, refusal *apps.AgentError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusals = append(f.refusals, host.String()+" "+refusal.Reason)
}

func (f *fakeEngine) OpenAgent(_ context.Context, hello apps.AgentHello) (apps.AgentSession, error) {
	if hello.Host.String() != "10.0.0.1" {
		return nil, apps.ErrNotFound
	}
	s := &fakeSession{hello: hello, orders: make(chan apps.AgentOrder, 16), over: make(chan struct{}), said: make(chan any, 1), closed: make(chan error, 1)}
	f.sessions <- s
	return s, nil
}

// fakeSession hands over what an agent says, one thing at a time.
type fakeSession struct {
	hello  apps.AgentHello
	orders chan apps.AgentOrder
	over   chan struct{}
	err    error
	said   chan any
	closed chan error
}

func (s *fakeSession) Orders() <-chan apps.AgentOrder { return s.orders }
func (s *fakeSession) Over() <-chan struct{}          { return s.over }
func (s *fakeSession) Err() error                     { return s.err }
func (s *fakeSession) Close(err error)                { s.closed <- err }

func (s *fakeSession) say(ctx context.Context, v any) error {
	select {
	case s.said <- v:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *fakeSession) DumpPart(id uint64, states []apps.LiveState) error {
	s.said <- fmt.Sprint("part of ", id, " ", states)
	return nil
}

func (s *fakeSession) DumpEnd(ctx context.Context, id, seq uint64, states int, complete apps.Protocols) error {
	return s.say(ctx, fmt.Sprint("end of ", id, " at ", seq, " of ", states, " ", complete))
}

func (s *fakeSession) Change(ctx context.Context, c apps.LiveChange) error {
	if len(c.Opened) > 0 && c.Opened[0].Local.Port() == 22 {
		return &apps.AgentError{Reason: "port", Detail: "22 was not asked for"}
	}
	return s.say(ctx, c)
}

func (f *fakeEngine) Probes() []apps.ProbeStats {
	return []apps.ProbeStats{{Type: "tcp", Sent: 10, Answered: 7, Failed: map[string]uint64{"timeout": 2}, Up: 3, Down: 1}}
}

func newFake() *fakeEngine {
	return &fakeEngine{vips: map[string]*vip.VIP{}, changed: make(chan struct{}), waits: make(chan struct{}, 100), sessions: make(chan *fakeSession, 8)}
}

func (f *fakeEngine) read(v *vip.VIP) vip.Read {
	r := vip.Read{Spec: v.Spec.Clone(), Version: v.Version, Origin: v.Origin}
	r.Status.Phase = vip.PhaseUp
	a := vip.Applied{DPID: s1, Version: v.Version, Error: f.refuses}
	if f.late || f.refuses != "" {
		a.Version--
	}
	r.Status.Applied = []vip.Applied{a}
	for _, b := range v.Backends {
		st := vip.BackendStatus{Name: b.Name, State: vip.StateUp, Since: start, Connections: new(int64(12)), NewConnections: 340, Share: 0.25}
		if b.Admin == vip.Disabled {
			st.State, st.Connections = vip.StateDisabled, nil
		}
		r.Status.Backends = append(r.Status.Backends, st)
		r.Status.NewConnections += st.NewConnections
	}
	if v.Spec.Mode == vip.ModeOthello {
		r.Status.HandOver = &vip.HandOver{Step: vip.StepSteady, Generation: 5, Generations: 2, Pins: 1200, Cells: 3360,
			SettleTime: new(vip.Duration(412 * time.Millisecond))}
	}
	return r
}

func (f *fakeEngine) VIPs() (out []vip.Read) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.vips)) {
		out = append(out, f.read(f.vips[name]))
	}
	return out
}

func (f *fakeEngine) VIP(name string) (vip.Read, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := f.vips[name]
	if v == nil {
		return vip.Read{}, fmt.Errorf("VIP %q: %w", name, apps.ErrNotFound)
	}
	return f.read(v), nil
}

func (f *fakeEngine) CreateVIP(_ context.Context, spec vip.Spec, opt apps.WriteOptions) (vip.Read, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.vips[spec.Name] != nil {
		return vip.Read{}, fmt.Errorf("VIP %q: %w", spec.Name, apps.ErrExists)
	}
	v, err := vip.Create(f.nextID+1, spec, opt.Origin)
	if err != nil {
		return vip.Read{}, err
	}
	for _, o := range f.vips {
		if vip.Overlap(o, v) {
			return vip.Read{}, fmt.Errorf("VIP %q: %w: overlaps with VIP %q", spec.Name, apps.ErrConflict, o.Spec.Name)
		}
	}
	if !opt.DryRun {
		f.nextID++
		f.vips[spec.Name] = v
	}
	return f.read(v), nil
}

func (f *fakeEngine) writable(name string, opt apps.WriteOptions) (*vip.VIP, error) {
	v := f.vips[name]
	switch {
	case v == nil:
		return nil, fmt.Errorf("VIP %q: %w", name, apps.ErrNotFound)
	case v.Origin == vip.OriginFile && !opt.Force:
		return nil, fmt.Errorf("VIP %q: %w", name, apps.ErrFileVIP)
	case opt.IfVersion != 0 && opt.IfVersion != v.Version:
		return nil, fmt.Errorf("VIP %q: %w", name, apps.ErrVersion)
	}
	return v, nil
}

func (f *fakeEngine) UpdateVIP(_ context.Context, name string, opt apps.WriteOptions, mutate func(*vip.Spec) error) (vip.Read, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, err := f.writable(name, opt)
	if err != nil {
		return vip.Read{}, err
	}
	spec := old.Spec.Clone()
	if err := mutate(&spec); err != nil {
		return vip.Read{}, fmt.Errorf("VIP %q: %w", name, err)
	}
	v, err := vip.Update(old, spec)
	if err != nil {
		return vip.Read{}, err
	}
	if !opt.DryRun {
		f.vips[name] = v
	}
	return f.read(v), nil
}

func (f *fakeEngine) DeleteVIP(_ context.Context, name string, opt apps.WriteOptions) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.writable(name, opt)
	if err == nil && !opt.DryRun {
		delete(f.vips, name)
	}
	return err
}

func (f *fakeEngine) WaitVIP(ctx context.Context, name string, version uint64) (vip.Read, error) {
	f.mu.Lock()
	late, refuses := f.late, f.refuses
	f.mu.Unlock()
	r, err := f.VIP(name)
	switch {
	case err != nil && late:
		<-ctx.Done()
		r.Status.Applied = []vip.Applied{{DPID: s1, Version: version - 1}}
		return r, fmt.Errorf("VIP %q: %w", name, ctx.Err())
	case err != nil:
		return r, err
	case refuses != "":
		return r, fmt.Errorf("VIP %q: %w", name, apps.ErrRefused)
	case late:
		f.waits <- struct{}{}
		<-ctx.Done()
		return r, fmt.Errorf("VIP %q: %w", name, ctx.Err())
	case r.Version < version:
		return r, errors.New("waiting for a version never written")
	}
	return r, nil
}

func (f *fakeEngine) Connections(name string) ([]apps.Connection, error) {
	if _, err := f.VIP(name); err != nil {
		return nil, err
	}
	return []apps.Connection{{Client: netip.MustParseAddrPort("10.0.0.9:40000"), VIPPort: 80, Backend: "b1", DPID: s1, Since: start}}, nil
}

func (f *fakeEngine) Explain(t apps.Tuple) (apps.Explanation, error) {
	if t.Dst.Port() != 80 {
		return apps.Explanation{}, fmt.Errorf("a VIP with %s: %w", t.Dst, apps.ErrNotFound)
	}
	return apps.Explanation{VIP: "web", Mode: vip.ModeGroup, Backend: fmt.Sprint(t)}, nil
}

func (f *fakeEngine) Switches() []apps.SwitchStatus {
	return []apps.SwitchStatus{
		{DPID: s1, Connected: true, Ready: true, OpenFlow: "1.5", Since: start, Rules: 42,
			PacketIns: 7, DroppedIns: 1, FlowMods: 9, Modifications: 5,
			Drops: []apps.DropCounter{{Reason: "marker from an edge", Packets: 3}}},
		{DPID: s2, OpenFlow: "1.3", Since: start, Error: "the switch closed the connection"},
	}
}

func (f *fakeEngine) Switch(d flows.DPID) (apps.SwitchStatus, error) {
	for _, s := range f.Switches() {
		if s.DPID == d {
			return s, nil
		}
	}
	return apps.SwitchStatus{}, fmt.Errorf("switch %s: %w", d, apps.ErrNotFound)
}

func (f *fakeEngine) Ports(d flows.DPID) ([]apps.PortStatus, error) {
	_, err := f.Switch(d)
	return []apps.PortStatus{{PortNo: 1, Name: "s1-eth1", Kind: "edge", RxBPS: 1.5, TxPPS: 0.25, Dropped: 2, Up: true}}, err
}

func (f *fakeEngine) PortHistories(d flows.DPID, port uint32, seconds int) ([]apps.PortHistory, error) {
	if port > 1 {
		return nil, fmt.Errorf("port %d: %w", port, apps.ErrNotFound)
	}
	_, err := f.Switch(d)
	h := apps.Series(slices.Repeat([]float32{1.23456e9}, seconds))
	h[0] = float32(math.NaN())
	return []apps.PortHistory{{PortNo: 1, Name: "s1-eth1", End: start, RxBPS: h, TxBPS: h, RxPPS: h, TxPPS: h}}, err
}

func (f *fakeEngine) VIPHistory(name string, seconds int) (apps.VIPHistory, error) {
	r, err := f.VIP(name)
	h := apps.VIPHistory{End: start, Backends: []apps.BackendHistory{}}
	for _, b := range r.Backends {
		h.Backends = append(h.Backends, apps.BackendHistory{Name: b.Name, NewConnections: slices.Repeat(apps.Series{7.5}, seconds)})
	}
	return h, err
}

func (f *fakeEngine) History(seconds int) apps.History {
	return apps.History{End: start, PacketIns: slices.Repeat(apps.Series{3}, seconds), NewConnections: slices.Repeat(apps.Series{2}, seconds)}
}

// asked is the error of asking a switch for what it holds.
func (f *fakeEngine) asked(d flows.DPID) error {
	s, err := f.Switch(d)
	if err == nil && !s.Connected {
		err = fmt.Errorf("switch %s: %w", d, apps.ErrAway)
	}
	return cmp.Or(err, f.readErr)
}

func (f *fakeEngine) Flows(_ context.Context, d flows.DPID) ([]flows.InstalledRule, error) {
	rule := flows.Rule{Table: 30, Priority: 100, Cookie: apps.Cookie(apps.KindDesired, apps.ClassNAT, 1), IdleTimeout: 60,
		Match:   flows.Match{}.Num(flows.EthType, 0x800).Addr(flows.IPv4Dst, netip.MustParseAddr("10.0.0.100")),
		Actions: []flows.Action{flows.Go(40)}}
	return []flows.InstalledRule{
		{Rule: rule, Stats: flows.Stats{Packets: 5, Bytes: 500, DurationSec: 9}},
		{Rule: flows.Rule{Cookie: 0x2a}},
	}, f.asked(d)
}

func (f *fakeEngine) About(r *flows.Rule) string {
	if r.Table == 30 {
		return "the way in"
	}
	return ""
}

func (f *fakeEngine) AboutGroup(id uint32) string { return fmt.Sprintf("group %d", id) }

func (f *fakeEngine) Groups(_ context.Context, d flows.DPID) ([]apps.GroupStatus, error) {
	g := flows.Group{ID: 7, Type: flows.GroupSelect, Buckets: []flows.Bucket{flows.NewBucket(256, 1, flows.Output{Port: 2})}}
	return []apps.GroupStatus{{Group: g, Total: &apps.Tally{Packets: 8, Bytes: 80}, Each: []apps.Tally{{Packets: 8, Bytes: 80}}}, {Group: g}}, f.asked(d)
}

func (f *fakeEngine) Meters(_ context.Context, d flows.DPID) ([]apps.MeterStatus, error) {
	return []apps.MeterStatus{{Meter: flows.Meter{ID: 1, Rate: 100, Burst: 10}, Met: &apps.Tally{Packets: 30}, Dropped: &apps.Tally{Packets: 3}}}, f.asked(d)
}

func (f *fakeEngine) Hosts() []apps.HostStatus {
	return []apps.HostStatus{
		{MAC: flows.MAC{2, 0, 0, 0, 0, 9}, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.9")}, DPID: s1, PortNo: 1, Live: true},
		{MAC: flows.MAC{2, 0, 0, 0, 0, 8}, DPID: s1, PortNo: 3}}
}

func (f *fakeEngine) Links() []apps.LinkStatus {
	return []apps.LinkStatus{{A: topo.PortID{DPID: s1, No: 2}, B: topo.PortID{DPID: s2, No: 10}}}
}

func (f *fakeEngine) tell(kind, subject, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nextEvent++
	f.events = append(f.events, apps.Event{ID: f.nextEvent, Time: start, Kind: kind, Subject: subject, Message: message})
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeEngine) Events(since uint64, limit int) []apps.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []apps.Event
	for _, e := range f.events {
		if e.ID > since && len(out) < limit {
			out = append(out, e)
		}
	}
	return out
}

func (f *fakeEngine) LastEvent() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.events); n > 0 {
		return f.events[n-1].ID
	}
	return 0
}

// lose forgets the oldest events.
func (f *fakeEngine) lose(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = f.events[n:]
}

func (f *fakeEngine) EventsChanged() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (f *fakeEngine) Imbalances(detail bool) (out []apps.Imbalance) {
	for _, r := range f.VIPs() {
		out = append(out, imbalanceOf(r.Name, apps.KindVIP, detail))
	}
	return out
}

func (f *fakeEngine) VIPImbalance(name string) (apps.Imbalance, error) {
	_, err := f.VIP(name)
	return imbalanceOf(name, apps.KindVIP, true), err
}

func (f *fakeEngine) Ready() error { return f.notYet }
