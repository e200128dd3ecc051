package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/apps/vip"
)

// healthFlags say how backends are probed.
type healthFlags struct {
	kind              string
	interval, timeout time.Duration
	rise, fall        int
}

func (h *healthFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&h.kind, "health", "", "how backends are probed: none, arp, icmp or tcp (default: none)")
	f.DurationVar(&h.interval, "health-interval", 0, fmt.Sprintf("between two probes of a backend (default: %s)", vip.DefaultHealthInterval))
	f.DurationVar(&h.timeout, "health-timeout", 0, fmt.Sprintf("after which a probe has failed (default: %s)", vip.DefaultHealthTimeout))
	f.IntVar(&h.rise, "health-rise", 0, fmt.Sprintf("answers in a row that make a backend up (default: %d)", vip.DefaultHealthRise))
	f.IntVar(&h.fall, "health-fall", 0, fmt.Sprintf("failures in a row that make a backend down (default: %d)", vip.DefaultHealthFall))
}

// spec is nil if no flag was given.
func (h *healthFlags) spec(cmd *cobra.Command) *vip.Health {
	for _, name := range []string{"health", "health-interval", "health-timeout", "health-rise", "health-fall"} {
		if cmd.Flags().Changed(name) {
			return &vip.Health{Type: h.kind, Interval: vip.Duration(h.interval), Timeout: vip.Duration(h.timeout), Rise: h.rise, Fall: h.fall}
		}
	}
	return nil
}
