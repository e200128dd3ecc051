package othello

import (
	"cmp"
	"slices"
)

// block is an aligned range of places: its size is a power of two that divides its beginning.
type block struct{ at, size int }

// buddy is the block that makes up one of twice the size together with b.
func (b block) buddy() block { return block{b.at ^ b.size, b.size} }

type blocks []block

func (l blocks) size() (n int) {
	for _, b := range l {
		n += b.size
	}
	return n
}

// merged is the same set in the largest blocks, by place.
func (l blocks) merged() (out blocks) {
	slices.SortFunc(l, func(a, b block) int { return cmp.Compare(a.at, b.at) })
	for _, b := range l {
		for len(out) > 0 && out[len(out)-1] == b.buddy() { // of a pair the lower comes first
			b = block{out[len(out)-1].at, 2 * b.size}
			out = out[:len(out)-1]
		}
		out = append(out, b)
	}
	return out
}

// take takes n places out of the set, which has as many, and leaves it in large blocks: the largest that are not too large, whole;
// then of the smallest that is too large a half. Among equals the cheapest, then the first.
func (l *blocks) take(n int, cost func(block) int) (taken []block) {
	better := func(a, b block, smaller bool) bool {
		if a.size != b.size {
			return a.size < b.size == smaller
		}
		return cost != nil && cost(a) < cost(b)
	}
	for n > 0 {
		fit, split := -1, -1
		for i, b := range *l {
			if b.size <= n && (fit < 0 || better(b, (*l)[fit], false)) {
				fit = i
			}
			if b.size > n && (split < 0 || better(b, (*l)[split], true)) {
				split = i
			}
		}
		if fit >= 0 {
			taken = append(taken, (*l)[fit])
			n -= (*l)[fit].size
			*l = slices.Delete(*l, fit, fit+1)
			continue
		}
		half := block{(*l)[split].at, (*l)[split].size / 2}
		(*l)[split] = half.buddy()
		*l = append(*l, half)
	}
	return taken
}
