package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

// Datagrams of a client in fragments are not balanced, but dropped and counted; those of a backend reach the client.
func TestDeferredFragments(t *testing.T) {
	p := newDeferredPool(t, nil)
	text := strings.Repeat("long ", 600)
	for _, b := range p.backends { // answers at length
		receive(b, at(b.IP(), 9000), func(_ net.Addr, data []byte) []byte { return fmt.Appendf(nil, "%s%s\n", text, data) })
	}
	p.service(vip.Spec{Name: "long", Address: address, Protocol: vip.UDP, Port: "90", Mode: vip.ModeDeferred}, 9000, p.backends...)
	flows := make([]*conn, 8)
	hears := func(c *conn) {
		t.Helper()
		p.Eventually(patience, func() error {
			_ = c.SetDeadline(time.Now().Add(time.Second))
			defer func() { _ = c.SetDeadline(time.Time{}) }()
			if _, err := c.Write([]byte("?")); err != nil {
				return err
			}
			got, err := c.in.ReadString('\n')
			if err == nil && got != text+"?\n" {
				err = fmt.Errorf("%d bytes", len(got))
			}
			return err
		})
	}
	for i := range flows {
		flows[i] = p.dial(p.client, "udp", "", address+":90")
		hears(flows[i])
	}
	before := p.refusedCount("nat", "fragment")
	p.Eventually(patience, func() error {
		for _, c := range flows {
			if _, err := c.Write([]byte(text)); err != nil {
				return err
			}
		}
		if n := p.refusedCount("nat", "fragment") - before; n < float64(2*len(flows)) {
			return fmt.Errorf("%v fragments are counted", n)
		}
		return nil
	})
	for _, c := range flows {
		hears(c)
	}
}
