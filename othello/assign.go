package othello

import "errors"

// ErrCycle says that the edges close a cycle: other hash functions are needed.
var ErrCycle = errors.New("othello: the keys' cells form a cycle")

// Edge is a key as the graph sees it: a cell of A, a cell of B, and what their xor shall be.
type Edge struct{ A, B, Value uint32 }

// cell is what peeling knows of a cell: how many edges are left at it, and the xor of their numbers, which is the number of
// the last one.
type cell struct{ degree, edges uint32 }

// Assign changes cells such that a[e.A]^b[e.B] == e.Value for every edge. Cells at which no edge has to change anything keep
// their value: fill them beforehand with random ones. It takes time and memory in proportion to cells and edges, at most
// 2^31-1 of the latter, and returns ErrCycle, with the cells unchanged, if the edges are no forest. Edges must lie within a and b.
func Assign(a, b []uint32, edges []Edge) error {
	order, ok := peel(len(a), len(b), edges)
	if !ok {
		return ErrCycle
	}
	for i := len(order) - 1; i >= 0; i-- { // at its turn an edge's leaf is free of all edges before it
		e := &edges[order[i]>>1]
		if order[i]&1 == 0 {
			a[e.A] = b[e.B] ^ e.Value
		} else {
			b[e.B] = a[e.A] ^ e.Value
		}
	}
	return nil
}

// peel takes away edge after edge that is the only one at one of its cells: the order says which, and in its lowest bit in
// which array that cell is. Edges of a cycle cannot be taken.
func peel(na, nb int, edges []Edge) (order []uint32, ok bool) {
	a, b := make([]cell, na), make([]cell, nb)
	for i, e := range edges {
		a[e.A].degree++
		a[e.A].edges ^= uint32(i)
		b[e.B].degree++
		b[e.B].edges ^= uint32(i)
	}
	order = make([]uint32, 0, len(edges))
	take := func(array uint32, c *cell) {
		for c.degree == 1 {
			i := c.edges
			order = append(order, i<<1|array)
			c.degree, c.edges = 0, 0
			if array ^= 1; array == 0 {
				c = &a[edges[i].A]
			} else {
				c = &b[edges[i].B]
			}
			c.degree--
			c.edges ^= i
		}
	}
	for i := range a {
		take(0, &a[i])
	}
	for i := range b {
		take(1, &b[i])
	}
	return order, len(order) == len(edges)
}
