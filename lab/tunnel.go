package lab

import (
	"fmt"
	"strings"
)

// tunnelEnd is a switch's end of a tunnel: a port of the bridge, and below it an address on a bridge of its own with the
// cable to the other end. The userspace datapath sends what it wraps by a bridge of its own kind, and finds that by the address.
type tunnelEnd struct {
	bridge  string
	address string // with its length
}

// Tunnel joins port portA of a and port portB of b by a tunnel of a type of Open vSwitch's ("geneve", "vxlan"), over a cable
// that is theirs alone and carries IPv4 packets of up to mtu bytes. The link returned is that cable: the ports of the tunnel
// stay up when it is cut.
func (l *Lab) Tunnel(kind string, a *Switch, portA int, b *Switch, portB, mtu int) *Link {
	l.t.Helper()
	ends := [2]tunnelEnd{}
	ports, switches := [2]int{portA, portB}, [2]*Switch{a, b}
	l.tunnels++
	for i, s := range switches {
		ends[i] = tunnelEnd{fmt.Sprintf("phy%d", ports[i]), fmt.Sprintf("172.30.%d.%d/24", l.tunnels, i+1)}
		s.Vsctl("add-br", ends[i].bridge, "--", "set", "bridge", ends[i].bridge, "datapath_type=netdev", "fail_mode=standalone",
			fmt.Sprintf("other_config:hwaddr=02:5f:00:00:%02x:%02x", l.tunnels, i+1))
	}
	k := l.Link(underlay{a, ends[0].bridge}, 0, underlay{b, ends[1].bridge}, 0)
	for i, s := range switches {
		cable := ends[i].bridge + "c"
		if _, err := run(s.ns.command("ip", "link", "set", cable, "mtu", fmt.Sprint(mtu))); err != nil {
			l.t.Fatalf("lab: switch %s: %v", s.name, err)
		}
		s.tunnels = append(s.tunnels, ends[i])
		if err := s.addressTunnels(); err != nil {
			l.t.Fatalf("lab: switch %s: %v", s.name, err)
		}
		remote, _, _ := strings.Cut(ends[1-i].address, "/")
		if err := s.plug(ports[i], "type="+kind, "options:remote_ip="+remote, "options:key=7"); err != nil {
			l.t.Fatalf("lab: switch %s: %v", s.name, err)
		}
	}
	return k
}

// addressTunnels gives the bridges below tunnels their addresses, which end with ovs-vswitchd.
func (s *Switch) addressTunnels() error {
	for _, e := range s.tunnels {
		for _, argv := range [][]string{
			{"ip", "address", "replace", e.address, "dev", e.bridge},
			{"ip", "link", "set", e.bridge, "up"},
		} {
			if _, err := run(s.ns.command(argv...)); err != nil {
				return err
			}
		}
	}
	return nil
}

// underlay is a switch as the node at an end of a tunnel's cable.
type underlay struct {
	*Switch
	bridge string
}

func (u underlay) ifname(int) string { return u.bridge + "c" }

func (u underlay) plugged(int) error {
	_, err := u.vsctl("add-port", u.bridge, u.ifname(0))
	return err
}
