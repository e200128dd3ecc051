package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evenflow/evenflow/apps/vip"
)

// vipSettings are the flags for what may change in a VIP while it lives. Each flag is a field of the API: only those given are sent.
type vipSettings struct {
	flags  *pflag.FlagSet
	fields []vipSetting
}

type vipSetting struct {
	flag, field string     // field: of the API; of an object within it after a dot
	value       func() any // null: back to the default
}

func newVIPSettings(cmd *cobra.Command) *vipSettings {
	s := &vipSettings{flags: cmd.Flags()}
	s.text("scheduler", "scheduler", "how mode nat chooses: "+strings.Join(vip.Schedulers(), ", ")+" (default: two-choices)")
	s.duration("idle-timeout", "idle_timeout", "after which a silent connection is over (default: 1h for tcp, 1m for udp)")
	s.duration("drain-timeout", "drain_timeout", "after which the connections of a draining backend are ended (default: 5m)")
	affinity := s.flags.Duration("affinity", 0, "for which a client comes to the same backend; 0: not at all (default: not at all)")
	s.add("affinity", "affinity", func() any {
		if *affinity == 0 {
			return nil
		}
		return map[string]any{"timeout": vip.Duration(*affinity)}
	})
	s.text("reject", "reject", "what clients are told of connections that cannot be had: answer or drop (default: answer)")
	s.text("health", "health.type", "how backends are probed: none, arp, icmp or tcp (default: none)")
	s.duration("health-interval", "health.interval", fmt.Sprintf("between two probes of a backend (default: %s)", vip.DefaultHealthInterval))
	s.duration("health-timeout", "health.timeout", fmt.Sprintf("after which a probe has failed (default: %s)", vip.DefaultHealthTimeout))
	s.number("health-rise", "health.rise", fmt.Sprintf("answers in a row that make a backend up (default: %d)", vip.DefaultHealthRise))
	s.number("health-fall", "health.fall", fmt.Sprintf("failures in a row that make a backend down (default: %d)", vip.DefaultHealthFall))
	s.text("on-imbalance", "on_imbalance", "what follows uneven loads: alarm or reweight (default: alarm)")
	gateways := s.flags.StringSlice("gateways", nil, "modes deferred and othello: the switches that choose, DPID,DPID...; empty: each client's own (default: each client's own)")
	s.add("gateways", "gateways", func() any {
		if len(*gateways) == 0 {
			return nil
		}
		return *gateways
	})
	s.number("handover", "handover", fmt.Sprintf("modes deferred and othello: generations of backends that are kept; 1: changes break connections (default: %d)", vip.DefaultGenerations))
	s.duration("handover-idle", "handover_idle", fmt.Sprintf("after which an unused generation may go (default: %s)", vip.DefaultHandOverIdle))
	return s
}

func (s *vipSettings) add(flag, field string, value func() any) {
	s.fields = append(s.fields, vipSetting{flag, field, value})
}

func (s *vipSettings) text(flag, field, usage string) {
	v := s.flags.String(flag, "", usage)
	s.add(flag, field, func() any { return *v })
}

func (s *vipSettings) number(flag, field, usage string) {
	v := s.flags.Int(flag, 0, usage)
	s.add(flag, field, func() any { return *v })
}

func (s *vipSettings) duration(flag, field, usage string) {
	v := new(time.Duration)
	s.flags.DurationVar(v, flag, 0, usage)
	s.add(flag, field, func() any { return vip.Duration(*v) })
}

// patch is a merge patch (RFC 7396) of the flags given.
func (s *vipSettings) patch() map[string]any {
	out := map[string]any{}
	for _, f := range s.fields {
		if !s.flags.Changed(f.flag) {
			continue
		}
		object, field, nested := strings.Cut(f.field, ".")
		if !nested {
			out[object] = f.value()
			continue
		}
		inner, _ := out[object].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
			out[object] = inner
		}
		inner[field] = f.value()
	}
	return out
}

// into writes the flags given into a new VIP.
func (s *vipSettings) into(spec *vip.Spec) error {
	raw, err := json.Marshal(s.patch())
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, spec)
}
