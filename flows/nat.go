package flows

import (
	"fmt"
	"net/netip"
	"strings"
)

// NATKind says which address a [NAT] changes.
type NATKind uint8

// Kinds of NAT.
const (
	NATKnown NATKind = iota // the one that a committed connection says, in both directions
	NATSrc
	NATDst
)

// NAT is an action of a [CT]: the tracker translates the connection's packets. The zero NAT applies what has been
// committed. Addresses and ports are chosen from a range when the connection is committed.
//
// Open vSwitch picks a free source port even where no port is asked for, when the wished one is taken. NATSrc or NATDst
// without an address lets it choose a port alone; its userspace datapath 3.1.0 is known to abort on that.
type NAT struct {
	Kind             NATKind
	Min, Max         netip.Addr // of one family; no Max: Min alone; neither: the address stays
	MinPort, MaxPort uint16     // no MaxPort: MinPort alone; neither: the port stays if it can
	Persistent       bool       // the same choice after a restart; ignored by Open vSwitch's userspace
	Hash, Random     bool       // how the port is chosen; not both
}

// NATTo is a NAT to one address, and to one port unless that is 0.
func NATTo(kind NATKind, addr netip.Addr, port uint16) NAT {
	return NAT{Kind: kind, Min: addr, MinPort: port}
}

// normal says a range of one without its end, as it comes back from a switch.
func (a NAT) normal() NAT {
	if a.Max == a.Min {
		a.Max = netip.Addr{}
	}
	if a.MaxPort == a.MinPort {
		a.MaxPort = 0
	}
	return a
}

// Equal reports whether both do the same.
func (a NAT) Equal(b NAT) bool { return a.normal() == b.normal() }

func (a NAT) equal(other Action) bool {
	b, ok := other.(NAT)
	return ok && a.Equal(b)
}

// Check reports what a switch would refuse.
func (a NAT) Check() error {
	fail := func(why string) error { return fmt.Errorf("%s: %s", a.AppendText(nil), why) }
	switch {
	case a.Kind > NATDst:
		return fail("want src or dst")
	case a.Kind == NATKnown && a != NAT{}:
		return fail("ranges and flags need src or dst")
	case a.Hash && a.Random:
		return fail("either hash or random")
	case !a.Min.IsValid() && (a.Max.IsValid() || a.MinPort != 0):
		return fail("a range needs its first address")
	case a.MinPort == 0 && a.MaxPort != 0, a.MaxPort != 0 && a.MaxPort < a.MinPort:
		return fail("want ports FIRST-LAST, not 0")
	case a.Min.IsValid() && (a.Min.IsUnspecified() || a.Min.Zone() != "" || a.Max.Zone() != ""):
		return fail("no such address")
	case a.Max.IsValid() && (a.Max.Is4() != a.Min.Is4() || a.Max.Less(a.Min)):
		return fail("want addresses FIRST-LAST of one family")
	}
	return nil
}

// AppendText is nat, nat(src), nat(dst=ADDRESS), nat(src=FIRST-LAST:FIRST-LAST,persistent,hash), with brackets around
// IPv6 addresses before a port.
func (a NAT) AppendText(b []byte) []byte {
	a = a.normal()
	b = append(b, "nat"...)
	switch a.Kind {
	case NATKnown:
		return b
	case NATSrc:
		b = append(b, "(src"...)
	default:
		b = append(b, "(dst"...)
	}
	if a.Min.IsValid() {
		b = a.appendAddr(append(b, '='), a.Min)
	}
	if a.Max.IsValid() {
		b = a.appendAddr(append(b, '-'), a.Max)
	}
	if a.MinPort != 0 {
		b = appendNum(b, ":", a.MinPort)
	}
	if a.MaxPort != 0 {
		b = appendNum(b, "-", a.MaxPort)
	}
	for _, f := range [...]struct {
		set  bool
		name string
	}{{a.Persistent, ",persistent"}, {a.Hash, ",hash"}, {a.Random, ",random"}} {
		if f.set {
			b = append(b, f.name...)
		}
	}
	return append(b, ')')
}

func (a *NAT) appendAddr(b []byte, addr netip.Addr) []byte {
	switch {
	case addr.Is4():
		return addr.AppendTo(b)
	case a.MinPort == 0:
		return appendIPv6(b, addr.As16())
	}
	return append(appendIPv6(append(b, '['), addr.As16()), ']')
}

func (s *scanner) nat(it item) (Action, error) {
	var a NAT
	if it.sep == 0 {
		return a, nil
	}
	in, err := s.inner(it)
	if err != nil {
		return nil, err
	}
	for p, ok := in.next(); ok; p, ok = in.next() {
		var err error
		kind := NATSrc
		switch p.key {
		case "dst":
			kind = NATDst
			fallthrough
		case "src":
			if a.Kind != NATKnown {
				return nil, s.fail(p, "either src or dst")
			}
			if a.Kind = kind; p.sep == '=' {
				err = a.parseRange(p.value)
			}
		case "persistent":
			a.Persistent = true
		case "hash":
			a.Hash = true
		case "random":
			a.Random = true
		default:
			err = fmt.Errorf("want src[=RANGE], dst[=RANGE], persistent, hash or random")
		}
		if err != nil {
			return nil, s.fail(p, "%w", err)
		}
	}
	if err := a.Check(); err != nil {
		return nil, s.fail(it, "%w", err)
	}
	return a.normal(), nil
}

// parseRange reads ADDRESS[-ADDRESS][:PORT[-PORT]]. An IPv6 address before a port is in brackets.
func (a *NAT) parseRange(text string) (err error) {
	addrs, ports := text, ""
	switch i := strings.LastIndexByte(text, ']'); {
	case i >= 0:
		addrs, ports = text[:i+1], text[i+1:]
	case strings.Count(text, ":") == 1: // IPv4
		i = strings.IndexByte(text, ':')
		addrs, ports = text[:i], text[i:]
	}
	first, last, both := strings.Cut(addrs, "-")
	if a.Min, err = parseNATAddr(first); err == nil && both {
		a.Max, err = parseNATAddr(last)
	}
	if err != nil {
		return err
	}
	if ports == "" {
		return nil
	}
	first, last, both = strings.Cut(strings.TrimPrefix(ports, ":"), "-")
	for _, p := range []struct {
		text string
		to   *uint16
		want bool
	}{{first, &a.MinPort, true}, {last, &a.MaxPort, both}} {
		if !p.want {
			continue
		}
		n, err := parseUint(p.text, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("%q: want a port from 1 to 65535", p.text)
		}
		*p.to = uint16(n)
	}
	return nil
}

func parseNATAddr(text string) (netip.Addr, error) {
	bare := text
	if inner, ok := strings.CutPrefix(text, "["); ok {
		bare = strings.TrimSuffix(inner, "]")
	}
	addr, err := netip.ParseAddr(bare)
	if err != nil || bare != text && !addr.Is6() {
		return addr, fmt.Errorf("%q: want an address, IPv6 ones in brackets before a port", text)
	}
	return addr, nil
}
