package web

import (
	"context"
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

type switchPath struct {
	DPID string `path:"dpid" pattern:"^[0-9a-fA-F]{16}$" doc:"Datapath id, 16 hex digits" example:"0000000000000001"`
}

// Flow is a rule in a switch, as text in the syntax of ovs-ofctl and taken apart.
type Flow struct {
	Table       uint8  `json:"table"`
	TableName   string `json:"table_name" doc:"What the table does; empty if it is none of ours"`
	Priority    uint16 `json:"priority"`
	Text        string `json:"text" doc:"The rule in the syntax of ovs-ofctl, without counters"`
	About       string `json:"about" doc:"Mode othello: Dcodes and owner, pin, cells, generation; else empty"`
	Match       string `json:"match"`
	Actions     string `json:"actions"`
	Packets     uint64 `json:"packets"`
	Bytes       uint64 `json:"bytes"`
	Cookie      string `json:"cookie" pattern:"^0x[0-9a-f]+$"`
	Kind        string `json:"kind" enum:"desired,connection,learned,foreign"`
	Class       string `json:"class" doc:"The app that the rule belongs to; empty for a foreign rule"`
	IdleTimeout uint16 `json:"idle_timeout" doc:"Seconds, 0: none"`
	HardTimeout uint16 `json:"hard_timeout" doc:"Seconds, 0: none"`
	Duration    uint32 `json:"duration" doc:"Seconds since the rule was installed"`
}

// Group is a group in a switch.
type Group struct {
	ID      uint32   `json:"group_id"`
	Type    string   `json:"type" enum:"all,select,indirect,ff"`
	Name    string   `json:"name" doc:"What it is for; empty if it is none of ours"`
	About   string   `json:"about" doc:"Mode othello: the generation, each backend's Dcodes, pins; else empty"`
	Text    string   `json:"text" doc:"The group in the syntax of ovs-ofctl"`
	Packets *uint64  `json:"packets" doc:"null: the switch does not count"`
	Bytes   *uint64  `json:"bytes" doc:"null: the switch does not count"`
	Buckets []Bucket `json:"buckets"`
}

// Bucket is a bucket of a group.
type Bucket struct {
	ID      uint32  `json:"bucket_id"`
	Weight  uint16  `json:"weight"`
	Actions string  `json:"actions"`
	Packets *uint64 `json:"packets" doc:"null: the switch does not count"`
	Bytes   *uint64 `json:"bytes" doc:"null: the switch does not count"`
}

// Meter is a meter in a switch.
type Meter struct {
	ID      uint32  `json:"meter_id"`
	Name    string  `json:"name" doc:"What it limits; empty if it is none of ours"`
	Rate    uint32  `json:"rate" doc:"Packets per second"`
	Burst   uint32  `json:"burst" doc:"Packets, 0: the switch's default"`
	Text    string  `json:"text" doc:"The meter in the syntax of ovs-ofctl"`
	Packets *uint64 `json:"packets" doc:"That came to it; null: the switch does not count"`
	Dropped *uint64 `json:"dropped" doc:"Packets that exceeded its rate; null: the switch does not count"`
}

type switchOutput struct{ Body apps.SwitchStatus }

func (s *Server) registerSwitches(a api) {
	get(a, "list-switches", "/switches", "All switches that have ever connected", s.listSwitches)
	get(a, "get-switch", "/switches/{dpid}", "A switch", s.getSwitch)
	get(a, "list-ports", "/switches/{dpid}/ports", "The ports of a switch with their counters and rates", s.listPorts)
	live(a, "list-flows", "/switches/{dpid}/flows", "The rules in a switch, read from it now", s.listFlows)
	live(a, "list-groups", "/switches/{dpid}/groups", "The groups in a switch, read from it now", s.listGroups)
	live(a, "list-meters", "/switches/{dpid}/meters", "The meters in a switch, read from it now", s.listMeters)
}

func (s *Server) switches() []apps.SwitchStatus {
	all := slices.Clone(s.eng.Switches())
	for i := range all {
		all[i] = wholeSwitch(all[i])
	}
	return notNil(all)
}

func wholeSwitch(st apps.SwitchStatus) apps.SwitchStatus {
	st.Drops, st.Problems, st.Warnings = notNil(st.Drops), notNil(st.Problems), notNil(st.Warnings)
	return st
}

func (s *Server) listSwitches(context.Context, *struct{}) (*listOutput[apps.SwitchStatus], error) {
	return listOf(s.switches()), nil
}

func (s *Server) getSwitch(_ context.Context, in *switchPath) (*switchOutput, error) {
	st, err := onSwitch(in, s.eng.Switch)
	if err != nil {
		return nil, err
	}
	return &switchOutput{wholeSwitch(st)}, nil
}

func (s *Server) listPorts(_ context.Context, in *switchPath) (*listOutput[apps.PortStatus], error) {
	ports, err := onSwitch(in, s.eng.Ports)
	if err != nil {
		return nil, err
	}
	return listOf(ports), nil
}

func (s *Server) listFlows(ctx context.Context, in *switchPath) (*listOutput[Flow], error) {
	rules, err := onSwitch(in, func(d flows.DPID) ([]flows.InstalledRule, error) { return s.eng.Flows(ctx, d) })
	if err != nil {
		return nil, err
	}
	out := make([]Flow, len(rules))
	for i := range rules {
		out[i] = flowOf(&rules[i])
		out[i].About = s.eng.About(&rules[i].Rule)
	}
	return listOf(out), nil
}

func (s *Server) listGroups(ctx context.Context, in *switchPath) (*listOutput[Group], error) {
	groups, err := onSwitch(in, func(d flows.DPID) ([]apps.GroupStatus, error) { return s.eng.Groups(ctx, d) })
	if err != nil {
		return nil, err
	}
	out := make([]Group, len(groups))
	for i := range groups {
		out[i] = groupOf(&groups[i])
		out[i].About = s.eng.AboutGroup(groups[i].ID)
	}
	return listOf(out), nil
}

func (s *Server) listMeters(ctx context.Context, in *switchPath) (*listOutput[Meter], error) {
	meters, err := onSwitch(in, func(d flows.DPID) ([]apps.MeterStatus, error) { return s.eng.Meters(ctx, d) })
	if err != nil {
		return nil, err
	}
	out := make([]Meter, len(meters))
	for i, m := range meters {
		out[i] = Meter{ID: m.ID, Name: apps.MeterName(m.ID), Rate: m.Rate, Burst: m.Burst, Text: m.String()}
		if m.Met != nil {
			out[i].Packets = &m.Met.Packets
		}
		if m.Dropped != nil {
			out[i].Dropped = &m.Dropped.Packets
		}
	}
	return listOf(out), nil
}

// onSwitch reads something of the switch that the path names.
func onSwitch[T any](in *switchPath, read func(flows.DPID) (T, error)) (T, error) {
	d, err := flows.ParseDPID(in.DPID)
	if err != nil {
		var none T
		return none, invalid(&huma.ErrorDetail{Location: "path.dpid", Message: err.Error(), Value: in.DPID})
	}
	v, err := read(d)
	return v, failSwitch(err)
}

var (
	kindNames  = map[apps.Kind]string{apps.KindDesired: "desired", apps.KindConnection: "connection", apps.KindLearned: "learned"}
	classNames = map[apps.Class]string{apps.ClassBase: "base", apps.ClassARP: "arp", apps.ClassNAT: "nat",
		apps.ClassGroup: "group", apps.ClassDeferred: "deferred", apps.ClassOthello: "othello"}
)

func flowOf(r *flows.InstalledRule) Flow {
	f := Flow{
		Table: r.Table, TableName: apps.TableName(r.Table), Priority: r.Priority, Text: r.Rule.String(), Match: r.Match.String(),
		Actions: string(flows.AppendActions(nil, r.Actions)), Packets: r.Packets, Bytes: r.Bytes,
		Cookie: fmt.Sprintf("%#x", r.Cookie), Kind: "foreign", IdleTimeout: r.IdleTimeout, HardTimeout: r.HardTimeout,
		Duration: r.DurationSec,
	}
	if kind, class, _, ours := apps.SplitCookie(r.Cookie); ours {
		f.Class = classNames[class]
		if name, known := kindNames[kind]; known {
			f.Kind = name
		}
	}
	return f
}

func groupOf(g *apps.GroupStatus) Group {
	out := Group{ID: g.ID, Name: apps.GroupName(g.ID), Type: g.Type.String(), Text: g.String(), Buckets: make([]Bucket, len(g.Buckets))}
	if g.Total != nil {
		out.Packets, out.Bytes = &g.Total.Packets, &g.Total.Bytes
	}
	for i, b := range g.Buckets {
		out.Buckets[i] = Bucket{ID: b.ID, Weight: b.Weight, Actions: string(flows.AppendActions(nil, b.Actions))}
		if g.Each != nil {
			out.Buckets[i].Packets, out.Buckets[i].Bytes = &g.Each[i].Packets, &g.Each[i].Bytes
		}
	}
	return out
}
