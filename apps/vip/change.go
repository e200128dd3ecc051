package vip

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"time"
)

// Create makes a new VIP of version 1. The id must be stored as used before; the Spec need not be normalised.
// Errors are those of [Validate].
func Create(id ID, spec Spec, origin Origin) (*VIP, error) {
	if id == 0 {
		return nil, fmt.Errorf("vip %q: id 0 is no id", spec.Name)
	}
	spec = Normalize(spec)
	if err := Validate(spec); err != nil {
		return nil, err
	}
	v := &VIP{ID: id, Version: 1, Origin: origin, Spec: spec, NextID: 1}
	if err := v.derive(); err != nil {
		return nil, err
	}
	return v, v.assignIDs(nil)
}

// Update is old changed to spec, or old itself when spec means the same. A mode left out stays as it is. Errors are those
// of [Validate], or wrap [ErrFixed] and name the field.
func Update(old *VIP, spec Spec) (*VIP, error) {
	if spec.Mode == "" {
		spec.Mode = old.Spec.Mode
	}
	spec = Normalize(spec)
	if spec.Mode.known() && spec.Mode != old.Spec.Mode {
		return nil, fixed(old, "mode", old.Spec.Mode, spec.Mode)
	}
	if err := Validate(spec); err != nil {
		return nil, err
	}
	switch {
	case spec.Name != old.Spec.Name:
		return nil, fixed(old, "name", old.Spec.Name, spec.Name)
	case spec.Address != old.Spec.Address:
		return nil, fixed(old, "address", old.Spec.Address, spec.Address)
	case spec.Protocol != old.Spec.Protocol:
		return nil, fixed(old, "protocol", old.Spec.Protocol, spec.Protocol)
	case spec.Port != old.Spec.Port:
		return nil, fixed(old, "port", old.Spec.Port, spec.Port)
	}
	if reflect.DeepEqual(spec, old.Spec) {
		return old, nil
	}
	v := &VIP{ID: old.ID, Version: old.Version + 1, Origin: old.Origin, Spec: spec, NextID: old.NextID, Former: slices.Clone(old.Former)}
	if err := v.derive(); err != nil {
		return nil, err
	}
	return v, v.assignIDs(old.Backends)
}

// Overlap reports whether two VIPs claim the same address, protocol and port.
func Overlap(a, b *VIP) bool {
	return a.Address == b.Address && a.Spec.Protocol == b.Spec.Protocol && a.Ports.Overlaps(b.Ports)
}

// Excludes reports whether two VIPs cannot be at the same time: they overlap, or one is at the address of a backend of the other.
func Excludes(a, b *VIP) bool { return Overlap(a, b) || a.leadsTo(b) || b.leadsTo(a) }

func (v *VIP) leadsTo(to *VIP) bool {
	return slices.ContainsFunc(v.Backends, func(b Backend) bool { return b.Address == to.Address })
}

func fixed(old *VIP, field string, is, wanted any) error {
	return fmt.Errorf("vip %q: %s is %v and %w, not to be %v: delete the VIP and create it anew", old.Spec.Name, field, is, ErrFixed, wanted)
}

// derive sets what follows from Spec alone.
func (v *VIP) derive() (err error) {
	if v.Address, err = netip.ParseAddr(v.Spec.Address); err != nil {
		return fmt.Errorf("vip %q: %w", v.Spec.Name, err)
	}
	if v.Ports, err = v.Spec.Port.Parse(); err != nil {
		return fmt.Errorf("vip %q: %w", v.Spec.Name, err)
	}
	v.Idle = time.Duration(v.Spec.IdleTimeout)
	v.Backends = make([]Backend, len(v.Spec.Backends))
	for i, s := range v.Spec.Backends {
		b := Backend{Name: s.Name, Port: s.Port, Weight: DefaultWeight, Capacity: s.Capacity, Admin: s.Admin}
		if b.Address, err = netip.ParseAddr(s.Address); err != nil {
			return fmt.Errorf("vip %q: backend %q: %w", v.Spec.Name, s.Name, err)
		}
		if s.Weight != nil {
			b.Weight = *s.Weight
		}
		v.Backends[i] = b
	}
	return nil
}

// assignIDs gives each backend the id that its name had with the same address and port, in the version before or ever
// since remembered, or else a new one; backends that are gone become former ones.
func (v *VIP) assignIDs(before []Backend) error {
	past := make(map[string][]Former, len(before))
	for _, f := range v.Former {
		past[f.Name] = append(past[f.Name], f)
	}
	for _, b := range before {
		f := Former{b.ID, b.Name, b.Address, b.Port}
		past[b.Name] = append(past[b.Name], f)
		v.Former = append(v.Former, f)
	}
	taken := make(map[uint32]bool, len(v.Backends))
	for i := range v.Backends {
		b := &v.Backends[i]
		for _, f := range past[b.Name] {
			if f.Address == b.Address && v.target(f.Port) == v.target(b.Port) {
				b.ID = f.ID
			}
		}
		if b.ID == 0 {
			if v.NextID > MaxBackendID {
				return fmt.Errorf("vip %q: backend %q: %w: %d", v.Spec.Name, b.Name, ErrExhausted, MaxBackendID)
			}
			b.ID = v.NextID
			v.NextID++
		}
		taken[b.ID] = true
	}
	v.Former = slices.DeleteFunc(v.Former, func(f Former) bool { return taken[f.ID] })
	if n := len(v.Former) - MaxFormer; n > 0 {
		v.Former = slices.Delete(v.Former, 0, n)
	}
	if len(v.Former) == 0 {
		v.Former = nil
	}
	return nil
}

// target is the port that a backend's port means: 0 and the port of a VIP with one port are the same.
func (v *VIP) target(port uint16) uint16 {
	if port == 0 && v.Ports.Single() {
		return v.Ports.First
	}
	return port
}
