package openflow

import (
	"fmt"
	"net/netip"
)

// CTFlush asks a switch to forget tracked connections: those whose both tuples agree with Original and Reply in all that
// is set there (Nicira NXT_CT_FLUSH, Open vSwitch 3.1 on). With nothing set but the zone all connections of the zone go.
//
// Open vSwitch finds a connection by a full tuple, and looks at all of the table for less.
type CTFlush struct {
	Zone     uint16
	AllZones bool  // instead of Zone
	Proto    uint8 // IP protocol; 0: any, and then no ports
	Original CTTuple
	Reply    CTTuple
}

// CTTuple is one direction of a connection. What is zero is not compared, but for ICMP: there Open vSwitch compares all
// three numbers of both tuples, unless Original has both addresses and Reply is empty.
type CTTuple struct {
	Src, Dst           netip.Addr
	SrcPort, DstPort   uint16
	ICMPID             uint16
	ICMPType, ICMPCode uint8
}

const (
	nxtCTFlushZone uint32 = 29
	nxtCTFlush     uint32 = 32

	ctFlushOriginal = 0
	ctFlushReply    = 1
	ctFlushZone     = 2

	ctTupleSrc      = 0
	ctTupleDst      = 1
	ctTupleSrcPort  = 2
	ctTupleDstPort  = 3
	ctTupleICMPID   = 4
	ctTupleICMPType = 5
	ctTupleICMPCode = 6

	protoICMP   = 1
	protoICMPv6 = 58
)

// AppendCTFlushZone appends a message that makes a switch forget all connections of a zone (NXT_CT_FLUSH_ZONE).
func AppendCTFlushZone(b []byte, v Version, xid uint32, zone uint16) []byte {
	return appendNiciraMessage(b, v, xid, nxtCTFlushZone, []byte{0, 0, 0, 0, 0, 0, byte(zone >> 8), byte(zone)})
}

// ParseCTFlushZone reads that message, as a switch does; false if it is another.
func ParseCTFlushZone(msg []byte) (zone uint16, ok bool) {
	if !isNiciraMessage(msg, nxtCTFlushZone) || len(msg) < headerLen+16 {
		return 0, false
	}
	return be.Uint16(msg[headerLen+14:]), true
}

// AppendCTFlush appends the message. Open vSwitch answers nothing but errors: a barrier's reply says that it is done.
func AppendCTFlush(b []byte, v Version, xid uint32, f *CTFlush) ([]byte, error) {
	if err := f.check(); err != nil {
		return b, err
	}
	start := len(b)
	b = be.AppendUint32(begin(b, v, TypeExperimenter, xid), nicira)
	b = be.AppendUint32(b, nxtCTFlush)
	b = append(b, f.Proto, 0, 0, 0, 0, 0, 0, 0)
	b = appendTuple(b, ctFlushOriginal, f.Proto, &f.Original)
	b = appendTuple(b, ctFlushReply, f.Proto, &f.Reply)
	if !f.AllZones {
		b = append(b, 0, ctFlushZone, 0, 8, byte(f.Zone>>8), byte(f.Zone), 0, 0)
	}
	return end(b, start), nil
}

func (f *CTFlush) icmp() bool { return f.Proto == protoICMP || f.Proto == protoICMPv6 }

func (f *CTFlush) check() error {
	fail := func(why string) error { return &ValueError{What: "conntrack flush: " + why} }
	if f.AllZones && f.Zone != 0 {
		return fail("of all zones and of one")
	}
	var family netip.Addr
	for _, t := range [...]*CTTuple{&f.Original, &f.Reply} {
		for _, a := range [...]netip.Addr{t.Src, t.Dst} {
			switch {
			case !a.IsValid():
				continue
			case a.IsUnspecified() || a.Zone() != "" || a.Is4In6():
				return fail(fmt.Sprintf("address %s", a))
			case family.IsValid() && family.Is4() != a.Is4():
				return fail("addresses of two families")
			}
			family = a
		}
		icmp := t.ICMPID != 0 || t.ICMPType != 0 || t.ICMPCode != 0
		switch ports := t.SrcPort != 0 || t.DstPort != 0; {
		case ports && (f.Proto == 0 || f.icmp()):
			return fail(fmt.Sprintf("ports with protocol %d", f.Proto))
		case icmp && !f.icmp():
			return fail(fmt.Sprintf("ICMP numbers with protocol %d", f.Proto))
		}
	}
	return nil
}

// appendTuple appends a tuple's property, or nothing if nothing is set. Each level is padded to 8 bytes.
func appendTuple(b []byte, kind, proto uint8, t *CTTuple) []byte {
	start := len(b)
	b = append(b, 0, kind, 0, 0, 0, 0, 0, 0)
	for i, addr := range [...]netip.Addr{t.Src, t.Dst} {
		if addr.IsValid() {
			sixteen := addr.As16() // an IPv4 address as ::ffff:a.b.c.d
			b = append(append(b, 0, byte(ctTupleSrc+i), 0, 20), sixteen[:]...)
			b = append(b, 0, 0, 0, 0)
		}
	}
	number := func(kind uint8, n uint16) {
		if n != 0 {
			b = append(b, 0, kind, 0, 8, byte(n>>8), byte(n), 0, 0)
		}
	}
	if proto != protoICMP && proto != protoICMPv6 {
		number(ctTupleSrcPort, t.SrcPort)
		number(ctTupleDstPort, t.DstPort)
	} else if *t != (CTTuple{}) {
		b = append(b, 0, ctTupleICMPID, 0, 8, byte(t.ICMPID>>8), byte(t.ICMPID), 0, 0)
		b = append(b, 0, ctTupleICMPType, 0, 5, t.ICMPType, 0, 0, 0)
		b = append(b, 0, ctTupleICMPCode, 0, 5, t.ICMPCode, 0, 0, 0)
	}
	if len(b) == start+8 {
		return b[:start]
	}
	be.PutUint16(b[start+2:], uint16(len(b)-start))
	return b
}

// ParseCTFlush reads the message, as a switch does. Properties not known here are skipped.
func ParseCTFlush(msg []byte) (f CTFlush, err error) {
	p, err := payload(msg, TypeExperimenter, 16)
	if err != nil {
		return f, err
	}
	if !isNiciraMessage(msg, nxtCTFlush) {
		return f, &ValueError{What: fmt.Sprintf("experimenter message %#x/%d, want a conntrack flush", be.Uint32(p), be.Uint32(p[4:]))}
	}
	f.Proto, f.AllZones = p[8], true
	err = eachProperty(p[16:], func(kind uint16, prop []byte) error {
		switch {
		case kind > ctFlushZone:
			return nil
		case kind == ctFlushZone && len(prop) < 6:
			return short("zone of a conntrack flush", len(prop), 6)
		case kind == ctFlushZone:
			f.Zone, f.AllZones = be.Uint16(prop[4:]), false
			return nil
		case len(prop) < 8:
			return short("tuple of a conntrack flush", len(prop), 8)
		}
		t := &f.Original
		if kind == ctFlushReply {
			t = &f.Reply
		}
		return eachProperty(prop[8:], t.property)
	})
	if err == nil {
		err = f.check()
	}
	return f, err
}

func (t *CTTuple) property(kind uint16, prop []byte) error {
	if kind > ctTupleICMPCode {
		return nil
	}
	if least := [...]int{20, 20, 6, 6, 6, 5, 5}[kind]; len(prop) < least {
		return short("part of a conntrack tuple", len(prop), least)
	}
	value := prop[4:]
	switch kind {
	case ctTupleSrc:
		t.Src = netip.AddrFrom16([16]byte(value)).Unmap()
	case ctTupleDst:
		t.Dst = netip.AddrFrom16([16]byte(value)).Unmap()
	case ctTupleSrcPort:
		t.SrcPort = be.Uint16(value)
	case ctTupleDstPort:
		t.DstPort = be.Uint16(value)
	case ctTupleICMPID:
		t.ICMPID = be.Uint16(value)
	case ctTupleICMPType:
		t.ICMPType = value[0]
	case ctTupleICMPCode:
		t.ICMPCode = value[0]
	}
	return nil
}
