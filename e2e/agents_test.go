package e2e

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/agent"
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// track has a host's kernel track connections, as docs/agent.md says.
func track(t *testing.T, w *network, hosts ...*lab.Host) {
	t.Helper()
	for _, h := range hosts {
		for _, rule := range []string{"add table inet evenflow", "add chain inet evenflow track { type filter hook input priority 0; }",
			"add rule inet evenflow track ct state new"} {
			if _, err := h.Run(w.ctx, "nft", rule); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// agents are the program as it runs on hosts of backends, each with a token of its own, over TLS.
type agents struct {
	*network
	authority *lab.Authority
	dir       string
	running   map[string]*lab.Process // by host
	servers   map[string]string       // the controller's URL as hosts reach it
}

const adminToken = "the-token-of-the-api"

// withAgents are flags for a controller that is reached by HTTPS, by up to eight hosts.
func withAgents(t *testing.T) (a *agents, flags []string) {
	a = &agents{authority: lab.NewAuthority(t, "api"), dir: t.TempDir(), running: map[string]*lab.Process{}, servers: map[string]string{}}
	var at []string
	for i := range 8 {
		at = append(at, fmt.Sprintf("172.31.%d.1", i))
	}
	cert, key := a.authority.Issue("controller", at...)
	return a, []string{"--http", "0.0.0.0:8080", "--http-tls-cert", cert, "--http-tls-key", key, "--token-file", a.file(t, "admin", adminToken)}
}

func (a *agents) file(t *testing.T, name, text string) string {
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// join has a network use the API as it is now.
func (a *agents) join(w *network) {
	a.network = w
	w.base, w.token = "https://"+apiAddress, adminToken
	w.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: a.authority.Pool()}
}

// run starts the agents of some hosts, with the tokens that the program prints.
func (a *agents) run(hosts ...*lab.Host) {
	a.t.Helper()
	for _, h := range hosts {
		if a.servers[h.Name()] == "" {
			a.servers[h.Name()] = "https://" + a.ManageHosts(a.ctl.home, h)[0] + ":8080"
			token, err := a.ctl.home.Run(a.ctx, program, "agent", "token", h.IP(), "--server", "https://"+apiAddress, "--ca-file", a.authority.CA,
				"--token-file", filepath.Join(a.dir, "admin"))
			if err != nil {
				a.t.Fatal(err)
			}
			a.file(a.t, h.Name(), strings.TrimSpace(token))
		}
		a.running[h.Name()] = a.start1(h, filepath.Join(a.dir, h.Name()))
	}
}

func (a *agents) start1(h *lab.Host, token string) *lab.Process {
	return h.Start(program, "agent", "--host", h.IP(), "--server", a.servers[h.Name()], "--ca-file", a.authority.CA, "--token-file", token, "--interval", "1s")
}

// show is what is known of the agent of a host.
func (a *agents) show(h *lab.Host) (apps.AgentStatus, error) {
	all, err := list[apps.AgentStatus](a.api, "/agents")
	if err != nil {
		return apps.AgentStatus{}, err
	}
	i := slices.IndexFunc(all, func(s apps.AgentStatus) bool { return s.Host.String() == h.IP() })
	if i < 0 {
		return apps.AgentStatus{}, fmt.Errorf("no agent of %s in %+v", h.Name(), all)
	}
	return all[i], nil
}

// claims tells of flows of datagrams that several hosts' kernels know, and of what switches know of them.
func (a *agents) claims(hosts ...*lab.Host) {
	by := map[netip.AddrPort][]string{}
	for _, h := range hosts {
		if err := h.Do(func() error {
			states, err := agent.UDP(netip.MustParseAddr(h.IP()))
			for _, s := range states {
				by[s.Client] = append(by[s.Client], fmt.Sprintf("%s at %s", h.Name(), s.Local))
			}
			return err
		}); err != nil {
			a.t.Log(err)
		}
	}
	known := ""
	for _, s := range a.switches {
		for line := range strings.Lines(s.Appctl("dpctl/dump-conntrack")) {
			known += s.Name() + " " + line
		}
	}
	for client, at := range by {
		if len(at) < 2 {
			continue
		}
		a.t.Logf("%s: %s", client, at)
		for line := range strings.Lines(known) {
			if strings.Contains(line, fmt.Sprintf("sport=%d,", client.Port())) {
				a.t.Log(strings.TrimSpace(line))
			}
		}
	}
}

// alone waits until one generation of some VIPs is left.
func (a *agents) alone(when string, vips ...string) {
	a.t.Helper()
	a.Eventually(patience, func() error {
		for _, name := range vips {
			x, err := a.vip(name)
			if err != nil {
				return err
			}
			if h := x.Status.HandOver; h.Generations != 1 || h.Step != vip.StepSteady {
				return fmt.Errorf("%s, %s: %+v", when, name, h)
			}
		}
		return nil
	})
}

// Agents on the backends' hosts tell of TCP and UDP, and let older generations go in the midst of traffic; agents and the controller are
// killed while changes are under way, and no connection breaks. Without one of the agents nothing is let go.
func TestOthelloAgents(t *testing.T) {
	a, flags := withAgents(t)
	w := line(t, 3, "OpenFlow15", flags...)
	a.join(w)
	p := handOverIn(w, 17, inOthello)
	track(t, w, p.backends...)
	a.run(p.backends...)
	p.begin(40, 12, 12)
	defer func() {
		if t.Failed() {
			p.end() // says which have moved
			a.claims(p.backends...)
		}
	}()
	all := []string{"tcp", "udp", "oneway"}
	draw := func() { // a change that is not waited for
		for _, s := range handOverServices {
			if err := p.call(http.MethodPatch, "/api/v1/vips/"+s.name, map[string]any{"backends": p.draw(s.port)}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	pins := map[string]int{}
	note := func() {
		for _, name := range all {
			if r, err := p.vip(name); err == nil {
				pins[name] = max(pins[name], r.Status.HandOver.Pins)
			}
		}
	}
	p.change("")
	a.alone("after a change", all...)
	note()

	draw()
	for _, h := range p.backends[:2] {
		a.running[h.Name()].Kill()
	}
	a.run(p.backends[0])
	p.change("")
	p.Eventually(patience, func() error { // both that are left have been asked, and one that is not there is missed
		for _, h := range p.backends[2:] {
			if s, err := a.show(h); err != nil || !s.Connected {
				return fmt.Errorf("%+v, %v", s, err)
			}
		}
		if s, err := a.show(p.backends[1]); err != nil || s.Connected {
			return fmt.Errorf("%+v, %v", s, err)
		}
		return nil
	})
	a.run(p.backends[1])
	a.alone("the agents are back", all...)
	note()

	draw()
	p.ctl.kill()
	p.ctl.start()
	p.awaitReady()
	draw()
	a.running[p.backends[3].Name()].Kill()
	p.ctl.kill()
	a.run(p.backends[3])
	p.ctl.start()
	p.awaitReady()
	a.alone("all were killed", all...)
	note()
	for _, name := range all {
		if pins[name] == 0 {
			t.Errorf("%s: never a pin", name)
		}
	}
	t.Logf("up to %v pins", pins)
	if broken, moved := p.end(); broken != 0 || moved != 0 {
		t.Errorf("%d connections are broken, %d moved", broken, moved)
	}
}

// Flows of datagrams that hosts tell of which do not have them, since their clients send to those hosts too: switches say whose they are.
func TestOthelloClaimedTwice(t *testing.T) {
	a, flags := withAgents(t)
	w := line(t, 3, "OpenFlow15", flags...)
	a.join(w)
	p := handOverIn(w, 31, inOthello)
	track(t, w, p.backends...)
	a.run(p.backends...)
	to := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(w.family.web(81)))
	var mu sync.Mutex
	by := map[int]map[string]bool{} // who has answered for the VIP, by client's port
	for port := 40001; port <= 40012; port++ {
		names := map[string]bool{}
		by[port] = names
		c := p.client.ListenPacket("udp", at(p.client.IP(), port))
		go func() {
			buf := make([]byte, 64)
			for {
				n, from, err := c.ReadFrom(buf)
				if err != nil {
					return
				}
				if from.String() == to.String() {
					mu.Lock()
					names[strings.Fields(string(buf[:n]))[0]] = true
					mu.Unlock()
				}
			}
		}()
		send := func(to net.Addr) { _, _ = c.WriteTo([]byte("who\n"), to) }
		var sent time.Time
		p.Eventually(patience, func() error {
			if time.Since(sent) > 2*time.Second { // it may be lost
				send(to)
				sent = time.Now()
			}
			mu.Lock()
			defer mu.Unlock()
			if len(names) == 0 {
				return fmt.Errorf("nobody answers %d", port)
			}
			return nil
		})
		go func() {
			wait := time.NewTicker(100 * time.Millisecond)
			defer wait.Stop()
			for i := 0; w.ctx.Err() == nil; i++ {
				send(to)
				send(net.UDPAddrFromAddrPort(netip.MustParseAddrPort(at(p.backends[i%len(p.backends)].IP(), 8080))))
				<-wait.C
			}
		}()
	}
	p.Eventually(patience, func() error {
		for _, h := range p.backends {
			if s, err := a.show(h); err != nil || s.UDP == nil || *s.UDP != len(by) {
				return fmt.Errorf("%s: %+v, %v", h.Name(), s, err)
			}
		}
		return nil
	})
	if err := p.call(http.MethodPatch, "/api/v1/vips/udp?wait=60s", map[string]any{"backends": p.draw(8080)}, nil); err != nil {
		t.Fatal(err)
	}
	a.alone("a change", "udp")
	mu.Lock()
	defer mu.Unlock()
	for port, names := range by {
		if len(names) != 1 {
			t.Errorf("%d is answered by %v", port, names)
		}
	}
}

// Whoever has another's token, or none, is refused, and the others do not notice; a host whose kernel tracks nothing tells nothing of UDP.
func TestAgentsRefused(t *testing.T) {
	a, flags := withAgents(t)
	w := line(t, 1, "OpenFlow15", flags...)
	a.join(w)
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 1, 3)
	serve(8080, b1, b2)
	w.start()
	w.service(vip.Spec{Name: "tcp", Address: address, Protocol: vip.TCP, Port: "80", Mode: vip.ModeGroup}, 8080, b1, b2)
	w.service(vip.Spec{Name: "udp", Address: address, Protocol: vip.UDP, Port: "81", Mode: vip.ModeGroup}, 8080, b1, b2)
	a.run(b1, b2)
	track(t, w, b1)
	a.running["b2"].Kill()
	a.running["b2"] = a.start1(b2, filepath.Join(a.dir, "b1"))
	for _, c := range []string{"tcp", "udp"} {
		for range 8 {
			w.who(w.dial(client, c, "", address+map[string]string{"tcp": ":80", "udp": ":81"}[c]))
		}
	}
	w.Eventually(patience, func() error {
		if out := a.running["b2"].Output(); !strings.Contains(out, "and the token") {
			return errors.New("b2 is not told: " + out)
		}
		for _, name := range []string{"tcp", "udp"} {
			r, err := w.vip(name)
			if err != nil {
				return err
			}
			of := r.Status.Backends
			if of[0].Connections == nil || *of[0].Connections == 0 || of[1].Connections != nil && *of[1].Connections > 0 {
				return fmt.Errorf("%s: %+v", name, of)
			}
		}
		return nil
	})
	a.running["b2"].Kill()
	a.run(b2)
	w.Eventually(patience, func() error {
		s, err := a.show(b2)
		if err == nil && (!s.Connected || s.TCP == 0 || s.UDP != nil) {
			err = fmt.Errorf("%+v", s)
		}
		return err
	})
	log := logrus.New()
	log.SetOutput(t.Output())
	read := func(h *lab.Host) (r agent.Reading) {
		t.Helper()
		k := &agent.Kernel{Host: netip.MustParseAddr(h.IP()), Log: log}
		if err := h.Do(func() (err error) {
			r, err = k.Read(func(_ string, port uint16) bool { return port == 8080 })
			return errors.Join(err, k.Close())
		}); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := read(b1); !slices.Equal(r.Complete, []string{"tcp", "udp"}) || !slices.ContainsFunc(r.States, func(s agent.State) bool { return s.Protocol == "udp" }) {
		t.Errorf("b1 has %+v", r)
	}
	if r := read(b2); !slices.Equal(r.Complete, []string{"tcp"}) || slices.ContainsFunc(r.States, func(s agent.State) bool { return s.Protocol == "udp" }) {
		t.Errorf("b2 has %+v", r)
	}
}
