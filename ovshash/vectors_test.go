package ovshash

import (
	"math"
	"net/netip"
	"testing"
)

// vectors are what Open vSwitch 3.1.0's own lib/hash.h computes, compiled into a small program three times: as it is, with
// -msse4.2, and for AArch64 with its two CRC instructions written out in C. The last two gave the same numbers throughout.
// pick is of 100 buckets with the ids 256, 512 and so on; path is symmetric_l3l4+udp with basis 11.
var vectors = []struct {
	build            Build
	src, dst         string
	proto            uint8
	srcPort, dstPort uint16
	addresses, five  uint32
	pick, score      uint32
	path             uint32
}{
	{Murmur, "10.0.0.9", "10.0.0.100", 6, 40000, 80, 0xba25dc8b, 0xc49fc580, 24832, 0xfd7c, 0x60906bba},
	{Murmur, "192.168.7.31", "10.0.0.100", 17, 53111, 53, 0x8c217483, 0xa9d380f7, 4096, 0xfcd3, 0x106cf703},
	{Murmur, "0.0.0.1", "255.255.255.254", 6, 1, 65535, 0xbbffdc1d, 0x4371ea58, 13568, 0xfee1, 0xbe1268dd},
	{Murmur, "172.16.254.3", "10.0.0.100", 1, 0, 0, 0x7bbdece3, 0x875d9a33, 14336, 0xfbff, 0x2e4e61bd},
	{Murmur, "fd00::9", "fd00::100", 6, 40000, 80, 0x11c3dc8e, 0x69ed20c7, 14592, 0xff16, 0xd765f15d},
	{Murmur, "2001:db8:1:2:3:4:5:6", "fd00::100", 17, 1024, 443, 0xd7dfc293, 0xbe0624ae, 11008, 0xfcec, 0x136eeea1},
	{CRC32C, "10.0.0.9", "10.0.0.100", 6, 40000, 80, 0x53362482, 0x64cfa0a7, 14848, 0xfce6, 0x66a71823},
	{CRC32C, "192.168.7.31", "10.0.0.100", 17, 53111, 53, 0xba8cc127, 0x2f2b7820, 10240, 0xfecf, 0x40671afd},
	{CRC32C, "0.0.0.1", "255.255.255.254", 6, 1, 65535, 0x73ed6cb3, 0xd16f471d, 11520, 0xf940, 0x5cb98f2c},
	{CRC32C, "172.16.254.3", "10.0.0.100", 1, 0, 0, 0xa561857b, 0x05286f3e, 14336, 0xfd58, 0xf0a01575},
	{CRC32C, "fd00::9", "fd00::100", 6, 40000, 80, 0x99670568, 0x6c8cd886, 3328, 0xfea6, 0xdbd54fc1},
	{CRC32C, "2001:db8:1:2:3:4:5:6", "fd00::100", 17, 1024, 443, 0x5e9e96b9, 0x7a626554, 21504, 0xfa76, 0x3545886f},
}

func ids(n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(i+1) * 256
	}
	return out
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		f := &Flow{EthType: ethIPv4, Src: netip.MustParseAddr(v.src), Dst: netip.MustParseAddr(v.dst), Proto: v.proto, SrcPort: v.srcPort, DstPort: v.dstPort}
		if got := v.build.Basis(f, Addresses); got != v.addresses {
			t.Errorf("%s %s: addresses %#x, want %#x", v.build, v.src, got, v.addresses)
		}
		five := v.build.Basis(f, FiveTuple)
		if five != v.five {
			t.Errorf("%s %s: 5-tuple %#x, want %#x", v.build, v.src, five, v.five)
		}
		if id, ok := v.build.Pick(ids(100), five); !ok || id != v.pick || v.build.Score(id, five) != v.score {
			t.Errorf("%s %s: bucket %d with %#x, want %d with %#x", v.build, v.src, id, v.build.Score(id, five), v.pick, v.score)
		}
		if got := v.build.Path(f, SymmetricL3L4UDP, 11); got != v.path {
			t.Errorf("%s %s: multipath %#x, want %#x", v.build, v.src, got, v.path)
		}
		f.Fragment = LaterFragment
		if got, want := v.build.Basis(f, FiveTuple), v.build.Basis(f, Addresses|Protocol); got != want {
			t.Errorf("%s %s: a later fragment has ports", v.build, v.src)
		}
	}
	for b, want := range map[Build][4]uint32{
		Murmur: {0x419c5c54, 0xb86134ec, 0x63852afc, 0x1f583365},
		CRC32C: {0xc731e832, 0x6a32a9f4, 0x933b582b, 0x2308cf40},
	} {
		if got := [4]uint32{b.pair(256, 0), b.pair(0x01020304, 0xcafebabe), b.uint64(0), b.bytes([]byte("Hello, world!"), 7)}; got != want {
			t.Errorf("%s: %#x, want %#x", b, got, want)
		}
	}
}

// The numbers are those of Open vSwitch 3.1.0's lib/jhash.c.
func TestJenkins(t *testing.T) {
	const text = "The quick brown fox jumps over the lazy dog"
	for n, want := range map[int]uint32{0: 0xdeadbefa, 1: 0xbfa24368, 6: 0x7773b81e, 12: 0xd7e3e1d2, 13: 0xcd144cdc, 24: 0x0016797d, 32: 0x1b916cd0, 43: 0xd20f9d83} {
		if got := Jenkins([]byte(text[:n]), 11); got != want {
			t.Errorf("%d bytes: %#x, want %#x", n, got, want)
		}
	}
}

// Of buckets with the same score the last in the list is chosen, so the order of the list matters.
func TestTies(t *testing.T) {
	for basis := range uint32(1000) {
		id, _ := Murmur.Pick(ids(1000), basis)
		list := ids(1000)
		for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
			list[i], list[j] = list[j], list[i]
		}
		if other, _ := Murmur.Pick(list, basis); other != id {
			if Murmur.Score(other, basis) != Murmur.Score(id, basis) || other > id {
				t.Fatalf("basis %d: %d, and %d the other way round", basis, id, other)
			}
			return
		}
	}
	t.Error("no tie among 1,000 buckets in 1,000 choices")
}

func TestShares(t *testing.T) {
	for _, n := range []int{1, 2, 3, 100, 1100} {
		sum, all := 0.0, Shares(n)
		for _, s := range all {
			sum += s
		}
		if len(all) != n || math.Abs(sum-1) > 1e-9*float64(n) {
			t.Errorf("%d buckets share %v", n, sum)
		}
	}
	// The k-th of three has k-1 before it that may have as much, and 3-k behind it that must have less.
	const m = scores
	last := (m + 1) * (2*m + 1) / 6.0 / m / m
	first := (m - 1) * (2*m - 1) / 6.0 / m / m
	for i, want := range []float64{first, 1 - first - last, last} {
		if got := Shares(3)[i]; math.Abs(got-want) > 1e-9 {
			t.Errorf("number %d of three has %v, want %v", i+1, got, want)
		}
	}
	if s := Shares(1000); s[999]/s[0] < 1.014 || s[999]/s[0] > 1.017 {
		t.Errorf("of 1,000 the last has %v times what the first has", s[999]/s[0])
	}
}

// What chooses nothing says so, and does not fail.
func TestNothing(t *testing.T) {
	if _, ok := Murmur.Pick(nil, 7); ok || Build(0).String() != "" {
		t.Error("no bucket is chosen from none")
	}
	for _, b := range append(Builds(), 0) {
		for f := range SymmetricL3 + 1 {
			b.Path(&Flow{}, f, 0)
		}
		b.Basis(&Flow{}, FiveTuple)
	}
	if Threshold(math.MaxUint32, 1) != 0 || Threshold(math.MaxUint32, 65536) != 65535 || Modulo(65537, 65536) != 1 {
		t.Error("links out of range")
	}
}
