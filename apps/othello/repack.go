package othello

import (
	"math/bits"
	"slices"

	"github.com/evenflow/evenflow/apps/vip"
)

// When a table is laid out anew: it lies in twice as many blocks as it needs, and a generation is worth the rules that are saved.
const (
	repackAt    = 2
	repackWorth = 64
)

// Repack lays a VIP's table of codes out anew, in the fewest blocks and with no more Dcodes than its pool needs, where changes have
// scattered it. That moves most Dcodes, and so is done only if all live connections are known and are so few that a pin for each
// that is moved, a rule, costs no more rules than are saved. It is a change like any other: a new generation. It is g itself if
// there is nothing to do.
func Repack(g *vip.Generations, live []State) *vip.Generations {
	now := g.Newest()
	if now == nil || len(now.Members) == 0 || len(g.Kept) > 1 || !g.Steady() {
		return g
	}
	codes, ok := FromOwners(now.Owners)
	if !ok || codes.Counts()[0] > 0 || codes.blocks() < repackAt*codes.fewest() {
		return g
	}
	packed := Pack(SizeFor(pool(now.Members)), pool(now.Members))
	moved, most := 0, codes.blocks()-packed.blocks()
	if most < repackWorth {
		return g
	}
	for _, s := range live {
		if packed.Owner(s.Code()) != s.Owner {
			if moved++; moved > most {
				return g
			}
		}
	}
	if saved := len(codes.Rules()) - len(packed.Rules()); saved < repackWorth || moved > saved {
		return g
	}
	next := g.Begin(now.Members)
	next.Kept[0].Owners = packed.Owners()
	return next
}

// blocks is in how many blocks the table lies, if each Dcode has an owner.
func (c *Codes) blocks() int {
	n, whole := len(c.owner), slices.Clone(c.owner) // of each block of a size its one owner, 0 if it has several
	for left := n / 2; left > 0; left /= 2 {
		for i := range left {
			a, b := whole[2*i], whole[2*i+1]
			if whole[i] = 0; a == b && a != 0 {
				whole[i] = a
				n--
			}
		}
	}
	return n
}

// fewest is in how many it could lie: of each owner as many as its number of Dcodes has bits set.
func (c *Codes) fewest() (n int) {
	for _, count := range c.Counts() {
		n += bits.OnesCount(uint(count))
	}
	return n
}

// census counts, for each Dcode, the live connections that would be displaced if it got another owner: those at the present one.
func (c *Codes) census(live []State) func(code uint16) int {
	if len(live) == 0 {
		return nil
	}
	n := make([]int, MaxCodes)
	for _, s := range live {
		if code := s.Code(); c.Owner(code) == s.Owner {
			n[code]++
		}
	}
	return func(code uint16) int { return n[code] }
}
