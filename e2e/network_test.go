package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// patience is when something that is awaited is given up: it decides nothing else.
const patience = time.Minute

// network is switches with hosts, under the controller.
type network struct {
	*lab.Lab
	*api
	t        *testing.T
	ctx      context.Context
	family   family
	ctl      *controller
	switches []*lab.Switch
	cables   map[string]*lab.Link // of hosts, by name; between switches "s1-s2"
}

// newNetwork makes n switches s1 to sn, without cables, that speak certain versions of OpenFlow ("" for both). A test whose subtests
// have networks of their own is to be parallel itself: else all others wait for it.
func newNetwork(t *testing.T, n int, version string, flags ...string) *network {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	w := &network{Lab: lab.New(t), t: t, ctx: ctx, family: ipv4, cables: map[string]*lab.Link{}}
	var opts []lab.SwitchOption
	if version != "" {
		opts = append(opts, lab.Protocols(version))
	}
	var sockets []string
	for i := range n {
		s := w.Switch(fmt.Sprintf("s%d", i+1), append(opts, lab.DPID(uint64(i+1)))...)
		w.switches = append(w.switches, s)
		sockets = append(sockets, s.ControllerSocket())
	}
	t.Cleanup(w.noneDropped)
	w.ctl = newController(t, w.Lab, sockets, flags...)
	w.api = newAPI(w.ctl.home)
	return w
}

// noneDropped fails the test if a switch that runs has dropped a packet because it went round too often.
func (w *network) noneDropped() {
	for _, s := range w.switches {
		if !s.Running() {
			continue
		}
		if n := strings.TrimSpace(s.Appctl("coverage/read-counter", "datapath_drop_recirc_error")); n != "0" {
			w.t.Errorf("%s has dropped %s packets that recirculated too often", s.Name(), n)
		}
	}
}

// line is n switches in a line: port 10 of each leads to port 11 of the next.
func line(t *testing.T, n int, version string, flags ...string) *network {
	w := newNetwork(t, n, version, flags...)
	for i := range n - 1 {
		w.join(i+1, 10, i+2, 11)
	}
	return w
}

// join puts a cable between port p of switch a and port q of switch b, which count from 1.
func (w *network) join(a, p, b, q int) {
	w.cables[fmt.Sprintf("s%d-s%d", a, b)] = w.Link(w.sw(a), p, w.sw(b), q)
}

func (w *network) sw(i int) *lab.Switch { return w.switches[i-1] }

// dpid is the API's name of a switch.
func dpid(s *lab.Switch) string { return fmt.Sprintf("%016x", s.DPID()) }

// host makes a host at a switch's port, whose address ends with a number: 10.0.0.LAST.
func (w *network) host(name string, last, sw, port int) *lab.Host {
	h := w.Host(name, fmt.Sprintf(w.family.hosts, last))
	w.cables[name] = w.Link(h, 0, w.sw(sw), port)
	return h
}

// start runs the controller, lets the switches connect, and waits until everything is known.
func (w *network) start() {
	w.t.Helper()
	w.ctl.start()
	w.attach()
}

// attach lets the switches connect.
func (w *network) attach() {
	w.t.Helper()
	for _, s := range w.switches {
		s.SetController("unix:" + s.ControllerSocket())
	}
	w.awaitReady()
}

// awaitReady waits until all switches hold their desired state and every port is known for an edge or a link.
func (w *network) awaitReady() {
	w.t.Helper()
	w.Eventually(patience, func() error {
		all, err := w.api.switches()
		if err != nil {
			return err
		}
		ready := 0
		for _, s := range all {
			if s.Connected && s.Ready {
				ready++
			}
		}
		if ready != len(w.switches) {
			return fmt.Errorf("%d of %d switches are ready", ready, len(w.switches))
		}
		for _, s := range w.switches {
			if err := w.portsKnown(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// awaitSettled waits until so many rules lead to hosts by the way to their switch, which they do a second after a host has come.
func (w *network) awaitSettled(rules int) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		n := 0
		for _, s := range w.switches {
			n += strings.Count(s.Ofctl("dump-flows", "table=60"), "set_field:0x8000")
		}
		if n != rules {
			return fmt.Errorf("%d rules lead to hosts at other switches, not %d", n, rules)
		}
		return nil
	})
}

func (w *network) portsKnown(s *lab.Switch) error {
	ports, err := w.ports(dpid(s))
	if err != nil {
		return err
	}
	for _, p := range ports {
		if p.Live && p.Kind == "unknown" {
			return fmt.Errorf("port %d of %s is unknown", p.PortNo, s.Name())
		}
	}
	return nil
}

// service declares a VIP on backends b1, b2 … that are hosts of the same names and listen on port, and waits until all are up.
func (w *network) service(spec vip.Spec, port uint16, backends ...*lab.Host) {
	w.t.Helper()
	for _, h := range backends {
		spec.Backends = append(spec.Backends, vip.BackendSpec{Name: h.Name(), Address: h.IP(), Port: port})
	}
	w.declare(spec)
	for _, b := range spec.Backends {
		w.awaitState(spec.Name, b.Name, vip.StateUp)
	}
	w.Eventually(patience, func() error { // backends are shown up before every switch knows of it
		r, err := w.vip(spec.Name)
		if err == nil && r.Status.Phase == vip.PhasePending && !slices.ContainsFunc(r.Status.Applied, func(a vip.Applied) bool { return a.Error != "" }) {
			err = fmt.Errorf("%s is %s (%s)", spec.Name, r.Status.Phase, r.Status.Reason)
		}
		return err
	})
	if spec.Mode == vip.ModeDeferred || spec.Mode == vip.ModeOthello {
		w.awaitSteady(spec.Name, len(backends))
	}
}

// declare creates a VIP and waits until every switch has confirmed it.
//
// Without a mode it is nat, which most of these tests are about; those of mode group are in files of their own.
func (w *network) declare(spec vip.Spec) {
	w.t.Helper()
	if spec.Mode == "" {
		spec.Mode = vip.ModeNAT
	}
	if spec.Backends == nil {
		spec.Backends = []vip.BackendSpec{}
	}
	if err := w.call(http.MethodPost, "/api/v1/vips?wait=30s", spec, nil); err != nil {
		w.t.Fatal(err)
	}
}

// change sends a request about a VIP or backend and waits until every switch has confirmed it.
func (w *network) change(method, path string, body any) {
	w.t.Helper()
	if err := w.call(method, "/api/v1/vips/"+path+"?wait=30s", body, nil); err != nil {
		w.t.Fatal(err)
	}
}

// followed waits until what the switches have cached follows their rules, as it does a little after those are confirmed. Who goes by a
// choice that many connections share, or uses a port again, meets what is cached.
func (w *network) followed() {
	w.t.Helper()
	for range 2 { // the round that is under way may have begun before
		for _, s := range w.switches {
			s.Appctl("revalidator/wait")
		}
	}
}

// known waits until the controller has heard of hosts, as it does a little after they have spoken, and every switch has their rules.
func (w *network) known(hosts ...*lab.Host) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		for _, s := range w.switches {
			rules := strings.Join(s.DumpFlows(), "\n")
			for _, h := range hosts {
				if !strings.Contains(rules, "table=60, priority=100,dl_dst="+h.MAC()+" ") {
					return fmt.Errorf("%s has no way to %s", s.Name(), h.Name())
				}
			}
		}
		return nil
	})
}

func (w *network) awaitState(name, backend string, state vip.State) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		b, err := w.status(name, backend)
		if err == nil && b.State != state {
			err = fmt.Errorf("%s is %s (%s), not %s", backend, b.State, b.Reason, state)
		}
		return err
	})
}

// awaitLive waits until a VIP has so many live connections.
func (w *network) awaitLive(name string, n int64) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		got, err := w.live(name)
		if err == nil && got != n {
			err = fmt.Errorf("VIP %s has %d live connections, want %d", name, got, n)
		}
		return err
	})
}
