package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// Switches are all switches seen since the start, by id.
func (e *Engine) Switches() []apps.SwitchStatus {
	e.status.mu.Lock()
	ids := slices.Sorted(maps.Keys(e.status.known))
	e.status.mu.Unlock()
	out := make([]apps.SwitchStatus, 0, len(ids))
	for _, d := range ids {
		if s, err := e.Switch(d); err == nil {
			out = append(out, s)
		}
	}
	return out
}

// Switch is one switch.
func (e *Engine) Switch(d flows.DPID) (apps.SwitchStatus, error) {
	e.status.mu.Lock()
	k, ok := e.status.known[d]
	s := apps.SwitchStatus{DPID: d, Drops: e.drops.of(d), Problems: []string{}, Warnings: []string{}}
	if ok {
		s.Connected, s.Ready, s.Since, s.Error = k.connected, k.ready, k.at, k.err
		k.arrival.tell(&s)
		s.Hash = k.hash.text()
		if w := k.hash.warning(); w != "" {
			s.Warnings = append(s.Warnings, w)
		}
	}
	for o, a := range e.status.acks.open[d] {
		if a.err != "" {
			s.Error = fmt.Sprintf("%s: %s", o, a.err)
		}
	}
	e.status.mu.Unlock()
	if !ok {
		return s, fmt.Errorf("switch %s: %w", d, apps.ErrNotFound)
	}
	if sw, ok := e.ctl.Switch(d); ok {
		fillSwitch(&s, sw)
		i := e.view.Load().Switches[d]
		if s.Codes = codesOf(i); i.NoCodes != "" {
			s.Warnings = append(s.Warnings, "cannot have mode othello: "+i.NoCodes)
		}
	}
	s.Problems = append(s.Problems, e.usurped(d)...)
	return s, nil
}

func fillSwitch(s *apps.SwitchStatus, sw *controller.Switch) {
	info, c := sw.Info(), sw.Counters()
	s.OpenFlow, s.Address = info.Version.String(), info.Remote
	s.Description = fmt.Sprintf("%s %s %s", info.Desc.Manufacturer, info.Desc.Hardware, info.Desc.Software)
	s.PacketIns, s.DroppedIns, s.FlowMods, s.Modifications = c.PacketIns, c.DroppedIns, c.FlowMods, c.Modifications
	s.Rules, s.Groups, s.Meters = sw.Desired()
	if !info.Nicira {
		s.Warnings = append(s.Warnings, "no Nicira extensions: modes group, deferred and othello are refused")
	}
	if c.Drift > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d rules, groups or meters were not as they had been left, and are mended: "+
			"somebody else changes them, or the switch loses them", c.Drift))
	}
}

// anyRule selects every rule of every table.
var anyRule = openflow.FlowFilter{Table: 0xff}

// Flows are the rules that a switch holds now, read from it.
func (e *Engine) Flows(ctx context.Context, d flows.DPID) ([]flows.InstalledRule, error) {
	sw, err := e.connectedSwitch(d)
	if err != nil {
		return nil, err
	}
	return sw.Flows(ctx, anyRule)
}

// Groups are the groups that a switch holds now with their counters, read from it.
func (e *Engine) Groups(ctx context.Context, d flows.DPID) ([]apps.GroupStatus, error) {
	sw, err := e.connectedSwitch(d)
	if err != nil {
		return nil, err
	}
	groups, err := sw.Groups(ctx)
	if err != nil || len(groups) == 0 {
		return nil, err
	}
	stats, err := sw.GroupStats(ctx)
	if err != nil && !refusedRead(err) {
		return nil, err
	}
	byID := make(map[uint32]*openflow.GroupStats, len(stats))
	for i := range stats {
		byID[stats[i].ID] = &stats[i]
	}
	out := make([]apps.GroupStatus, len(groups))
	for i := range groups {
		out[i].Group = groups[i]
		st := byID[groups[i].ID]
		if st == nil || len(st.Buckets) != len(groups[i].Buckets) {
			continue // not counted, or changed between
		}
		out[i].Total = &apps.Tally{Packets: kept(st.Packets), Bytes: kept(st.Bytes)}
		for _, b := range st.Buckets {
			out[i].Each = append(out[i].Each, apps.Tally{Packets: kept(b.Packets), Bytes: kept(b.Bytes)})
		}
	}
	return out, nil
}

// Meters are the meters that a switch holds now with their counters, read from it.
func (e *Engine) Meters(ctx context.Context, d flows.DPID) ([]apps.MeterStatus, error) {
	sw, err := e.connectedSwitch(d)
	if err != nil {
		return nil, err
	}
	meters, err := sw.Meters(ctx)
	if err != nil || len(meters) == 0 {
		return nil, err
	}
	stats, err := sw.MeterStats(ctx)
	if err != nil && !refusedRead(err) {
		return nil, err
	}
	out := make([]apps.MeterStatus, len(meters))
	for i, m := range meters {
		out[i].Meter = m
		for _, st := range stats {
			if st.ID != m.ID {
				continue
			}
			out[i].Met, out[i].Dropped = &apps.Tally{Packets: kept(st.Packets), Bytes: kept(st.Bytes)}, &apps.Tally{}
			for _, b := range st.Bands {
				out[i].Dropped.Packets += kept(b.Packets)
				out[i].Dropped.Bytes += kept(b.Bytes)
			}
		}
	}
	return out, nil
}

// refusedRead reports whether the switch has said that it cannot answer.
func refusedRead(err error) bool {
	var refusal *openflow.Error
	return errors.As(err, &refusal)
}
