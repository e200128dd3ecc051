package base_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/lab"
)

const vipIPv6 = "fd00::100"

func newNetworkIPv6(t *testing.T) *network {
	n := newNetworkIn(t, "fd00::%d/64", vipIPv6)
	for _, h := range []*lab.Host{n.h1, n.h2, n.h3, n.hx} {
		if err := n.run(h, "sysctl", "-qw", "net.ipv6.conf.eth0.accept_dad=1", "net.ipv6.conf.eth0.dad_transmits=1"); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func TestNothingKnownIPv6(t *testing.T) {
	n := newNetworkIPv6(t)
	n.install(false, true)
	m := n.monitor()
	n.pings()
	m.wants(`table_id=3 .*in_port=1 .*\n.*icmp6.*dl_src=` + n.h1.MAC() + `.*icmp_type=135`)
	m.wants(`table_id=3 .*in_port=2 .*\n.*icmp6.*dl_src=` + n.h2.MAC() + `.*ipv6_dst=fd00::100.*icmp_type=128`) // the ping, not its answer
	if n.ping(n.hx, n.h1.IP()) == nil {
		t.Error("a port that is not known yet forwards")
	}
}

// neighbour is the state of a neighbour of a host, such as "REACHABLE".
func (n *network) neighbour(h *lab.Host, a string) string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := h.Run(ctx, "ip", "neighbour", "show", a)
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

func TestHostsKnownIPv6(t *testing.T) {
	n := newNetworkIPv6(t)
	n.install(true, true)
	m := n.monitor()
	n.pings()

	// The switch answers for a host that is deaf to solicitations, and for the VIP, such that the asker believes it at once.
	if err := n.run(n.h3, "ip", "link", "set", "eth0", "down"); err != nil {
		t.Fatal(err)
	}
	for a, mac := range map[string]string{n.h3.IP(): n.h3.MAC(), vipIPv6: "02:ef:00:00:00:01"} {
		if err := n.run(n.h1, "ip", "neighbour", "flush", "all"); err != nil {
			t.Fatal(err)
		}
		_ = n.ping(n.h1, a)
		if want := "dev eth0 lladdr " + mac + " REACHABLE"; !contains(n.neighbour(n.h1, a), want) {
			t.Errorf("%s: neighbour %q, want %q", a, n.neighbour(n.h1, a), want)
		}
	}
	if state := n.neighbour(n.h1, vipIPv6); contains(state, "router") {
		t.Errorf("a VIP is a router: %s", state)
	}

	// A host takes an address of its own, and may not have the VIP's.
	added := func(a string) string {
		t.Helper()
		if err := n.run(n.h2, "ip", "address", "add", a+"/64", "dev", "eth0"); err != nil {
			t.Fatal(err)
		}
		var state string
		n.lab.Eventually(20*time.Second, func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			var err error
			if state, err = n.h2.Run(ctx, "ip", "-6", "address", "show", "dev", "eth0", "to", a); err == nil && contains(state, "tentative") &&
				!contains(state, "dadfailed") {
				err = errors.New(state)
			}
			return err
		})
		return state
	}
	if s := added(vipIPv6); !contains(s, "dadfailed") {
		t.Errorf("the VIP's address is free: %s", s)
	}
	if s := added("fd00::22"); contains(s, "dadfailed") {
		t.Errorf("a free address is not: %s", s)
	}
	m.wants(`in_port=2 .*\n.*icmp6.*ipv6_src=::,.*icmp_type=135.*nd_target=fd00::22`)
	if s := added(n.h1.IP()); !contains(s, "dadfailed") {
		t.Errorf("another's address is free: %s", s)
	}

	// A closed port of the VIP.
	if err := n.run(n.h1, "bash", "-c", "echo x >/dev/udp/"+vipIPv6+"/9"); err != nil {
		t.Fatal(err)
	}
	m.wants(`cookie=0xef01030000000000 .*in_port=1 .*\n.*udp6.*ipv6_dst=fd00::100.*tp_dst=9`)

	// A claim is heard by the controller alone.
	if err := n.h1.Frames().Send(advertisement(t, n.h1, vipIPv6)); err != nil {
		t.Fatal(err)
	}
	m.wants(`table_id=10 .*in_port=1 .*\n.*icmp6.*icmp_type=136.*nd_target=fd00::100`)
}

// A solicitation without the sender's own address is none that a switch can answer.
func TestOddSolicitation(t *testing.T) {
	n := newNetworkIPv6(t)
	n.install(true, true)
	m := n.monitor()
	mac := hardware(t, n.h1)
	f := n.h1.Frames()
	eth := &layers.Ethernet{SrcMAC: mac, DstMAC: []byte{2, 0xef, 0, 0, 0, 1}, EthernetType: layers.EthernetTypeIPv6}
	ip := &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: address(n.h1.IP()), DstIP: address(vipIPv6)}
	n.lab.Eventually(20*time.Second, func() error { // until the monitor listens
		if err := f.Send(icmpv6(t, eth, ip, 135, &layers.ICMPv6NeighborSolicitation{TargetAddress: address(vipIPv6)})); err != nil {
			return err
		}
		if !m.has(`table_id=10 .*in_port=1 .*\n.*icmp6.*icmp_type=135.*nd_target=fd00::100`) {
			return errors.New("not heard")
		}
		return nil
	})
}

// What routers and groups need is flooded: solicitations and advertisements of routers, membership reports.
func TestIPv6GroupsAreFlooded(t *testing.T) {
	n := newNetworkIPv6(t)
	n.install(true, true)
	mac := hardware(t, n.h1)
	for _, c := range []struct {
		kind byte
		dst  string
		body gopacket.SerializableLayer
	}{
		{133, "ff02::2", &layers.ICMPv6RouterSolicitation{}},
		{134, "ff02::1", &layers.ICMPv6RouterAdvertisement{HopLimit: 64, RouterLifetime: 1800}},
		{143, "ff02::16", gopacket.Payload(make([]byte, 4))},
	} {
		to := address(c.dst)
		eth := &layers.Ethernet{SrcMAC: mac, DstMAC: []byte{0x33, 0x33, to[12], to[13], to[14], to[15]}, EthernetType: layers.EthernetTypeIPv6}
		ip := &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: address("fe80::1"), DstIP: to}
		frame := icmpv6(t, eth, ip, c.kind, c.body)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		near, far := n.h2.Frames(), n.h3.Frames()
		sender := n.h1.Frames()
		for _, f := range []*lab.Frames{near, far} {
			for err := context.DeadlineExceeded; err != nil; { // a busy switch loses some
				if err := sender.Send(frame); err != nil {
					t.Fatal(err)
				}
				try, done := context.WithTimeout(ctx, time.Second)
				_, err = f.Receive(try, func(b []byte) bool { return string(b) == string(frame) })
				done()
				if ctx.Err() != nil {
					t.Errorf("type %d: %v", c.kind, err)
					break
				}
			}
		}
		cancel()
	}
}
