package ovshash

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// PathFields are the fields that the action multipath hashes, by their names in ovs-actions(7).
type PathFields uint8

// PathFields. All but SymmetricL3L4 and SymmetricL3L4UDP are the same in all builds.
const (
	EthSrc           PathFields = iota
	SymmetricL4                 // addresses, MACs, VLANs, and ports of TCP and SCTP, each by exclusive or
	SymmetricL3L4               // addresses, and ports of TCP and SCTP, by exclusive or
	SymmetricL3L4UDP            // and ports of UDP
	NwSrc
	NwDst
	SymmetricL3 // addresses, by exclusive or
)

// Path hashes a packet's fields (flow_hash_fields).
func (b Build) Path(f *Flow, fields PathFields, basis uint16) uint32 {
	switch fields {
	case EthSrc:
		return Jenkins(f.EthSrc[:], uint32(basis))
	case SymmetricL4:
		return f.symmetricL4(uint32(basis))
	case SymmetricL3L4:
		return b.symmetricL3L4(f, uint32(basis), false)
	case SymmetricL3L4UDP:
		return b.symmetricL3L4(f, uint32(basis), true)
	case SymmetricL3:
		var p [20]byte
		f.xorAddresses(p[:16])
		binary.BigEndian.PutUint16(p[16:], f.EthType)
		return Jenkins(p[:], uint32(basis))
	}
	a := f.Src
	if fields == NwDst {
		a = f.Dst
	}
	if !a.IsValid() {
		return uint32(basis)
	}
	return Jenkins(a.AsSlice(), uint32(basis))
}

// xorAddresses writes the exclusive or of the addresses to 16 bytes: of IPv4 to the first four.
func (f *Flow) xorAddresses(p []byte) {
	if !f.Src.IsValid() {
		return
	}
	for i, d := range f.Dst.AsSlice() {
		p[i] = f.Src.AsSlice()[i] ^ d
	}
}

func (f *Flow) symmetricL4(basis uint32) uint32 {
	var p [32]byte
	f.xorAddresses(p[:16])
	binary.BigEndian.PutUint16(p[16:], f.EthType)
	binary.BigEndian.PutUint16(p[18:], f.VLANs)
	if f.Src.IsValid() {
		p[28] = f.Proto
		if f.Proto == tcp || f.Proto == sctp {
			binary.BigEndian.PutUint16(p[20:], f.SrcPort^f.DstPort)
		}
	}
	for i := range f.EthSrc {
		p[22+i] = f.EthSrc[i] ^ f.EthDst[i]
	}
	return Jenkins(p[:], basis)
}

func (b Build) symmetricL3L4(f *Flow, basis uint32, udpPorts bool) uint32 {
	if !f.Src.IsValid() {
		return b.symmetricL2(f, basis)
	}
	var p [16]byte
	f.xorAddresses(p[:])
	hash := basis
	for i := 0; i < f.Src.BitLen()/8; i += 4 {
		hash = b.add(hash, binary.LittleEndian.Uint32(p[i:]))
	}
	hash = b.add(hash, uint32(f.Proto))
	if f.Fragment == Whole && (f.Proto == tcp || f.Proto == sctp || udpPorts && f.Proto == udp) {
		hash = b.add(hash, uint32(bits.ReverseBytes16(f.SrcPort^f.DstPort)))
	}
	return b.finish(hash, basis)
}

// symmetricL2 is what is left of that when a packet is not IP.
func (b Build) symmetricL2(f *Flow, basis uint32) uint32 {
	var p [12]byte
	binary.BigEndian.PutUint16(p[0:], f.EthType)
	binary.BigEndian.PutUint16(p[2:], f.VLANs)
	for i := range f.EthSrc {
		p[4+i] = f.EthSrc[i] ^ f.EthDst[i]
	}
	hash := basis
	for i := 0; i < len(p); i += 4 {
		hash = b.add(hash, binary.LittleEndian.Uint32(p[i:]))
	}
	return b.finish(hash, basis)
}

// Modulo is algorithm modulo_n: a hash's link of n, from 0. n is 1 to 65,536.
func Modulo(hash uint32, n int) int { return int(hash % uint32(n)) }

// Threshold is algorithm hash_threshold.
func Threshold(hash uint32, n int) int {
	if n == 1 {
		return 0
	}
	return int(hash / (math.MaxUint32/uint32(n) + 1))
}
