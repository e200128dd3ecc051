package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

// Datagrams in fragments: those of clients are dropped and counted, as no rule sees their ports, and the flow goes on; those of backends arrive,
// for conntrack at their edge puts them together.
func TestDeferredFragments(t *testing.T) {
	w := line(t, 2, "OpenFlow15")
	client, b1 := w.host("c1", 11, 1, 1), w.host("b1", 1, 2, 2)
	server := b1.ListenPacket("udp", at(b1.IP(), 8080))
	long := strings.Repeat("long ", 600)
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = server.WriteTo([]byte(fmt.Sprintf("b1 %s %s\n", long[:len(long)-1], strings.TrimSpace(string(buf[:n])))), from)
		}
	}()
	w.start()
	for i, mode := range []vip.Mode{vip.ModeDeferred, vip.ModeOthello} {
		to := fmt.Sprintf("10.0.0.%d", 100+i)
		w.service(vip.Spec{Name: string(mode), Address: to, Protocol: vip.UDP, Port: "80", Mode: mode}, 8080, b1)
		c := w.dial(client, "udp", "", to+":80")
		answered := func(when string) {
			t.Helper()
			got := ""
			w.Eventually(patience, func() error { // a busy machine may lose a datagram
				if _, err := c.Write([]byte("short\n")); err != nil {
					return err
				}
				_ = c.SetReadDeadline(time.Now().Add(3 * time.Second))
				line, err := c.in.ReadString('\n')
				got = line
				return err
			})
			if len(got) < len(long) {
				t.Errorf("%s: %s: the answer has %d bytes", mode, when, len(got))
			}
		}
		answered("at first")
		const reason = "fragment to a VIP: it shows no ports to choose by"
		before, err := w.drops(1, reason)
		if err != nil {
			t.Fatal(err)
		}
		w.Eventually(patience, func() error {
			if _, err := c.Write([]byte(long + "\n")); err != nil {
				return err
			}
			now, err := w.drops(1, reason)
			if err == nil && now == before {
				err = fmt.Errorf("%s: no fragment is dropped", mode)
			}
			return err
		})
		answered("after fragments")
	}
}
