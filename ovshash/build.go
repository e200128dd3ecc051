package ovshash

import (
	"encoding/binary"
	"math/bits"
)

// Build is a build of Open vSwitch's general hash. The zero Build is none.
type Build uint8

// Builds. There are three in the source, and two that differ: that for AArch64 with CRC instructions gives what that for x86-64
// with SSE4.2 gives.
const (
	Murmur Build = 1 // the general one, after MurmurHash3: Debian's and Ubuntu's for amd64, among others
	CRC32C Build = 2 // by a processor's CRC32C instructions: x86-64 compiled with SSE4.2, AArch64 compiled with CRC
)

// Builds are all builds there are.
func Builds() []Build { return []Build{Murmur, CRC32C} }

// String is "murmur" or "crc32c", and "" for no build.
func (b Build) String() string {
	switch b {
	case Murmur:
		return "murmur"
	case CRC32C:
		return "crc32c"
	}
	return ""
}

// add mixes a word into a hash (hash_add).
func (b Build) add(hash, word uint32) uint32 {
	if b == CRC32C {
		var p [4]byte
		binary.LittleEndian.PutUint32(p[:], word)
		return crc(hash, p[:])
	}
	word *= 0xcc9e2d51
	word = bits.RotateLeft32(word, 15)
	word *= 0x1b873593
	return bits.RotateLeft32(hash^word, 13)*5 + 0xe6546b64
}

// add64 mixes two words in the order of memory (hash_add64).
func (b Build) add64(hash uint32, words uint64) uint32 {
	return b.add(b.add(hash, uint32(words)), uint32(words>>32))
}

// finish ends a hash (hash_finish).
func (b Build) finish(hash, final uint32) uint32 {
	if b == CRC32C {
		hash = b.add64(hash, uint64(final)) * 0x805204f3
		return hash ^ hash>>16
	}
	hash ^= final
	hash = (hash ^ hash>>16) * 0x85ebca6b
	hash = (hash ^ hash>>13) * 0xc2b2ae35
	return hash ^ hash>>16
}

// uint64 hashes 64 bits (hash_uint64).
func (b Build) uint64(x uint64) uint32 {
	if b == CRC32C {
		return b.finish(b.add64(0, x), 23)
	}
	return b.finish(b.add64(0, x), 8)
}

// pair hashes two words (hash_2words, and hash_int with y as basis).
func (b Build) pair(x, y uint32) uint32 {
	if b == CRC32C {
		return b.uint64(uint64(y)<<32 | uint64(x))
	}
	return b.finish(b.add(b.add(x, 0), y), 8)
}

// bytes hashes bytes (hash_bytes): words in little-endian order, the last filled up with zeros.
func (b Build) bytes(p []byte, basis uint32) uint32 {
	hash, n := basis, len(p)
	for ; len(p) >= 4; p = p[4:] {
		hash = b.add(hash, binary.LittleEndian.Uint32(p))
	}
	if len(p) > 0 {
		var last [4]byte
		copy(last[:], p)
		hash = b.add(hash, binary.LittleEndian.Uint32(last[:]))
	}
	return b.finish(hash, uint32(n))
}
