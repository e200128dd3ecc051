package e2e

import (
	"net/http"
	"testing"
)

// Affinity may come and go while connections live, and backends change: they stay; new ones of a client are all at one backend, whichever
// protocol they are of, or spread again.
func TestDeferredAffinity(t *testing.T) {
	p := newDeferredPool(t, nil)
	p.awaitHash()
	old := p.open("tcp", 4)
	affine := func(timeout string) {
		t.Helper()
		for _, network := range []string{"tcp", "udp"} {
			p.change(http.MethodPatch, network, map[string]any{"affinity": map[string]any{"timeout": timeout}})
		}
	}
	one := func(when string) (name string) {
		t.Helper()
		for _, network := range []string{"tcp", "udp"} {
			said, err := p.explain(network, p.client.IP()+":1", address+":80")
			if err != nil {
				t.Fatal(err)
			}
			if name != "" && said.Backend != name { // the same address, and the same bucket ids
				t.Errorf("%s: tcp is at %s, %s at %s", when, name, network, said.Backend)
			}
			name = said.Backend
			for range 8 {
				if got := p.who(p.dial(p.client, network, "", address+":80")); got != name {
					t.Errorf("%s: a connection over %s is at %s, and said to be at %s", when, network, got, name)
				}
			}
		}
		return name
	}
	affine("10m")
	first := one("affinity")
	p.stay("affinity comes", old, "")
	bound := p.dial(p.client, "tcp", "", address+":80")
	p.patch(first, map[string]any{"admin": "draining"})
	if got := one("its backend drains"); got == first {
		t.Errorf("still at %s, which drains", got)
	}
	p.stay("its backend drains", old, "")
	if got := p.who(bound); got != first {
		t.Errorf("a connection of %s has moved to %s", first, got)
	}
	p.patch(first, map[string]any{"admin": "enabled"})
	if got := one("its backend is back"); got != first {
		t.Errorf("at %s, was at %s before that drained", got, first)
	}
	affine("0s")
	p.open("tcp", 4)
	p.stay("affinity goes", old, "")
	p.allMatched()
}
