package vip

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

// ID is a VIP's number: allocated once from 1, stored before its first use, never used again.
type ID uint16

// Limits of ids. The highest backend id is also how many backends a VIP can have in its life.
const (
	MaxID        = 1<<16 - 1
	MaxBackendID = 1<<24 - 1
	MaxFormer    = 256 // of Former, the latest kept
)

// Origin is where a VIP was declared.
type Origin string

// Origins.
const (
	OriginAPI  Origin = "api"
	OriginFile Origin = "file"
)

// VIP is a declared VIP with its ids: what is stored. It is immutable once in a view; a change makes a new one.
// All but ids, Version, Origin and the times of drains follows from Spec.
type VIP struct {
	ID       ID
	Version  uint64 // from 1, raised by each change
	Origin   Origin
	Spec     Spec // normalised
	Address  netip.Addr
	Ports    Ports
	Idle     time.Duration
	Backends []Backend // in the order of Spec.Backends
	NextID   uint32    // next backend id
	Former   []Former  // backends that have left, whose ids return with them; the latest last
}

// Backend is a backend with its id, which is unique in its VIP for ever (24 bits, from 1).
type Backend struct {
	ID       uint32
	Name     string
	Address  netip.Addr
	Port     uint16  // 0: the VIP's
	Weight   int     // 0 to 255
	Capacity float64 // Mbit/s; 0: not known
	Admin    Admin

	DrainSince time.Time // when it began to drain; zero: it does not
}

// Listens are the ports at which backends get the VIP's packets, each once, in order.
func (x *VIP) Listens() (out []Ports) {
	for i := range x.Backends {
		p := x.Ports
		if port := x.Backends[i].Port; port != 0 {
			p = Ports{First: port, Last: port}
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(p, q Ports) int { return cmp.Or(cmp.Compare(p.First, q.First), cmp.Compare(p.Last, q.Last)) })
	return slices.Compact(out)
}

// Former remembers the id of a backend that has left.
type Former struct {
	ID      uint32     `json:"id"`
	Name    string     `json:"name"`
	Address netip.Addr `json:"address"`
	Port    uint16     `json:"port"` // 0: the VIP's
}
