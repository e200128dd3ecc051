package vip

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"
)

// Limits of a [Spec].
const (
	MaxBackends = 4096
	MaxWeight   = 255
	MinIdle     = 5 * time.Second
	MaxIdle     = 65535 * time.Second // OpenFlow's timeouts have 16 bits
	MinDrain    = time.Second
	MaxCapacity = 1e7 // Mbit/s
	MinAffinity = time.Second
	MaxAffinity = 24 * time.Hour
	MinHandOver = time.Second

	MaxHandOverRate = 10_000_000

	// MaxBuckets is how much the backends of a VIP of mode group or deferred may weigh in all: each unit is a bucket of 48 bytes, 56 in
	// OpenFlow 1.3, and a group's description must fit in one message of 65,535.
	MaxBuckets = 1100
)

var nameRule = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

const nameMessage = "want 1 to 63 of a-z, 0-9, '.', '_' and '-', the first a letter or digit"

// ValidName reports whether a VIP, a backend or a set of ports may have a name.
func ValidName(s string) bool { return nameRule.MatchString(s) }

// Validate checks a normalised Spec. Its error is [FieldErrors] with all that is wrong.
func Validate(s Spec) error {
	var e FieldErrors
	if !nameRule.MatchString(s.Name) {
		e.add("name", s.Name, nameMessage)
	}
	address := e.address("address", s.Address, netip.Addr{})
	if s.Protocol != TCP && s.Protocol != UDP {
		e.add("protocol", s.Protocol, "want one of tcp, udp")
	}
	ports, err := s.Port.Parse()
	if err != nil {
		e.add("port", string(s.Port), "want 1 to 65535, or a range such as \"8000-8010\"")
	}
	switch s.Mode {
	case ModeNAT:
		e.nat(s)
	case ModeGroup:
		e.group(s)
	case ModeDeferred, ModeOthello:
		e.deferred(s, ports)
	default:
		e.add("mode", s.Mode, "want one of nat, group, deferred, othello")
	}
	e.health(s)
	if time.Duration(s.DrainTimeout) < MinDrain {
		e.add("drain_timeout", s.DrainTimeout, "want at least 1s")
	}
	if s.Reject != RejectAnswer && s.Reject != RejectDrop {
		e.add("reject", s.Reject, "want one of answer, drop")
	}
	e.onImbalance(s)
	e.capacities(s.Backends)
	e.backends(s.Backends, address, ports)
	if len(e) > 0 {
		return e
	}
	return nil
}

// nat checks the fields that the mode decides on.
func (e *FieldErrors) nat(s Spec) {
	if !knownScheduler(s.Scheduler) {
		e.add("scheduler", s.Scheduler, "want one of %s", strings.Join(Schedulers(), ", "))
	}
	idle := time.Duration(s.IdleTimeout)
	if idle < MinIdle || idle > MaxIdle || idle%time.Second != 0 {
		e.add("idle_timeout", s.IdleTimeout, "want whole seconds from 5s to 65535s")
	}
	if len(s.Gateways) > 0 {
		e.add("gateways", s.Gateways, "means nothing in mode nat, which chooses at the client's edge switch; leave it out")
	}
	e.affinity(s)
	e.handOver(s)
}

// affinity checks the time that clients are bound for.
func (e *FieldErrors) affinity(s Spec) {
	if s.Affinity == nil {
		return
	}
	if t := time.Duration(s.Affinity.Timeout); t < MinAffinity || t > MaxAffinity || t%time.Second != 0 {
		e.add("affinity.timeout", s.Affinity.Timeout, "want whole seconds from 1s to 24h, or 0s for none")
	}
}

// group checks them for mode group.
func (e *FieldErrors) group(s Spec) {
	if s.Scheduler != "" {
		e.add("scheduler", s.Scheduler, "means nothing in mode group, where the switch chooses by weight; leave it out, or take mode nat")
	}
	if s.IdleTimeout != 0 {
		e.add("idle_timeout", s.IdleTimeout, "means nothing in mode group, whose connections conntrack keeps; leave it out, or take mode nat")
	}
	if len(s.Gateways) > 0 {
		e.add("gateways", s.Gateways, "means nothing in mode group, which chooses at the client's edge switch; leave it out")
	}
	e.affinity(s)
	e.handOver(s)
	e.weight(s)
}

// weight checks how many buckets the backends make.
func (e *FieldErrors) weight(s Spec) {
	weight := 0
	for _, b := range s.Backends {
		if b.Weight != nil {
			weight += max(*b.Weight, 0)
		}
	}
	if weight > MaxBuckets {
		e.add("backends", weight, "is their weight in all; in mode %s want at most %d", s.Mode, MaxBuckets)
	}
}

func (e *FieldErrors) backends(list []BackendSpec, vipAddress netip.Addr, vipPorts Ports) {
	if len(list) > MaxBackends {
		e.add("backends", len(list), "at most %d", MaxBackends)
		return
	}
	type endpoint struct {
		address netip.Addr
		port    uint16
	}
	names := make(map[string]int, len(list))
	endpoints := make(map[endpoint]int, len(list))
	byAddress := make(map[netip.Addr][]int, len(list))
	for i, b := range list {
		at := fmt.Sprintf("backends[%d].", i)
		if !nameRule.MatchString(b.Name) {
			e.add(at+"name", b.Name, nameMessage)
		} else if j, twice := names[b.Name]; twice {
			e.add(at+"name", b.Name, "is also the name of backends[%d]; names are unique in a VIP", j)
		} else {
			names[b.Name] = i
		}
		if b.Weight != nil && (*b.Weight < 0 || *b.Weight > MaxWeight) {
			e.add(at+"weight", *b.Weight, "want 0 (drains) to %d", MaxWeight)
		}
		switch b.Admin {
		case Enabled, Draining, Disabled:
		default:
			e.add(at+"admin", b.Admin, "want one of enabled, draining, disabled")
		}
		a := e.address(at+"address", b.Address, vipAddress)
		if !a.IsValid() {
			continue
		}
		if a == vipAddress {
			e.add(at+"address", b.Address, "is the VIP's own address")
			continue
		}
		// Two backends of one address must not share a port: a reply must name one of them.
		if j, twice := endpoints[endpoint{a, b.Port}]; twice {
			e.add(at+"port", b.Port, "backends[%d] is the same address and port", j)
			continue
		}
		endpoints[endpoint{a, b.Port}] = i
		for _, j := range byAddress[a] {
			if p := list[j].Port; b.Port == 0 && vipPorts.Contains(p) || p == 0 && vipPorts.Contains(b.Port) {
				e.add(at+"port", b.Port, "backends[%d] has the same address and listens on the same port", j)
				break
			}
		}
		byAddress[a] = append(byAddress[a], i)
	}
}

// address checks an address and, when like is valid, its family. It is the zero Addr if anything is wrong.
func (e *FieldErrors) address(field, text string, like netip.Addr) netip.Addr {
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		e.add(field, text, "want an IP address such as 10.0.0.100 or fd00::100")
	case a.Is4In6():
		e.add(field, text, "want an IPv4 address as such: %s", a.Unmap())
	case like.IsValid() && a.Is4() != like.Is4():
		e.add(field, text, "a backend has the address family of its VIP, %s", familyOf(like))
	case a.IsLinkLocalUnicast() && a.Is6():
		e.add(field, text, "want an address that is not link-local: such a one means nothing without an interface")
	case !unicast(a):
		e.add(field, text, "want a unicast address of a host")
	default:
		return a
	}
	return netip.Addr{}
}

func familyOf(a netip.Addr) string {
	if a.Is4() {
		return "IPv4"
	}
	return "IPv6"
}

// unicast refuses what no host on a network can have: of IPv4 0/8, loopback, multicast, reserved (240/4) and broadcast; of IPv6
// the unspecified address, loopback, multicast and what has a zone.
func unicast(a netip.Addr) bool {
	if a.Is4() {
		b := a.As4()
		return b[0] != 0 && b[0] < 224 && !a.IsLoopback()
	}
	return !a.IsUnspecified() && !a.IsLoopback() && !a.IsMulticast() && a.Zone() == ""
}
