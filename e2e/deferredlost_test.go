package e2e

import (
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
)

// The backends' switch is restarted and forgets all connections; the backends stay the same, so they go on, whoever speaks first.
func TestDeferredSwitchKilled(t *testing.T) {
	w := line(t, 2, "OpenFlow15")
	trySwitchKilled(w, vip.ModeDeferred, w.sw(2), 3, w.host("c1", 11, 1, 1), w.host("b1", 1, 2, 1), w.host("b2", 2, 2, 2))
}

// When conntrack has no room TCP connections are made without it, and last. Nothing reaches a backend untranslated.
func TestDeferredConntrackFull(t *testing.T) {
	p := newDeferredPool(t, func(s *vip.Spec) {
		if s.Protocol == vip.UDP {
			s.Port = "53"
		}
	})
	tryConntrackFull(p.groupPool, "53", p.switches...)
}

// Through the VIP and past it at a time.
func TestDeferredBesideDirect(t *testing.T) {
	p := newDeferredPool(t, nil)
	for _, network := range []string{"tcp", "udp"} {
		p.besideDirect(network, p.client, p.backends...)
	}
}
