package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// The same over tunnels between the switches: markers are in the frame that is tunnelled, and whole segments pass if the backends' MTU
// leaves room for what the tunnel adds.
func TestHandOverTunnels(t *testing.T) {
	for kind, mtu := range map[string]int{"geneve": 1442, "vxlan": 1450} {
		t.Run(kind, func(t *testing.T) {
			w := newNetwork(t, 3, "OpenFlow15")
			w.Tunnel(kind, w.sw(1), 10, w.sw(2), 11)
			w.Tunnel(kind, w.sw(2), 10, w.sw(3), 11)
			p := handOverIn(w, 37, nil)
			for _, h := range p.backends {
				if _, err := h.Run(w.ctx, "ip", "link", "set", "eth0", "mtu", fmt.Sprint(mtu)); err != nil {
					t.Fatal(err)
				}
			}
			p.begin(60, 20, 40)
			for range 6 {
				p.change("")
			}
			long := strings.Repeat("x", 1<<15) // several full segments each way
			for range 12 {
				c := p.dial(p.client, "tcp", "", address+":80")
				if _, _, err := c.ask(long); err != nil {
					t.Errorf("%s: %v", c.LocalAddr(), err)
				}
			}
			p.whole()
		})
	}
}
