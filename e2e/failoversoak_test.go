//go:build soak

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// How long a failed cable is felt, for docs/failover.md: of datagrams to a VIP, a thousand a second, the longest time without any
// and how many are lost, each loss five times; and the same when the cable is back.
func TestOutage(t *testing.T) {
	for _, c := range []struct {
		name       string
		bfd        int
		end        func(*lab.Link)
		controller bool
		detours    bool
	}{
		{"no carrier, detour, no controller", 0, (*lab.Link).Cut, false, true},
		{"no carrier, detour", 0, (*lab.Link).Cut, true, true},
		{"no carrier, controller alone", 0, (*lab.Link).Cut, true, false},
		{"silent, BFD 100 ms, detour, no controller", 100, (*lab.Link).Lose, false, true},
		{"silent, BFD 100 ms, detour", 100, (*lab.Link).Lose, true, true},
		{"silent, BFD 100 ms, controller alone", 100, (*lab.Link).Lose, true, false},
		{"silent, LLDP", 0, (*lab.Link).Lose, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newFailover(t, "OpenFlow15", "", c.bfd, vip.ModeDeferred)
			p.service(vip.Spec{Name: "dns", Address: address, Protocol: vip.UDP, Port: "90", Mode: vip.ModeDeferred}, 9090, p.backends[0])
			s := p.stream(p.client, p.backends[0], 9090, address+":90")
			p.settledRules(4)
			if !c.controller {
				p.ctl.kill()
			}
			var lost, gaps, again []string
			for range 5 {
				if !c.detours {
					p.noDetours()
				}
				p.arriving(s, 500)
				n, gap := p.outage(s, func() { c.end(p.cables["s1-s3"]) })
				lost, gaps = append(lost, fmt.Sprint(n)), append(gaps, fmt.Sprint(gap.Milliseconds()))
				if c.controller {
					p.awaitLinks(2)
				}
				p.goOn()
				_, gap = p.outage(s, func() {
					p.cables["s1-s3"].Restore()
					if c.controller {
						p.awaitLinks(3)
						p.settledRules(4)
					}
				})
				again = append(again, fmt.Sprint(gap.Milliseconds()))
				p.goOn()
			}
			t.Logf("| %s | %s | %s | %s |", c.name, strings.Join(gaps, ", "), strings.Join(lost, ", "), strings.Join(again, ", "))
		})
	}
}

// outage is what happens to a stream by an event: datagrams lost and the longest time without any.
func (p *failover) outage(s *stream, event func()) (lost int, gap time.Duration) {
	p.t.Helper()
	begin := s.last()
	event()
	p.arriving(s, 1000)
	return p.holes(s, begin-1)
}

// noDetours takes the detours out of the switches' groups behind the controller's back.
func (p *failover) noDetours() {
	p.t.Helper()
	for _, s := range p.switches {
		for _, g := range slices.DeleteFunc(s.DumpGroups(), func(g string) bool { return !strings.Contains(g, "type=ff") }) {
			s.Ofctl("mod-group", g[:strings.LastIndex(g, ",bucket=")])
		}
	}
}
