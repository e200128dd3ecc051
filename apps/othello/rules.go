package othello

import (
	"math/bits"
	"slices"
)

// CodeRule says that the Dcodes with some lowest bits have an owner. Of two rules the one with more bits counts.
type CodeRule struct {
	Code  uint16 // the bits under Mask
	Mask  uint16
	Bits  int // of Mask: the rule's priority
	Owner uint32
}

// Rules are the fewest rules that say who owns what, in the order of their bits (the optimal routing table constructor of
// Draves, King, Venkatachary and Zill, INFOCOM 1999). Where nobody owns anything there is none.
func (c *Codes) Rules() (out []CodeRule) {
	size := len(c.owner)
	depth := bits.Len(uint(size - 1))
	// Upwards: which owners a node of the tree may have, such that the nodes below need the fewest rules. Node 1 is the root,
	// the leaves are nodes size and up.
	may := make([][]uint32, 2*size)
	for i, o := range c.owner {
		may[size+i] = []uint32{o}
	}
	for i := size - 1; i > 0; i-- {
		may[i] = both(may[2*i], may[2*i+1])
	}
	// Downwards: a node that may have what it inherits needs no rule.
	inherits := make([]uint32, 2*size)
	for i := 1; i < 2*size; i++ {
		o, found := inherits[i/2], false
		if _, found = slices.BinarySearch(may[i], o); !found {
			o = may[i][0]
			level := bits.Len(uint(i)) - 1
			place := uint16(i-1<<level) << (depth - level)
			out = append(out, CodeRule{Code: bits.Reverse16(place) >> (16 - depth), Mask: uint16(1)<<level - 1, Bits: level, Owner: o})
		}
		inherits[i] = o
	}
	return out
}

// both is what two sorted sets have in common, or all of them where they have nothing.
func both(a, b []uint32) (common []uint32) {
	all := make([]uint32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			all, a = append(all, a[0]), a[1:]
		case a[0] > b[0]:
			all, b = append(all, b[0]), b[1:]
		default:
			common, all = append(common, a[0]), append(all, a[0])
			a, b = a[1:], b[1:]
		}
	}
	if len(common) > 0 {
		return common
	}
	return append(append(all, a...), b...)
}
