// Package lab runs real Open vSwitch under tests.
//
// Each emulated switch is an ovsdb-server and an ovs-vswitchd of its own
// (userspace datapath) with a run directory of its own, in a network namespace
// of its own; bridges of one ovs-vswitchd would share one conntrack table, and
// tests about state would pass falsely. Hosts are network namespaces. Links
// are veth pairs with all offloads off, else TCP stalls.
//
//	l := lab.New(t)
//	s1 := l.Switch("s1", lab.DPID(1), lab.Protocols("OpenFlow15"))
//	h1, h2 := l.Host("h1", "10.0.0.1/24"), l.Host("h2", "10.0.0.2/24")
//	l.Link(h1, 0, s1, 1)
//	cable := l.Link(h2, 0, s1, 2)
//	s1.SetController("unix:" + s1.ControllerSocket()) // where the test's controller listens
//	out, err := h1.Run(ctx, "ping", "-c1", h2.IP())
//	cable.Cut()
//
// Open vSwitch dials unix: controllers in its own run directory only; Unix
// sockets cross network namespaces, so a controller in the test's process
// listens at ControllerSocket. A TCP controller would have to be inside the
// switch's namespace.
//
// Everything is removed when the test ends. What a killed test process left
// behind is removed by the next New, in any process. It needs root, and the
// programs that scripts/install-deps installs; without them New fails the test.
package lab
