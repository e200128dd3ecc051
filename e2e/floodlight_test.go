package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
)

// The faults of Floodlight's load balancer, our nearest ancestor, as far as they can be seen from outside and no other test
// sees them. (It also loses everything at a restart, replaces one connection's rules by the next one's, and lets them pile up.)

// Floodlight looks a VIP up by its address alone, so that there is one per address; it reads ports as signed 16-bit numbers;
// and it sends what is for the ports of TLS to any VIP whose protocol is TLS.
func TestManyVIPsOnOneAddress(t *testing.T) {
	w := line(t, 2, "")
	client := w.host("c1", 11, 1, 1)
	services := []struct {
		name, network, port string
		target              int
	}{
		{"http", "tcp", "80", 8080}, {"dns", "udp", "80", 5353}, {"high", "tcp", "40000", 50000}, {"highest", "tcp", "65535", 65535},
		{"https", "tcp", "443", 8443}, {"imaps", "tcp", "993", 8993}, {"udp-high", "udp", "50000", 60000},
		{"range", "tcp", "20000-20010", 0},
	}
	for i, s := range services {
		b := w.host(fmt.Sprint("b", i+1), i+1, 1+i%2, 2+i)
		switch {
		case s.target == 0:
			serve(20000, b)
			serve(20010, b)
		default:
			serve(s.target, b)
		}
	}
	w.start()
	for i, s := range services {
		w.declare(vip.Spec{Name: s.name, Address: address, Protocol: vip.Protocol(s.network), Port: vip.PortRange(s.port),
			Backends: []vip.BackendSpec{{Name: fmt.Sprint("b", i+1), Address: fmt.Sprintf("10.0.0.%d", i+1), Port: uint16(s.target)}}})
	}
	for i, s := range services {
		w.awaitState(s.name, fmt.Sprint("b", i+1), vip.StateUp)
		for _, port := range strings.Split(s.port, "-") {
			if who := w.who(w.dial(client, s.network, ":4000", address+":"+port)); who != fmt.Sprint("b", i+1) {
				t.Errorf("%s port %s is served by %s", s.name, port, who)
			}
		}
	}
	for _, closed := range []string{"79", "8080", "7232", "19999", "20011", "444"} { // 7232 is 40000 without its highest bit
		_, err := dial(w.ctx, client, "tcp", "", address+":"+closed)
		w.refused("port "+closed, err)
	}
	if err := w.call(http.MethodPost, "/api/v1/vips", vip.Spec{Name: "again", Address: address, Protocol: vip.TCP, Port: "20005",
		Backends: []vip.BackendSpec{}}, nil); err == nil || !strings.Contains(err.Error(), "409") {
		t.Errorf("a port that is in a range already: %v", err)
	}
}

// Floodlight's rules match a client's address and port, but not whom it calls: all its other traffic from that port goes to
// the backend as well.
func TestOtherTrafficFromThePort(t *testing.T) {
	w := line(t, 2, "")
	client, backend, other := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("h1", 21, 2, 1)
	serve(8080, backend)
	serve(80, other)
	w.start()
	for _, network := range []string{"tcp", "udp"} {
		w.service(vip.Spec{Name: network, Address: address, Protocol: vip.Protocol(network), Port: "80"}, 8080, backend)
		before := w.dial(client, network, ":4000", other.IP()+":80")
		w.who(before)
		through := w.dial(client, network, ":4000", address+":80")
		for range 3 {
			for c, want := range map[*conn]string{before: "h1", through: "b1"} {
				if who := w.who(c); who != want {
					t.Errorf("%s to %s is answered by %s", network, c.RemoteAddr(), who)
				}
			}
		}
	}
}

// Floodlight's round robin never ends, and its weighted choice throws, when there is no backend to choose.
func TestNothingToChoose(t *testing.T) {
	w := line(t, 1, "")
	client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2)
	serve(8080, backend)
	w.start()
	schedulers := []string{vip.RoundRobin, vip.WeightedRoundRobin, vip.LeastConnections, vip.TwoChoices, vip.SourceHash}
	at := func(i int) string { return fmt.Sprint(address, ":", 80+i) }
	for i, s := range schedulers {
		w.service(vip.Spec{Name: s, Address: address, Protocol: vip.TCP, Port: vip.PortRange(fmt.Sprint(80 + i)), Scheduler: s}, 8080, backend)
	}
	serves := func(when string) {
		t.Helper()
		for i := range schedulers {
			if who := w.who(w.dial(client, "tcp", "", at(i))); who != "b1" {
				t.Errorf("%s, %s: served by %s", schedulers[i], when, who)
			}
		}
	}
	refuses := func(when string) {
		t.Helper()
		for i, s := range schedulers {
			_, err := dial(w.ctx, client, "tcp", "", at(i))
			w.refused(s+", "+when, err)
		}
	}
	serves("at first")
	for _, s := range schedulers {
		w.change(http.MethodPatch, s+"/backends/b1", map[string]any{"weight": 0})
		w.awaitState(s, "b1", vip.StateDraining)
	}
	refuses("weight 0")
	for _, s := range schedulers {
		w.change(http.MethodPatch, s+"/backends/b1", map[string]any{"weight": 3})
		w.awaitState(s, "b1", vip.StateUp)
	}
	serves("weight 3")
	w.cables["b1"].Cut()
	for _, s := range schedulers {
		w.awaitState(s, "b1", vip.StateDown)
	}
	refuses("down")
	w.cables["b1"].Restore()
	for _, s := range schedulers {
		w.awaitState(s, "b1", vip.StateUp)
	}
	serves("up again")
}

// Floodlight stores sessions' persistence, connection limits and the times of health checks, and never reads them. What we
// cannot do is refused by name.
func TestNoEmptyPromises(t *testing.T) {
	w := line(t, 1, "")
	w.start()
	for field, value := range map[string]any{
		"gateways":         []string{"0000000000000001"},
		"connection_limit": 5, "session_persistence": true,
	} {
		body := map[string]any{"name": "web", "address": address, "protocol": "tcp", "port": 80, field: value}
		err := w.call(http.MethodPost, "/api/v1/vips", body, nil)
		if err == nil || !strings.Contains(err.Error(), field) && !strings.Contains(err.Error(), fmt.Sprint(value)) {
			t.Errorf("%s is not refused by its name: %v", field, err)
		}
	}
}
