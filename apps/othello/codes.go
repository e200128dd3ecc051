package othello

import (
	"cmp"
	"math/bits"
	"slices"
)

// A Dcode has 12 bits. The switch always computes all of them; a VIP may tell fewer apart.
const (
	codeBits = 12
	// MaxCodes is the largest number of Dcodes of a VIP, MinCodes the smallest.
	MaxCodes = 1 << codeBits
	MinCodes = 256
)

// Share is a backend, by the number that rules know it by (its endpoint, never 0), and its weight, above 0.
type Share struct {
	Owner  uint32
	Weight int
}

// Codes says who owns each Dcode of a VIP. It never changes; Change makes another.
//
// Dcodes with the same lowest bits form a block: two blocks of one bit more are its halves. So a VIP with 256 Dcodes is one
// with 1,024 whose owners have whole blocks of four, and can become that at any time without moving anything.
type Codes struct {
	owner []uint32 // by place: the Dcode's bits in reverse order, so that a block is a range
}

// SizeFor is how many Dcodes a pool should have: at least 32 for the smallest weight, so that a share is right to 1.6 % of
// itself, between MinCodes and MaxCodes.
func SizeFor(pool []Share) int {
	total, least := 0, 0
	for _, s := range pool {
		total += s.Weight
		if least == 0 || s.Weight < least {
			least = s.Weight
		}
	}
	for size := MinCodes; ; size *= 4 {
		if least == 0 || size*least >= 32*total || size >= MaxCodes {
			return size
		}
	}
}

// Pack lays out a pool anew, in the fewest blocks, the largest first.
func Pack(size int, pool []Share) *Codes {
	c := &Codes{owner: make([]uint32, size)}
	if len(pool) == 0 {
		return c
	}
	free := blocks{{0, size}}
	for _, n := range needs(size, pool, nil) {
		c.give(n.owner, free.take(n.count, nil))
	}
	return c
}

// Size is the number of Dcodes that are told apart.
func (c *Codes) Size() int { return len(c.owner) }

// Owner is the owner of a Dcode of 12 bits, 0 if there is none.
func (c *Codes) Owner(code uint16) uint32 { return c.owner[c.place(code)] }

func (c *Codes) place(code uint16) int {
	return int(bits.Reverse16(code)) >> (16 - bits.Len(uint(len(c.owner)-1)))
}

// Counts are the Dcodes of each owner, of Size.
func (c *Codes) Counts() map[uint32]int {
	n := map[uint32]int{}
	for _, o := range c.owner {
		n[o]++
	}
	return n
}

// Owners is the owner of each Dcode by place, as it is stored; FromOwners reads it back.
func (c *Codes) Owners() []uint32 { return slices.Clone(c.owner) }

// FromOwners is the reverse of Owners; not ok: the number is none that a VIP can have.
func FromOwners(owners []uint32) (c *Codes, ok bool) {
	n := len(owners)
	if n < MinCodes || n > MaxCodes || n&(n-1) != 0 {
		return nil, false
	}
	return &Codes{owner: slices.Clone(owners)}, true
}

// Change gives a pool its shares with as few moves as there can be: an owner that has too many Dcodes gives just those, and
// none gives and takes. live, which may be nil, is the number of live connections of a Dcode: among blocks of one size those
// with fewer are moved first. More Dcodes are told apart where the pool needs it.
func (c *Codes) Change(pool []Share, live func(code uint16) int) *Codes {
	return c.change(max(len(c.owner), SizeFor(pool)), pool, live)
}

func (c *Codes) change(size int, pool []Share, live func(code uint16) int) *Codes {
	next := &Codes{owner: make([]uint32, size)}
	for i := range next.owner {
		next.owner[i] = c.owner[i*len(c.owner)/size]
	}
	if len(pool) == 0 {
		clear(next.owner)
		return next
	}
	cost := next.costs(live)
	want := needs(size, pool, c)
	var free blocks
	for _, o := range next.owners() {
		have := next.blocksOf(o)
		n := have.size()
		if i := slices.IndexFunc(want, func(w need) bool { return w.owner == o }); i >= 0 {
			n -= want[i].count
			want[i].count = max(-n, 0)
		}
		if n > 0 {
			for _, b := range have.take(n, cost) {
				next.fill(b, 0)
				free = append(free, b)
			}
		}
	}
	free = free.merged()
	for _, n := range want {
		next.give(n.owner, next.beside(n, &free, cost))
	}
	return next
}

// beside takes blocks for an owner out of those that are free: first such that complete a larger block of its own.
func (c *Codes) beside(n need, free *blocks, cost func(block) int) (taken []block) {
	for n.count > 0 {
		best := -1
		for i, b := range *free {
			if b.size <= n.count && c.whole(b.buddy(), n.owner) && (best < 0 || b.size > (*free)[best].size) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		b := (*free)[best]
		*free = slices.Delete(*free, best, best+1)
		c.fill(b, n.owner)
		taken = append(taken, b)
		n.count -= b.size
	}
	return append(taken, free.take(n.count, cost)...)
}

// whole reports whether all of a block is one owner's.
func (c *Codes) whole(b block, owner uint32) bool {
	if b.size >= len(c.owner) {
		return false
	}
	for _, o := range c.owner[b.at : b.at+b.size] {
		if o != owner {
			return false
		}
	}
	return true
}

func (c *Codes) give(owner uint32, all []block) {
	for _, b := range all {
		c.fill(b, owner)
	}
}

func (c *Codes) fill(b block, owner uint32) {
	for i := range b.size {
		c.owner[b.at+i] = owner
	}
}

// owners are all that own something, in order.
func (c *Codes) owners() []uint32 {
	return slices.Compact(slices.Sorted(slices.Values(c.owner)))
}

// blocksOf are an owner's Dcodes in the largest blocks.
func (c *Codes) blocksOf(owner uint32) (out blocks) {
	for i, o := range c.owner {
		if o == owner {
			out = append(out, block{i, 1})
		}
	}
	return out.merged()
}

// costs is the number of live connections of a block.
func (c *Codes) costs(live func(code uint16) int) func(block) int {
	if live == nil {
		return nil
	}
	sums := make([]int, len(c.owner)+1) // of all places before
	for code := range uint16(MaxCodes) {
		sums[c.place(code)+1] += live(code)
	}
	for i := range c.owner {
		sums[i+1] += sums[i]
	}
	return func(b block) int { return sums[b.at+b.size] - sums[b.at] }
}

// need is how many Dcodes an owner shall have.
type need struct {
	owner uint32
	count int
}

// part is a need in the making.
type part struct {
	need
	rest   int // of count, in 1/total
	weight int
}

// keep lets nobody lose a Dcode by rounding where all that must change is that some get more: a backend that leaves moves no
// connection of another. The others wait, those that gain most first; but who is new and would be left without any.
func keep(parts []part, have map[uint32]int, total, size int) {
	surplus := 0
	for _, p := range parts {
		if have[p.owner]*total >= p.weight*size+total {
			return // it has to give at least a whole one
		}
	}
	for i := range parts {
		if p := &parts[i]; p.count < have[p.owner] {
			surplus += have[p.owner] - p.count
			p.count = have[p.owner]
		}
	}
	for ; surplus > 0; surplus-- {
		most := 0
		for i, p := range parts {
			if p.count-have[p.owner] > parts[most].count-have[parts[most].owner] && (p.count > 1 || len(parts) > size) {
				most = i
			}
		}
		if parts[most].count <= have[parts[most].owner] {
			most = richest(parts)
		}
		parts[most].count--
	}
}

// richest is who has most Dcodes for its weight, of those that have several.
func richest(parts []part) (most int) {
	for i, p := range parts {
		if best := parts[most]; p.count > 1 && (best.count <= 1 || p.count*best.weight > best.count*p.weight) {
			most = i
		}
	}
	return most
}

// needs divides by largest remainder; every backend has at least one Dcode, as long as there are enough. Equal remainders
// go to who has more now, then to the lower number. The largest needs come first.
func needs(size int, pool []Share, now *Codes) []need {
	var have map[uint32]int // by the new size
	if now != nil {
		have = now.Counts()
		delete(have, 0)
		for o := range have {
			have[o] *= size / len(now.owner)
		}
	}
	total := 0
	for _, s := range pool {
		total += s.Weight
	}
	parts := make([]part, len(pool))
	left := size
	for i, s := range pool {
		n := s.Weight * size
		parts[i] = part{need{s.Owner, n / total}, n % total, s.Weight}
		if parts[i].count == 0 && len(pool) <= size {
			parts[i].count, parts[i].rest = 1, 0
		}
		left -= parts[i].count
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.rest, a.rest), cmp.Compare(have[b.owner], have[a.owner]), cmp.Compare(a.owner, b.owner))
	})
	for i := 0; left > 0; i, left = i+1, left-1 {
		parts[i%len(parts)].count++
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.owner, b.owner)) })
	for ; left < 0; left++ { // too many were given their one: others do without
		parts[richest(parts)].count--
	}
	keep(parts, have, total, size)
	out := make([]need, len(parts))
	for i, p := range parts {
		out[i] = p.need
	}
	return out
}
