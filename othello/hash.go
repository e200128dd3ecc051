package othello

import "math/bits"

// Hash is the pair of hash functions of an Othello: one 64-bit hash under a seed, its halves scaled to the numbers of cells.
type Hash struct {
	Seed uint64
	A, B uint32 // cells in each array
}

// Cells are the cells of a key, one in each array.
func (h Hash) Cells(key uint64) (a, b uint32) {
	x := mix(key ^ h.Seed)
	return uint32(x >> 32 * uint64(h.A) >> 32), uint32(x & 0xffffffff * uint64(h.B) >> 32)
}

// fill is the value of a cell that no key decides. It depends on the cell alone, so that an unknown key keeps its value from
// one export to the next as long as its cells are free.
func (h Hash) fill(array, cell uint32) uint32 {
	return uint32(mix(bits.RotateLeft64(h.Seed, 32) + uint64(array)<<32 + uint64(cell)))
}

// mix is a bijection of 64 bits: distinct keys have distinct hashes (Pelle Evensen's moremur, 2019).
func mix(x uint64) uint64 {
	x = (x ^ x>>27) * 0x3C79AC492BA7B653
	x = (x ^ x>>33) * 0x1C69B3F74AC4AE35
	return x ^ x>>27
}
