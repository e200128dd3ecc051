package controller

import (
	"slices"
	"sync"
)

// identities knows, of all switches together, who has an object of an identity, and gives owners numbers, so that each session
// keeps no more of an owner than one entry of a list.
type identities struct {
	mu      sync.RWMutex
	numbers map[Owner]int
	owners  []seat // by number
	free    []int
	tenants map[key]tenant
	others  map[key][]tenant // further ones of an identity: only at a change, or by mistake, there are any
}

// seat is an owner with a number, as long as a session has a claim of it.
type seat struct {
	owner  Owner
	claims int
	last   *claim // the latest
}

// tenant is an owner who has an object of an identity in some switch.
type tenant struct {
	number int32
	blocks int32 // of the owner's that have the object
}

func newIdentities() *identities {
	return &identities{numbers: map[Owner]int{}, tenants: map[key]tenant{}, others: map[key][]tenant{}}
}

// number is an owner's; false if no session has a claim of it.
func (x *identities) number(o Owner) (int, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	n, ok := x.numbers[o]
	return n, ok
}

// seats is above all numbers.
func (x *identities) seats() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.owners)
}

// owner is whose a number is.
func (x *identities) owner(n int) Owner {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.owners[n].owner
}

// claim notes that a session's claim for an owner changes from one state to that of another claim, of which one may be nil, and
// returns the owner's number, and the claim as sessions share it: nil if it is to nothing.
func (x *identities) claim(o Owner, from *State, now claim) (number int, shared *claim) {
	to := now.state
	x.mu.Lock()
	defer x.mu.Unlock()
	n, known := x.numbers[o]
	if !known {
		if to == nil {
			return -1, nil
		}
		if last := len(x.free) - 1; last >= 0 {
			n, x.free = x.free[last], x.free[:last]
			x.owners[n] = seat{owner: o}
		} else {
			n = len(x.owners)
			x.owners = append(x.owners, seat{owner: o})
		}
		x.numbers[o] = n
	}
	if to != nil {
		seat := &x.owners[n]
		if seat.claims++; seat.last == nil || *seat.last != now {
			latest := now
			seat.last = &latest
		}
		shared = seat.last
		for _, b := range to.blocks {
			if b.uses++; b.uses == 1 {
				x.settle(b, n)
			}
		}
	}
	if from != nil {
		x.owners[n].claims--
		for _, b := range from.blocks {
			if b.uses--; b.uses == 0 {
				x.leave(b, n)
			}
		}
	}
	if x.owners[n].claims == 0 {
		delete(x.numbers, o)
		x.owners[n] = seat{}
		x.free = append(x.free, n)
	}
	return n, shared
}

// settle enters an owner for all identities of a block.
func (x *identities) settle(b *Block, n int) {
	for _, k := range b.keys {
		t, taken := x.tenants[k]
		if !taken || t.number == int32(n) {
			x.tenants[k] = tenant{number: int32(n), blocks: t.blocks + 1}
			continue
		}
		list := x.others[k]
		if i := find(list, n); i >= 0 {
			list[i].blocks++
		} else {
			x.others[k] = append(list, tenant{number: int32(n), blocks: 1})
		}
	}
}

// leave undoes settle.
func (x *identities) leave(b *Block, n int) {
	for _, k := range b.keys {
		t, list := x.tenants[k], x.others[k]
		if t.number != int32(n) {
			i := find(list, n)
			if list[i].blocks--; list[i].blocks == 0 {
				x.set(k, slices.Delete(list, i, i+1))
			}
			continue
		}
		t.blocks--
		switch {
		case t.blocks > 0:
			x.tenants[k] = t
		case len(list) > 0:
			x.tenants[k] = list[0]
			x.set(k, list[1:])
		default:
			delete(x.tenants, k)
		}
	}
}

// set says who else has an identity.
func (x *identities) set(k key, others []tenant) {
	if len(others) == 0 {
		delete(x.others, k)
	} else {
		x.others[k] = others
	}
}

func find(list []tenant, n int) int {
	return slices.IndexFunc(list, func(t tenant) bool { return t.number == int32(n) })
}

// having calls yield with those who have an object of an identity in some switch, until it returns false. It must not call
// other methods.
func (x *identities) having(k key, yield func(n int, o Owner) bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	t, taken := x.tenants[k]
	if !taken || !yield(int(t.number), x.owners[t.number].owner) {
		return
	}
	for _, t := range x.others[k] {
		if !yield(int(t.number), x.owners[t.number].owner) {
			return
		}
	}
}
