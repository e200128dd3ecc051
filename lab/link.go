package lab

import "os/exec"

// Link is a cable between two nodes.
type Link struct {
	lab  *Lab
	a, b end
	lost bool
}

type end struct {
	node   Node
	ifname string
}

// Link joins port portA of a and port portB of b by a veth pair. A switch's
// ports are numbered from 1, a host's from 0.
func (l *Lab) Link(a Node, portA int, b Node, portB int) *Link {
	l.t.Helper()
	k := &Link{lab: l, a: end{a, a.ifname(portA)}, b: end{b, b.ifname(portB)}}
	_, err := run(exec.Command("ip", "link", "add", k.a.ifname, "netns", string(a.space()), "type", "veth",
		"peer", "name", k.b.ifname, "netns", string(b.space())))
	if err != nil {
		l.t.Fatalf("lab: link %s to %s: %v", a.Name(), b.Name(), err)
	}
	for _, e := range []struct {
		end
		port int
	}{{k.a, portA}, {k.b, portB}} {
		if err := e.node.space().up(e.ifname); err != nil {
			l.t.Fatalf("lab: %s port %d: %v", e.node.Name(), e.port, err)
		}
		if err := e.node.plugged(e.port); err != nil {
			l.t.Fatalf("lab: %s port %d: %v", e.node.Name(), e.port, err)
		}
	}
	return k
}

// Cut takes the cable away: the host's end goes down (a's, between switches),
// so that the other end loses its carrier. A host keeps its addresses.
func (k *Link) Cut() {
	k.lab.t.Helper()
	k.set("down")
}

// Lose has the cable lose every frame, both ways, while both ends keep their
// carrier.
func (k *Link) Lose() {
	k.lab.t.Helper()
	k.lost = true
	k.queue("replace", "blackhole")
}

// Restore puts the cable back, or ends Lose.
func (k *Link) Restore() {
	k.lab.t.Helper()
	if k.lost {
		k.lost = false
		k.queue("delete")
		return
	}
	k.set("up")
}

// queue changes what queues the frames that leave both ends.
func (k *Link) queue(command string, kind ...string) {
	k.lab.t.Helper()
	for _, e := range []end{k.a, k.b} {
		args := append([]string{"tc", "qdisc", command, "dev", e.ifname, "root"}, kind...)
		if _, err := run(e.node.space().command(args...)); err != nil {
			k.lab.t.Fatalf("lab: %s: %v", e.node.Name(), err)
		}
	}
}

func (k *Link) set(state string) {
	k.lab.t.Helper()
	e := k.a
	if _, host := k.b.node.(*Host); host {
		e = k.b
	}
	if _, err := run(e.node.space().command("ip", "link", "set", e.ifname, state)); err != nil {
		k.lab.t.Fatalf("lab: %s %s: %v", e.node.Name(), state, err)
	}
}
