package ovshash

import (
	"encoding/binary"
	"math/bits"
)

// Jenkins is Bob Jenkins' lookup3 ("hashlittle", 2006) of bytes as jhash_bytes has it: the last 12 bytes or less, filled up with
// zeros, are mixed at the end, and nothing is if there are none left. It is the same in all builds.
func Jenkins(p []byte, basis uint32) uint32 {
	a := 0xdeadbeef + uint32(len(p)) + basis
	b, c := a, a
	take := func(p []byte) {
		a += binary.LittleEndian.Uint32(p)
		b += binary.LittleEndian.Uint32(p[4:])
		c += binary.LittleEndian.Uint32(p[8:])
	}
	for ; len(p) >= 12; p = p[12:] {
		take(p)
		a, b, c = mix(a, b, c)
	}
	if len(p) > 0 {
		var last [12]byte
		copy(last[:], p)
		take(last[:])
		c = final(a, b, c)
	}
	return c
}

func mix(a, b, c uint32) (uint32, uint32, uint32) {
	turn := func(x, y, z *uint32, k int) {
		*x = (*x - *z) ^ bits.RotateLeft32(*z, k)
		*z += *y
	}
	turn(&a, &b, &c, 4)
	turn(&b, &c, &a, 6)
	turn(&c, &a, &b, 8)
	turn(&a, &b, &c, 16)
	turn(&b, &c, &a, 19)
	turn(&c, &a, &b, 4)
	return a, b, c
}

func final(a, b, c uint32) uint32 {
	turn := func(x *uint32, y uint32, k int) { *x = (*x ^ y) - bits.RotateLeft32(y, k) }
	turn(&c, b, 14)
	turn(&a, c, 11)
	turn(&b, a, 25)
	turn(&c, b, 16)
	turn(&a, c, 4)
	turn(&b, a, 14)
	turn(&c, b, 24)
	return c
}
