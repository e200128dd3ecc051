package othello

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrValue says that a value does not fit the cells.
var ErrValue = errors.New("othello: value wider than the cells")

// MaxWidth is the widest value, in bits.
const MaxWidth = 32

// Plane is a data plane: what a reader needs. It never changes, so any number of goroutines may read it.
type Plane interface {
	// Lookup is the value of a key that was put in, and some value for any other key.
	Lookup(key uint64) uint32
	// LookupBatch is Lookup of many keys, the faster the less of the cells is in the processor's caches: values[i] is that of
	// keys[i]. There must be as many values as keys.
	LookupBatch(keys []uint64, values []uint32)
	// Hash is the pair of hash functions.
	Hash() Hash
	// Bytes is the memory that the cells take.
	Bytes() int
}

// Uint16 is a data plane with cells of 16 bits: the fastest.
type Uint16 struct {
	hash Hash
	a, b []uint16
}

// Lookup is the value of a key.
func (p *Uint16) Lookup(key uint64) uint32 {
	a, b := p.hash.Cells(key)
	return uint32(p.a[a] ^ p.b[b])
}

// Hash is the pair of hash functions.
func (p *Uint16) Hash() Hash { return p.hash }

// Bytes is the memory that the cells take.
func (p *Uint16) Bytes() int { return 2 * (len(p.a) + len(p.b)) }

// Cells are the arrays, for those who bring them elsewhere. They must not be written to.
func (p *Uint16) Cells() (a, b []uint16) { return p.a, p.b }

// Packed is a data plane with cells of exactly as many bits as the values have: the smallest.
type Packed struct {
	hash  Hash
	width uint32
	mask  uint32
	a, b  []byte // little-endian bit strings; 8 bytes more, so that a word can be read at each cell
}

// Lookup is the value of a key.
func (p *Packed) Lookup(key uint64) uint32 {
	a, b := p.hash.Cells(key)
	return p.value(a, b)
}

func (p *Packed) value(a, b uint32) uint32 {
	i, j := uint64(a)*uint64(p.width), uint64(b)*uint64(p.width)
	x := binary.LittleEndian.Uint64(p.a[i>>3:]) >> (i & 7)
	y := binary.LittleEndian.Uint64(p.b[j>>3:]) >> (j & 7)
	return uint32(x^y) & p.mask
}

// Hash is the pair of hash functions.
func (p *Packed) Hash() Hash { return p.hash }

// Bytes is the memory that the cells take.
func (p *Packed) Bytes() int { return len(p.a) + len(p.b) }

// Width is the number of bits of a value.
func (p *Packed) Width() int { return int(p.width) }

// cells are the arrays before they have the form of a data plane.
type cells struct {
	hash Hash
	a, b []uint32
}

// newCells are cells that no key has decided yet.
func newCells(h Hash, mask uint32) cells {
	c := cells{hash: h, a: make([]uint32, h.A), b: make([]uint32, h.B)}
	for i := range c.a {
		c.a[i] = h.fill(0, uint32(i)) & mask
	}
	for i := range c.b {
		c.b[i] = h.fill(1, uint32(i)) & mask
	}
	return c
}

func (c cells) uint16() *Uint16 {
	p := &Uint16{hash: c.hash, a: make([]uint16, len(c.a)), b: make([]uint16, len(c.b))}
	for i, v := range c.a {
		p.a[i] = uint16(v)
	}
	for i, v := range c.b {
		p.b[i] = uint16(v)
	}
	return p
}

func (c cells) packed(width int) *Packed {
	return &Packed{hash: c.hash, width: uint32(width), mask: maskOf(width), a: pack(c.a, width), b: pack(c.b, width)}
}

// pack writes values one behind the other, the lowest bit first.
func pack(values []uint32, width int) []byte {
	out := make([]byte, 0, (len(values)*width+7)/8+8)
	var word uint64
	bits := 0
	for _, v := range values {
		word |= uint64(v) << bits
		for bits += width; bits >= 8; bits -= 8 {
			out = append(out, byte(word))
			word >>= 8
		}
	}
	out = append(out, byte(word))
	return out[:cap(out)]
}

func maskOf(width int) uint32 { return uint32(1)<<width - 1 }

func checkWidth(width int) error {
	if width < 1 || width > MaxWidth {
		return fmt.Errorf("othello: a width of %d bits, want 1 to %d", width, MaxWidth)
	}
	return nil
}
