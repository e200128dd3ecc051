package lab

import "fmt"

// Manage lays a management network between a host and each switch, beside the bridge: the switch reaches the host at the
// address returned in the switch's place. It is for controllers that listen on TCP; call it once for a host.
func (l *Lab) Manage(h *Host, switches ...*Switch) (addresses []string) {
	l.t.Helper()
	for _, s := range switches {
		addresses = append(addresses, l.manage(h, s))
	}
	return addresses
}

// ManageHosts is [Lab.Manage] for what runs on other hosts.
func (l *Lab) ManageHosts(h *Host, others ...*Host) (addresses []string) {
	l.t.Helper()
	for _, o := range others {
		addresses = append(addresses, l.manage(h, o))
	}
	return addresses
}

func (l *Lab) manage(h *Host, n Node) string {
	l.t.Helper()
	i := h.managed
	h.managed++
	name := fmt.Sprintf("mgmt%d", i)
	here, there := fmt.Sprintf("172.31.%d.1", i), fmt.Sprintf("172.31.%d.2", i)
	for _, cmd := range []struct {
		ns   namespace
		argv []string
	}{
		{h.ns, []string{"ip", "link", "add", name, "type", "veth", "peer", "name", "mgmt", "netns", string(n.space())}},
		{h.ns, []string{"ip", "address", "add", here + "/24", "dev", name}},
		{n.space(), []string{"ip", "address", "add", there + "/24", "dev", "mgmt"}},
	} {
		if _, err := run(cmd.ns.command(cmd.argv...)); err != nil {
			l.t.Fatalf("lab: management network of %s: %v", n.Name(), err)
		}
	}
	for ns, ifname := range map[namespace]string{h.ns: name, n.space(): "mgmt"} {
		if err := ns.up(ifname); err != nil {
			l.t.Fatalf("lab: management network of %s: %v", n.Name(), err)
		}
	}
	return here
}
