package lab

import "fmt"

// Tunnel joins port portA of a and port portB of b by a tunnel of a type of Open vSwitch's ("geneve", "vxlan"), over a cable
// that is theirs alone and carries IPv4 packets of up to mtu bytes. The link returned is that cable: the ports of the tunnel
// stay up when it is cut. A port has one tunnel in the life of a switch.
//
// Each end's address is on a bridge of its own, called "phy" and the port, which has the cable: the userspace datapath sends
// what it has wrapped by a bridge of the same kind, and finds that by the address. Addresses outlive ovs-vswitchd.
func (l *Lab) Tunnel(kind string, a *Switch, portA int, b *Switch, portB, mtu int) *Link {
	l.t.Helper()
	l.tunnels++
	ends := [2]underlay{{a, portA}, {b, portB}}
	address := func(end int) string { return fmt.Sprintf("172.30.%d.%d", l.tunnels, end+1) }
	for i, e := range ends {
		e.Vsctl("add-br", e.bridge(), "--", "set", "bridge", e.bridge(), "datapath_type=netdev", "fail_mode=standalone",
			fmt.Sprintf("other_config:hwaddr=02:5f:00:00:%02x:%02x", l.tunnels, i+1))
	}
	cable := l.Link(ends[0], 0, ends[1], 0)
	for i, e := range ends {
		for _, argv := range [][]string{
			{"ip", "link", "set", e.ifname(0), "mtu", fmt.Sprint(mtu)},
			{"ip", "address", "add", address(i) + "/24", "dev", e.bridge()},
			{"ip", "link", "set", e.bridge(), "up"},
		} {
			if _, err := run(e.ns.command(argv...)); err != nil {
				l.t.Fatalf("lab: tunnel at %s: %v", e.name, err)
			}
		}
		if err := e.plug(e.port, "type="+kind, "options:remote_ip="+address(1-i), "options:key=7"); err != nil {
			l.t.Fatalf("lab: tunnel at %s: %v", e.name, err)
		}
	}
	return cable
}

// underlay is a switch as the node at the end of a tunnel's cable; the port is the tunnel's.
type underlay struct {
	*Switch
	port int
}

func (u underlay) bridge() string { return fmt.Sprintf("phy%d", u.port) }

func (u underlay) ifname(int) string { return u.bridge() + "c" }

func (u underlay) plugged(int) error {
	_, err := u.vsctl("add-port", u.bridge(), u.ifname(0))
	return err
}
