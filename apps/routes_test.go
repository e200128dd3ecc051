package apps

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/topo"
)

// routesOf reads lines such as "10.8.0.0/16 10.0.0.1".
func routesOf(text string) (out []Route) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		out = append(out, Route{netip.MustParsePrefix(f[0]), netip.MustParseAddr(f[1])})
	}
	return out
}

func TestRoutes(t *testing.T) {
	for name, c := range map[string]struct {
		routes, attached string
		want             string
	}{
		"none": {},
		"both families, in order": {"fd08::/48 fd00::1\n10.9.0.0/16 10.0.0.2\n10.8.0.0/16 10.0.0.1", "10.0.0.0/24",
			"10.8.0.0/16 10.0.0.1\n10.9.0.0/16 10.0.0.2\nfd08::/48 fd00::1"},
		"the longest prefix wins": {"10.8.0.0/16 10.0.0.1\n10.8.64.0/18 10.0.0.2", "", `10.8.0.0/18 10.0.0.1
10.8.64.0/18 10.0.0.2
10.8.128.0/17 10.0.0.1`},
		"a host of a network of a network": {"10.8.0.0/29 10.0.0.1\n10.8.0.4/30 10.0.0.2\n10.8.0.7/32 10.0.0.3", "", `10.8.0.0/30 10.0.0.1
10.8.0.4/31 10.0.0.2
10.8.0.6/32 10.0.0.2
10.8.0.7/32 10.0.0.3`},
		"but for what is attached": {"0.0.0.0/0 64.0.0.1", "64.0.0.0/2 fd00::/64", "0.0.0.0/2 64.0.0.1\n128.0.0.0/1 64.0.0.1"},
		"all of a network, by longer ones": {"fd08::/63 fd00::1\nfd08::/64 fd00::2\nfd08:0:0:1::/64 fd00::3", "",
			"fd08::/64 fd00::2\nfd08:0:0:1::/64 fd00::3"},
		"more than a network that is attached": {"10.0.8.0/24 10.0.0.1", "10.0.0.0/16", "10.0.8.0/24 10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			var attached []netip.Prefix
			for _, p := range strings.Fields(c.attached) {
				attached = append(attached, netip.MustParsePrefix(p))
			}
			var lines []string
			for _, r := range NewRoutes(routesOf(c.routes), attached...) {
				lines = append(lines, fmt.Sprint(r.Network, " ", r.Via))
			}
			if diff := cmp.Diff(c.want, strings.Join(lines, "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestRoutesVia(t *testing.T) {
	r := NewRoutes(routesOf("10.8.0.0/16 10.0.0.1\n10.8.64.0/18 10.0.0.2\nfd08::/48 fd00::1"))
	for a, want := range map[string]string{"10.7.255.255": "", "10.8.0.0": "10.0.0.1", "10.8.63.255": "10.0.0.1", "10.8.64.0": "10.0.0.2",
		"10.8.127.255": "10.0.0.2", "10.8.200.1": "10.0.0.1", "10.9.0.0": "", "0.0.0.0": "", "255.255.255.255": "", "::": "",
		"fd08::": "fd00::1", "fd08:0:1::": "", "::ffff:10.8.0.1": ""} {
		via, behind := r.Via(netip.MustParseAddr(a))
		if behind != (want != "") || behind && via.String() != want {
			t.Errorf("%s is behind %v, %t, not %q", a, via, behind, want)
		}
		if hop := r.NextHop(netip.MustParseAddr(a)).String(); hop != want && (behind || hop != a) {
			t.Errorf("%s is reached by %s", a, hop)
		}
	}
}

// A backend behind a gateway has its host: where that is unknown or silent, so is the backend. Who claims its address is not believed.
func TestResolveBackendsBehindGateway(t *testing.T) {
	x, err := vip.Create(1, vip.Spec{Name: "web", Address: "10.0.0.100", Protocol: vip.TCP, Port: "80", Backends: []vip.BackendSpec{
		{Name: "near", Address: "10.0.0.2"}, {Name: "far", Address: "10.8.0.5"}, {Name: "lost", Address: "10.9.0.5"}}}, vip.OriginAPI)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(1000, 0)
	routes := NewRoutes(routesOf("10.8.0.0/16 10.0.0.1\n10.9.0.0/16 10.0.0.9"))
	n := network(start)
	n.Sighting(start, topo.Sighting{At: topo.PortID{DPID: 1, No: 3}, MAC: [6]byte{2, 0, 0, 0, 0, 3}, Addr: netip.MustParseAddr("10.8.0.5")})
	show := func() string {
		var lines []string
		for _, b := range ResolveBackends(x, n.Snapshot(), routes, start) {
			at := "nowhere"
			if b.Host != nil {
				at = fmt.Sprint("port ", b.Host.At.No)
			}
			lines = append(lines, fmt.Sprintf("%s %s via %s: %s %s", b.Name, at, b.Via, b.State, b.Reason))
		}
		return strings.Join(lines, "\n")
	}
	if diff := cmp.Diff(`near port 2 via invalid IP: up 
far port 1 via 10.0.0.1: up 
lost nowhere via 10.0.0.9: unknown gateway 10.0.0.9 of 10.9.0.5 has not been heard yet`, show()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for at := start; at.Before(start.Add(5 * time.Minute)); at = at.Add(time.Second) {
		hear(n, at, 2)
		n.Tick(at)
	}
	if diff := cmp.Diff(`near port 2 via invalid IP: up 
far port 1 via 10.0.0.1: down gateway 10.0.0.1 of 10.8.0.5 does not answer at port 1 of switch 0000000000000001
lost nowhere via 10.0.0.9: unknown gateway 10.0.0.9 of 10.9.0.5 has not been heard yet`, show()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
