package lab

import (
	"fmt"
	"os/exec"
)

// Tunnel joins port portA of a and port portB of b by a tunnel of a kind
// ("geneve", "vxlan") over a network of its own: a bridge in each switch's
// daemon, which the userspace datapath sends tunnelled packets through. What
// the tunnel adds must fit into 1500 bytes, so hosts need a smaller MTU.
func (l *Lab) Tunnel(kind string, a *Switch, portA int, b *Switch, portB int) {
	l.t.Helper()
	l.tunnels++
	ends := []struct {
		s, peer *Switch
		port    int
		address string
		remote  string
	}{
		{a, b, portA, fmt.Sprintf("172.31.%d.1", l.tunnels), fmt.Sprintf("172.31.%d.2", l.tunnels)},
		{b, a, portB, fmt.Sprintf("172.31.%d.2", l.tunnels), fmt.Sprintf("172.31.%d.1", l.tunnels)},
	}
	wire := fmt.Sprintf("u%d", l.tunnels)
	_, err := run(exec.Command("ip", "link", "add", wire, "netns", string(a.ns), "type", "veth", "peer", "name", wire, "netns", string(b.ns)))
	if err != nil {
		l.t.Fatalf("lab: underlay of %s and %s: %v", a.name, b.name, err)
	}
	for i, e := range ends {
		bridge := fmt.Sprintf("phy%d", l.tunnels)
		steps := []func() error{
			func() error { return e.s.ns.up(wire) },
			func() error {
				_, err := e.s.vsctl("add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=netdev", "fail_mode=standalone",
					fmt.Sprintf("other_config:hwaddr=02:5f:00:00:%02x:%02x", l.tunnels, i+1), "--", "add-port", bridge, wire)
				return err
			},
			func() error {
				_, err := run(e.s.ns.command("ip", "address", "add", e.address+"/24", "dev", bridge))
				return err
			},
			func() error {
				_, err := run(e.s.ns.command("ip", "link", "set", bridge, "up"))
				return err
			},
			func() error {
				n := e.s.ifname(e.port)
				_, err := e.s.vsctl("add-port", e.s.name, n, "--", "set", "interface", n, "type="+kind, "options:remote_ip="+e.remote,
					fmt.Sprintf("options:key=%d", l.tunnels), fmt.Sprintf("ofport_request=%d", e.port))
				return err
			},
		}
		for _, step := range steps {
			if err := step(); err != nil {
				l.t.Fatalf("lab: %s tunnel from %s to %s: %v", kind, e.s.name, e.peer.name, err)
			}
		}
	}
}
