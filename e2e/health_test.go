package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// fast are probes that find out soon.
func fast(kind string) *vip.Health {
	const ms = vip.Duration(time.Millisecond)
	return &vip.Health{Type: kind, Interval: 250 * ms, Timeout: 200 * ms, Rise: 2, Fall: 3}
}

func blackhole(verb, address string) []string {
	return []string{"ip", "route", verb, "blackhole", address}
}

func hostAddress(verb string, address ...string) []string {
	return append([]string{"ip", "address", verb, "dev", "eth0"}, address...)
}

func noEcho(prefix string, value int) []string {
	return []string{"sysctl", "-q", fmt.Sprintf("%secho_ignore_all=%d", prefix, value)}
}

// A backend is taken for down after failed probes of each type, over both families and in both modes, gets no connections while it
// is, and is up again after answers.
func TestHealth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind       string
		mode       vip.Mode
		family     family
		fail, cure []string // commands in the backend
		reason     string
	}{
		{vip.HealthICMP, vip.ModeNAT, ipv4, noEcho("net.ipv4.icmp_", 1), noEcho("net.ipv4.icmp_", 0), "icmp probe: no answer"},
		{vip.HealthICMP, vip.ModeGroup, ipv6, noEcho("net.ipv6.icmp.", 1), noEcho("net.ipv6.icmp.", 0), "icmp probe: no answer"},
		{vip.HealthTCP, vip.ModeGroup, ipv4, blackhole("add", ipv4.vip), blackhole("del", ipv4.vip), "tcp probe: no answer from port 8080"},
		{vip.HealthTCP, vip.ModeNAT, ipv6, blackhole("add", ipv6.vip), blackhole("del", ipv6.vip), "tcp probe: no answer from port 8080"},
		{vip.HealthTCP, vip.ModeDeferred, ipv4, blackhole("add", ipv4.vip), blackhole("del", ipv4.vip), "tcp probe: no answer from port 8080"},
		{vip.HealthARP, vip.ModeGroup, ipv4, hostAddress("del", "10.0.0.2/24"), hostAddress("add", "10.0.0.2/24"), "arp probe: no answer"},
		{vip.HealthARP, vip.ModeNAT, ipv6, hostAddress("del", "fd00::2/64"), hostAddress("add", "fd00::2/64", "nodad"), "ND probe: no answer"},
	} {
		t.Run(fmt.Sprintf("%s-%s-%s", c.kind, c.mode, c.family.name), func(t *testing.T) {
			version := ""
			if c.mode == vip.ModeNAT {
				version = "OpenFlow13"
			}
			w := line(t, 2, version)
			w.family = c.family
			client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1)
			serve(8080, b1, b2)
			w.start()
			w.service(vip.Spec{Name: "web", Address: w.family.vip, Protocol: vip.TCP, Port: "80", Mode: c.mode, Health: fast(c.kind)}, 8080, b1, b2)
			stays := w.dial(client, "tcp", "", w.family.web(80))
			for w.who(stays) != "b1" {
				stays = w.dial(client, "tcp", "", w.family.web(80))
			}
			w.run(b2, c.fail...)
			w.awaitState("web", "b2", vip.StateDown)
			if s, err := w.status("web", "b2"); err != nil || s.Reason != c.reason+" within 200ms" {
				t.Errorf("b2 is %+v, %v; want the reason %q", s, err, c.reason)
			}
			w.alone(client, "b1")
			w.run(b2, c.cure...)
			w.awaitState("web", "b2", vip.StateUp)
			w.Eventually(patience, func() error {
				c, err := dial(w.ctx, client, "tcp", "", w.family.web(80))
				if err != nil {
					return err
				}
				defer c.Close()
				if name, _, err := c.ask("who"); err != nil || name != "b2" {
					return fmt.Errorf("a new connection is at %s, %v", name, err)
				}
				return nil
			})
			if name := w.who(stays); name != "b1" {
				t.Errorf("a connection of a backend that is well has gone to %s", name)
			}
		})
	}
}

// probed is a client and a backend on s1 and another backend on s2, whose server is one that can be stopped.
type probed struct {
	*network
	client, b1, b2 *lab.Host
	server         net.Listener
}

func newProbed(t *testing.T, mode vip.Mode, h *vip.Health) *probed {
	p := &probed{network: line(t, 2, "")}
	p.client, p.b1, p.b2 = p.host("c1", 11, 1, 1), p.host("b1", 1, 1, 2), p.host("b2", 2, 2, 1)
	serve(8080, p.b1)
	p.server = serveTCP(p.b2, 8080)
	p.start()
	p.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Mode: mode}, 8080, p.b1, p.b2)
	p.change(http.MethodPatch, "web", map[string]any{"health": h})
	return p
}

// at is a connection to a backend.
func (p *probed) at(name string) (c *conn) {
	p.t.Helper()
	p.Eventually(patience, func() (err error) {
		if c, err = dial(p.ctx, p.client, "tcp", "", p.family.web(80)); err != nil {
			return err
		}
		p.t.Cleanup(func() { _ = c.Close() })
		got, _, err := c.ask("who")
		if err == nil && got != name {
			err = fmt.Errorf("a connection is at %s, not at %s", got, name)
		}
		return err
	})
	return c
}

// alone waits until a backend gets all new connections: a switch takes some time to confirm what has changed, and so does its cache.
func (w *network) alone(client *lab.Host, name string) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		for range 12 {
			c, err := dial(w.ctx, client, "tcp", "", w.family.web(80))
			if err != nil {
				return err
			}
			got, _, err := c.ask("who")
			_ = c.Close()
			if err != nil || got != name {
				return fmt.Errorf("a new connection is at %s, %v", got, err)
			}
		}
		return nil
	})
}

// awaitReason waits until a backend's reason contains a text.
func (p *probed) awaitReason(backend, text string) {
	p.t.Helper()
	p.Eventually(patience, func() error {
		s, err := p.status("web", backend)
		if err == nil && !strings.Contains(s.Reason, text) {
			err = fmt.Errorf("%s is %s (%s), want %q", backend, s.State, s.Reason, text)
		}
		return err
	})
}

// awaitPhase waits until the VIP is in a phase.
func (p *probed) awaitPhase(phase vip.Phase) {
	p.t.Helper()
	p.Eventually(patience, func() error {
		r, err := p.vip("web")
		if err == nil && r.Status.Phase != phase {
			err = fmt.Errorf("the VIP is %s (%s), not %s", r.Status.Phase, r.Status.Reason, phase)
		}
		return err
	})
}

// A backend whose service has died takes its own connections with it, which are reset, and no others; and with the last one the VIP
// is down, and refuses.
func TestHealthRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []vip.Mode{vip.ModeNAT, vip.ModeGroup} {
		t.Run(string(mode), func(t *testing.T) {
			p := newProbed(t, mode, fast(vip.HealthTCP))
			first, second := p.at("b1"), p.at("b2")
			_ = p.server.Close()
			p.awaitState("web", "b2", vip.StateDown)
			p.awaitReason("b2", "tcp probe: port 8080 refuses connections")
			p.awaitPhase(vip.PhaseDegraded)
			p.reset("the service has died", []*conn{second})
			if name := p.who(first); name != "b1" {
				t.Errorf("a connection has gone from b1 to %s", name)
			}
			p.alone(p.client, "b1")
			p.run(p.b1, blackhole("add", "10.0.0.100")...)
			p.awaitPhase(vip.PhaseDown)
			p.Eventually(patience, func() error {
				if _, err := dial(p.ctx, p.client, "tcp", "", p.family.web(80)); !errors.Is(err, syscall.ECONNREFUSED) {
					return fmt.Errorf("a connection to a VIP that is down: %v", err)
				}
				return nil
			})
			p.server = serveTCP(p.b2, 8080)
			p.awaitState("web", "b2", vip.StateUp)
			p.at("b2")
		})
	}
}

// A cable that is pulled is seen at once, whatever the interval; when it is back, the backend is up as soon as it answers, and not
// before. Flapping is damped, and told.
func TestHealthLost(t *testing.T) {
	slow := fast(vip.HealthTCP)
	slow.Interval = vip.Duration(time.Hour)
	p := newProbed(t, vip.ModeGroup, slow)
	p.cables["b2"].Cut()
	p.awaitReason("b2", "is down")
	_ = p.server.Close()
	p.cables["b2"].Restore()
	p.awaitReason("b2", "tcp probe: port 8080 refuses connections")
	if s, err := p.status("web", "b2"); err != nil || s.State != vip.StateDown {
		t.Errorf("b2 is %+v, %v", s, err)
	}
	often := fast(vip.HealthTCP)
	often.Interval = vip.Duration(500 * time.Millisecond)
	p.change(http.MethodPatch, "web", map[string]any{"health": often})
	if s, err := p.status("web", "b2"); err != nil || s.State != vip.StateDown {
		t.Errorf("probed otherwise b2 is %+v, %v", s, err)
	}
	p.server = serveTCP(p.b2, 8080)
	p.awaitState("web", "b2", vip.StateUp)
	_ = p.server.Close()
	p.awaitState("web", "b2", vip.StateDown)
	p.server = serveTCP(p.b2, 8080)
	p.told("backend web/b2 down: tcp probe: port 8080 refuses connections; flapping: down 2 times in short order, so held down for 2.5s")
	p.awaitState("web", "b2", vip.StateUp)
	p.Eventually(patience, func() error {
		events, err := list[apps.Event](p.api, "/events?last=1000")
		if err != nil {
			return err
		}
		var told []string
		for _, e := range events {
			if e.Kind == "backend" && e.Subject == "web/b2" {
				told = append(told, strings.SplitN(e.Message, ":", 2)[0])
			}
		}
		if got := strings.Join(told, " "); !strings.HasSuffix(got, "down up down up") {
			return fmt.Errorf("told of b2: %s", got)
		}
		return nil
	})
}

// A controller that is killed and started again marks nobody down, changes nothing in the switches, and gives a backend that was
// down no connections.
func TestHealthRestart(t *testing.T) {
	p := newProbed(t, vip.ModeGroup, fast(vip.HealthTCP))
	first := p.at("b1")
	_ = p.server.Close()
	p.awaitReason("b2", "refuses")
	quiet(p.network)
	before, err := list[apps.Event](p.api, "/events?last=1")
	if err != nil {
		t.Fatal(err)
	}
	p.ctl.kill()
	p.ctl.start()
	p.awaitReady()
	p.alone(p.client, "b1")
	p.awaitReason("b2", "refuses")
	all, err := p.api.switches()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Modifications != 0 {
			t.Errorf("%d modifications of switch %s", s.Modifications, s.DPID)
		}
	}
	events, err := list[apps.Event](p.api, fmt.Sprintf("/events?since=%d", before[0].ID))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == "backend" {
			t.Errorf("told of %s: %s", e.Subject, e.Message)
		}
	}
	p.server = serveTCP(p.b2, 8080)
	p.awaitState("web", "b2", vip.StateUp)
	if name := p.who(first); name != "b1" {
		t.Errorf("a connection has gone from b1 to %s", name)
	}
}

// A switch that hangs says nothing about its backends: nobody is marked down for it, and probes go on when it does.
func TestHealthSwitchHung(t *testing.T) {
	p := newProbed(t, vip.ModeGroup, fast(vip.HealthTCP))
	p.sw(2).Hang()
	answered := p.metric("evenflow_health_probes_answered_total", "type", "tcp")
	p.Eventually(patience, func() error { // those of b1
		if n := p.metric("evenflow_health_probes_answered_total", "type", "tcp") - answered; n < 12 {
			return fmt.Errorf("%v probes answered", n)
		}
		return nil
	})
	if s, err := p.status("web", "b2"); err != nil || s.State != vip.StateUp {
		t.Errorf("behind a switch that hangs b2 is %+v, %v", s, err)
	}
	p.sw(2).Continue()
	_ = p.server.Close()
	p.awaitReason("b2", "refuses")
	p.server = serveTCP(p.b2, 8080)
	p.awaitState("web", "b2", vip.StateUp)
}

// Nobody but the backend hears anything of a probe, nor is one tracked by a switch, also where the backend has a router of ours
// alone, and no route to the VIP.
func TestHealthUnheard(t *testing.T) {
	p := line(t, 2, "", configured(t, "routers:\n- address: 10.0.0.254/24\n")...)
	client, b1, b2 := p.host("c1", 11, 1, 1), p.host("b1", 1, 1, 2), p.host("b2", 2, 2, 1)
	serve(8080, b1, b2)
	p.start()
	for i, kind := range []string{vip.HealthARP, vip.HealthICMP, vip.HealthTCP} {
		p.service(vip.Spec{Name: kind, Address: fmt.Sprintf("10.9.0.%d", i), Protocol: vip.TCP, Port: "80", Mode: vip.ModeGroup,
			Health: fast(kind)}, 8080, b1, b2)
	}
	heard := client.Frames()
	own := b1.Frames()
	for range 6 { // two intervals of all types
		if _, err := own.Receive(p.ctx, fromProber); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(p.ctx, 500*time.Millisecond)
	defer cancel()
	if frame, err := heard.Receive(ctx, func(f []byte) bool { return fromProber(f) || isProbe(f) }); err == nil {
		t.Errorf("a client hears of a probe: %x", frame)
	}
	for i, s := range p.switches {
		for line := range strings.Lines(s.Appctl("dpctl/dump-conntrack")) {
			if strings.Contains(line, "10.0.0.254") {
				t.Errorf("s%d tracks a probe: %s", i+1, line)
			}
		}
	}
	metrics := p.metrics()
	for _, kind := range []string{vip.HealthARP, vip.HealthICMP, vip.HealthTCP} {
		if !strings.Contains(metrics, fmt.Sprintf("evenflow_health_targets{state=\"up\",type=%q} 2", kind)) {
			t.Errorf("%s: not two up:\n%s", kind, metrics)
		}
	}
}

func fromProber(f []byte) bool { return bytes.Equal(f[6:12], []byte{2, 0xef, 0, 0, 0, 2}) }

// isProbe reports whether a frame is to or from a port that probes use.
func isProbe(f []byte) bool {
	if len(f) < 38 || f[12] != 8 || f[13] != 0 || f[23] != 6 {
		return false
	}
	src, dst := binary.BigEndian.Uint16(f[34:]), binary.BigEndian.Uint16(f[36:])
	return src&0xffc0 == 0x140 || dst&0xffc0 == 0x140
}
