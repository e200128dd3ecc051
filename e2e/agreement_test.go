package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// choice is what a gateway's group writes to a packet.
var choice = regexp.MustCompile(`set_field:([0-9a-f:]{17})->eth_dst`)

// Gateways choose alike for 10,000 connections, whatever has become of them and of the backends before, and as is foretold.
//
//	c1 ── s1 ──┐
//	           ├── s3 ── b1 to b6
//	c2 ── s2 ──┘
func TestGatewaysAgree(t *testing.T) {
	t.Parallel()
	for _, f := range []family{ipv4, ipv6} {
		t.Run(f.name, func(t *testing.T) {
			w := newNetwork(t, 3, "OpenFlow15")
			w.family = f
			w.join(1, 10, 3, 11)
			w.join(2, 10, 3, 12)
			clients := []*lab.Host{w.host("c1", 11, 1, 1), w.host("c2", 12, 2, 1)}
			var backends []*lab.Host
			names := map[string]string{} // by MAC
			for i := range 6 {
				backends = append(backends, w.host(fmt.Sprint("b", i+1), i+1, 3, i+1))
				names[backends[i].MAC()] = backends[i].Name()
			}
			w.start()
			protocols := []string{"tcp", "udp"}
			for _, p := range protocols {
				w.service(vip.Spec{Name: p, Address: f.vip, Protocol: vip.Protocol(p), Port: "80", Mode: vip.ModeDeferred,
					Gateways: []string{dpid(w.sw(1)), dpid(w.sw(2))}}, 8080, backends...)
			}
			for i, how := range []map[string]any{{"admin": "disabled"}, {"weight": 3}, {"admin": "enabled"}, {"admin": "draining"}} {
				for _, p := range protocols {
					w.change(http.MethodPatch, fmt.Sprintf("%s/backends/b%d", p, []int{2, 5, 2, 1}[i]), how)
				}
				if i == 1 {
					w.sw(2).Restart() // it has everything anew
					w.awaitReady()
				}
			}
			w.awaitHash()

			random := rand.New(rand.NewPCG(3, 5))
			const each = 2500 // of both protocols and both families
			picks := func(i int, packets []string) (out []string) {
				told, err := w.sw(i + 1).Trace(packets)
				if err != nil {
					t.Fatal(err)
				}
				for n := range told {
					m := choice.FindStringSubmatch(told[n])
					if m == nil || names[m[1]] == "" {
						t.Fatalf("%s chooses nothing for %s:\n%s", w.sw(i+1).Name(), packets[n], told[n])
					}
					out = append(out, names[m[1]])
				}
				return out
			}
			for _, p := range protocols {
				sources, ports := make([]string, each), make([]int, each)
				packets := [2][]string{}
				for n := range each {
					sources[n], ports[n] = fmt.Sprintf("172.%d.%d.%d", 16+random.IntN(16), random.IntN(256), random.IntN(256)), 1024+random.IntN(60000)
					fields := fmt.Sprintf("%s,nw_src=%s,nw_dst=%s", p, sources[n], f.vip)
					if f.name == "IPv6" {
						sources[n] = fmt.Sprintf("fd77::%x:%x", random.IntN(1<<16), random.IntN(1<<16))
						fields = fmt.Sprintf("%s6,ipv6_src=%s,ipv6_dst=%s", p, sources[n], f.vip)
					}
					for i, c := range clients {
						packets[i] = append(packets[i], fmt.Sprintf("in_port=1,dl_src=%s,dl_dst=%s,%s,%s_src=%d,%[4]s_dst=80", c.MAC(), vipMAC, fields, p, ports[n]))
					}
				}
				a, b := picks(0, packets[0]), picks(1, packets[1])
				by := map[string]int{}
				for n := range each {
					if by[a[n]]++; a[n] != b[n] {
						t.Errorf("%s: s1 chooses %s, s2 %s", packets[0][n], a[n], b[n])
					}
					if n%25 > 0 {
						continue
					}
					if x, err := w.explain(p, at(sources[n], ports[n]), f.web(80)); err != nil || x.Switches[0].Backend != a[n] {
						t.Errorf("%s: s1 chooses %s; it is said: %+v, %v", packets[0][n], a[n], x, err)
					}
				}
				t.Logf("%s over %s: %v", p, f.name, by)
				if len(by) != 5 || by["b1"] > 0 {
					t.Errorf("chosen are %v", by)
				}
			}
		})
	}
}
