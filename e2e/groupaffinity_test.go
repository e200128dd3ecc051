package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
)

// Affinity may come and go while connections live: they stay, new ones of a client are all at one backend, or spread again. Health
// goes first. The group keeps its buckets.
func TestGroupAffinity(t *testing.T) {
	p := newGroupPool(t, "OpenFlow15")
	p.awaitHash()
	buckets := func() (ids []string) {
		for _, g := range p.sw(1).DumpGroups() {
			if strings.Contains(g, "reg0") { // of VIPs
				for _, part := range strings.Split(g, ",") {
					if strings.HasPrefix(part, "bucket=bucket_id:") {
						ids = append(ids, part)
					}
				}
			}
		}
		return ids
	}
	before := buckets()
	old := p.open("tcp", 3)
	affine := func(network, timeout string) {
		t.Helper()
		p.change(http.MethodPatch, network, map[string]any{"affinity": map[string]any{"timeout": timeout}})
		p.followed() // connections of a client share a cached choice
	}
	one := func(when, network string) string {
		t.Helper()
		said, err := p.explain(network, p.client.IP()+":1", address+":80")
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			if got := p.who(p.dial(p.client, network, "", address+":80")); got != said.Backend {
				t.Errorf("%s: %s: a connection is at %s, and said to be at %s", when, network, got, said.Backend)
			}
		}
		return said.Backend
	}
	affine("tcp", "10m")
	affine("udp", "10m")
	first := one("affinity", "tcp")
	if got := one("affinity", "udp"); got != first { // the same address, and the same bucket ids
		t.Errorf("tcp is at %s, udp at %s", first, got)
	}
	p.stay("affinity comes", old, "")
	if now := buckets(); !slices.Equal(now, before) || len(now) != 6 {
		t.Errorf("buckets were %v and are %v", before, now)
	}
	affine("tcp", "1m") // means nothing new to the switch
	if got := one("another time", "tcp"); got != first {
		t.Errorf("another time: at %s, was at %s", got, first)
	}
	p.change(http.MethodPatch, "tcp/backends/"+first, map[string]any{"admin": "draining"})
	p.followed()
	if got := one("its backend drains", "tcp"); got == first {
		t.Errorf("still at %s, which drains", got)
	}
	p.stay("its backend drains", old, "")
	p.change(http.MethodPatch, "tcp/backends/"+first, map[string]any{"admin": "enabled"})
	p.followed()
	if got := one("its backend is back", "tcp"); got != first {
		t.Errorf("at %s, was at %s before that drained", got, first)
	}
	affine("tcp", "0s")
	p.open("tcp", 3)
	p.stay("affinity goes", old, "")
	r, err := p.vip("tcp")
	if err != nil || r.Affinity != nil || r.Status.Phase != vip.PhaseUp {
		t.Errorf("%+v, %v", r, err)
	}
}

// OpenFlow 1.3 cannot have it, and that is told.
func TestGroupAffinityOfOpenFlow13(t *testing.T) {
	p := newGroupPool(t, "OpenFlow13")
	p.change(http.MethodPatch, "tcp", map[string]any{"affinity": map[string]any{"timeout": "10m"}})
	if r, err := p.vip("tcp"); err != nil || r.Status.Phase != vip.PhaseDegraded || !strings.Contains(r.Status.Reason, "no affinity") {
		t.Errorf("%s, %q, %v", r.Status.Phase, r.Status.Reason, err)
	}
}
