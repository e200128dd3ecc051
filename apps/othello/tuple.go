package othello

import (
	"encoding/binary"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/ovshash"
)

// Bases of the hashes. That of Dcodes is for ever: another one would move all connections.
const codeBasis = 11

// Tuple is a connection as its packets to the VIP show it.
type Tuple apps.Tuple

// Hash is what the switch computes of a packet of the connection, by the actions of [hashing]: of IPv4 Jenkins' hash of the
// client's port and address, of IPv6 that of all addresses and ports by exclusive or. The VIP's port does not count for IPv4.
func (t Tuple) Hash(basis uint16) uint32 {
	if t.Src.Addr().Is4() {
		var p [6]byte
		binary.BigEndian.PutUint16(p[:], t.Src.Port())
		a := t.Src.Addr().As4()
		copy(p[2:], a[:])
		return ovshash.Jenkins(p[:], uint32(basis))
	}
	f := ovshash.Flow{EthType: apps.EtherTypeIPv6, Src: t.Src.Addr(), Dst: t.Dst.Addr(), Proto: t.Proto, SrcPort: t.Src.Port(), DstPort: t.Dst.Port()}
	if t.Proto == apps.ProtoUDP { // whose ports that hash leaves out
		binary.BigEndian.PutUint16(f.EthDst[4:], f.SrcPort)
		binary.BigEndian.PutUint16(f.EthDst[2:], f.DstPort)
	}
	return ovshash.Murmur.Path(&f, ovshash.SymmetricL4, basis) // all builds have it alike
}

// CodeHash is the hash that its Dcode is made of.
func (t Tuple) CodeHash() uint32 { return t.Hash(codeBasis) }

// Code is the connection's Dcode.
func (t Tuple) Code() uint16 { return uint16(ovshash.Modulo(t.CodeHash(), MaxCodes)) }

// prepare puts what is to be hashed where it is hashed: with the ports in the place of the MACs, the hash covers those of UDP too.
func prepare(v6 bool, proto uint8) []flows.Action {
	src, dst := apps.PortFields(proto)
	if !v6 {
		return []flows.Action{
			flows.Move{Src: flows.Whole(flows.IPv4Src), Dst: flows.Span{Field: flows.EthSrc, Bits: 32}},
			flows.Move{Src: flows.Whole(src), Dst: flows.Span{Field: flows.EthSrc, Offset: 32, Bits: 16}},
		}
	}
	out := []flows.Action{flows.SetMAC(flows.EthSrc, flows.MAC{}), flows.SetMAC(flows.EthDst, flows.MAC{})}
	if proto == apps.ProtoUDP {
		out = append(out, flows.Move{Src: flows.Whole(src), Dst: flows.Span{Field: flows.EthDst, Bits: 16}},
			flows.Move{Src: flows.Whole(dst), Dst: flows.Span{Field: flows.EthDst, Offset: 16, Bits: 16}})
	}
	return out
}

// hashing is the action that hashes what prepare has put in place, to a number below n.
func hashing(v6 bool, basis uint16, n int, to flows.Span) flows.Action {
	m := flows.Multipath{Hash: flows.HashEthSrc, Basis: basis, Algorithm: flows.HashModulo, Links: uint32(n), Dst: to}
	if v6 {
		m.Hash = flows.HashSymmetricL4
	}
	return m
}
