package e2e

import (
	"fmt"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
)

// A connection through a VIP of mode group, over both versions of OpenFlow. The client sees the VIP, the backend the client.
func TestGroupPath(t *testing.T) {
	for _, version := range []string{"OpenFlow15", "OpenFlow13"} {
		for n, name := range map[int]string{1: "one switch", 2: "two switches", 3: "three switches"} {
			t.Run(version+" "+name, func(t *testing.T) {
				w := line(t, n, version)
				client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, n, 2)
				serve(8080, backend)
				w.start()
				for _, network := range []string{"tcp", "udp"} {
					w.service(vip.Spec{Name: network, Address: address, Protocol: vip.Protocol(network), Port: "80", Mode: vip.ModeGroup}, 8080, backend)
					for range 3 {
						c := w.dial(client, network, "", address+":80")
						who, seen, err := c.ask("hello")
						if err != nil {
							t.Fatalf("%s: %v\n%s", network, err, fmt.Sprint(w.sw(1).Ofctl("dump-flows")))
						}
						if who != "b1" || seen != c.LocalAddr().String() {
							t.Errorf("%s: %s answers and sees %s; the client is %s", network, who, seen, c.LocalAddr())
						}
						if network == "tcp" {
							if again, err := retransmissions(c); err != nil || again != 0 {
								t.Errorf("%d retransmissions, %v", again, err)
							}
						}
						w.who(c)
					}
				}
			})
		}
	}
}
