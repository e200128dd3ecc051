package openflow

import (
	"fmt"
	"net/netip"

	"github.com/evenflow/evenflow/flows"
)

// Flags of ct (NX_CT_F_*).
const (
	ctCommit = 1 << 0
	ctForce  = 1 << 1
)

// Flags of nat (NX_NAT_F_*).
const (
	natSrc        = 1 << 0
	natDst        = 1 << 1
	natPersistent = 1 << 2
	natHash       = 1 << 3
	natRandom     = 1 << 4
)

// What of a range follows nat's header, in this order (NX_NAT_RANGE_*).
const (
	natIPv4Min = 1 << iota
	natIPv4Max
	natIPv6Min
	natIPv6Max
	natPortMin
	natPortMax
)

const ctLen = 24

func appendCT(b []byte, v Version, a *flows.CT) ([]byte, error) {
	if err := a.Check(); err != nil {
		return b, &ValueError{What: err.Error()}
	}
	start := len(b)
	flags := bit(a.Commit, ctCommit) | bit(a.Force, ctForce)
	b = be.AppendUint16(appendNicira(b, 0, nxCT), flags)
	if a.ZoneFrom.Field == flows.FieldNone {
		b = be.AppendUint16(append(b, 0, 0, 0, 0), a.Zone)
	} else {
		h, err := spanHeader(v, "zone of ct", a.ZoneFrom, 16)
		if err != nil {
			return b[:start], err
		}
		b = be.AppendUint16(be.AppendUint32(b, h), packSpan(a.ZoneFrom))
	}
	b = be.AppendUint16(append(b, a.Table, 0, 0, 0), a.ALG)
	for _, inner := range a.Actions {
		var err error
		if nat, ok := inner.(flows.NAT); ok {
			b = appendNAT(b, &nat)
		} else if b, err = appendAction(b, v, inner, false); err != nil {
			return b[:start], fmt.Errorf("in ct: %w", err)
		}
	}
	return endNicira(b, start)
}

func bit(is bool, n uint16) uint16 {
	if is {
		return n
	}
	return 0
}

// appendNAT appends a nat that has been checked. What ends where it begins is not sent, as Open vSwitch does.
func appendNAT(b []byte, a *flows.NAT) []byte {
	start := len(b)
	flags := bit(a.Kind == flows.NATSrc, natSrc) | bit(a.Kind == flows.NATDst, natDst) | bit(a.Persistent, natPersistent) |
		bit(a.Hash, natHash) | bit(a.Random, natRandom)
	b = append(appendNicira(b, 0, nxNAT), 0, 0)
	b = be.AppendUint16(b, flags)
	var present uint16
	b = append(b, 0, 0)
	for i, addr := range [...]netip.Addr{a.Min, a.Max} {
		switch {
		case !addr.IsValid() || i == 1 && a.Max == a.Min:
		case addr.Is4():
			four := addr.As4()
			b = append(b, four[:]...)
			present |= natIPv4Min << i
		default:
			sixteen := addr.As16()
			b = append(b, sixteen[:]...)
			present |= natIPv6Min << i
		}
	}
	if a.MinPort != 0 {
		b = be.AppendUint16(b, a.MinPort)
		present |= natPortMin
	}
	if a.MaxPort != 0 && a.MaxPort != a.MinPort {
		b = be.AppendUint16(b, a.MaxPort)
		present |= natPortMax
	}
	be.PutUint16(b[start+14:], present)
	b = pad8(b, start)
	b[start+3] = byte(len(b) - start) // at most 56
	return b
}

// decodeCT reads a ct; nil, as for all actions, if there is anything in it that could not be written again.
func decodeCT(b []byte) flows.Action {
	flags := be.Uint16(b[10:])
	a := flows.CT{Commit: flags&ctCommit != 0, Force: flags&ctForce != 0, Table: b[18], ALG: be.Uint16(b[22:])}
	if flags&^(ctCommit|ctForce) != 0 {
		return nil
	}
	if be.Uint32(b[12:]) == 0 {
		a.Zone = be.Uint16(b[16:])
	} else {
		var ok bool
		if a.ZoneFrom, ok = unpackSpan(be.Uint16(b[16:]), b[12:]); !ok {
			return nil
		}
	}
	for b = b[ctLen:]; len(b) > 0; {
		n, err := tlvLen("action", b)
		if err != nil {
			return nil
		}
		var inner flows.Action
		if subtype := niciraSubtype(b[:n]); subtype == nxNAT {
			inner = decodeNAT(b[:n])
		} else if subtype != nxCT { // not one in the other without end
			inner = decodeAction(b[:n])
		}
		if inner == nil {
			return nil
		}
		a.Actions = append(a.Actions, inner)
		b = b[n:]
	}
	if a.Check() != nil {
		return nil
	}
	return a
}

// niciraSubtype is the number of a whole Nicira action, 0 if it is none.
func niciraSubtype(b []byte) uint16 {
	if be.Uint16(b) != actExperimenter || len(b) < 16 || be.Uint32(b[4:]) != nicira {
		return 0
	}
	return be.Uint16(b[8:])
}

func decodeNAT(b []byte) flows.Action {
	flags, present := be.Uint16(b[12:]), be.Uint16(b[14:])
	a := flows.NAT{Persistent: flags&natPersistent != 0, Hash: flags&natHash != 0, Random: flags&natRandom != 0}
	switch flags & (natSrc | natDst) {
	case natSrc:
		a.Kind = flows.NATSrc
	case natDst:
		a.Kind = flows.NATDst
	case natSrc | natDst:
		return nil
	}
	b = b[16:]
	for i, to := range [...]any{&a.Min, &a.Max, &a.Min, &a.Max, &a.MinPort, &a.MaxPort} {
		if present>>i&1 == 0 {
			continue
		}
		size := [...]int{4, 4, 16, 16, 2, 2}[i]
		if len(b) < size {
			return nil
		}
		switch to := to.(type) {
		case *netip.Addr:
			if to.IsValid() {
				return nil // of both families
			}
			*to, _ = netip.AddrFromSlice(b[:size])
		case *uint16:
			if *to = be.Uint16(b); *to == 0 {
				return nil
			}
		}
		b = b[size:]
	}
	if flags>>5 != 0 || present>>6 != 0 || a.Check() != nil {
		return nil
	}
	if a.Max == a.Min {
		a.Max = netip.Addr{}
	}
	if a.MaxPort == a.MinPort {
		a.MaxPort = 0
	}
	return a
}
