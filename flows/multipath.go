package flows

import (
	"fmt"
	"slices"
	"strings"
)

// Multipath hashes the packet, chooses one of Links numbers by the hash and writes it to Dst (Nicira multipath,
// ovs-actions(7)).
type Multipath struct {
	Hash      HashFields
	Basis     uint16 // changes the hash
	Algorithm HashAlgorithm
	Links     uint32 // 1 to 65536
	Arg       uint32 // of HashIterative
	Dst       Span   // enough bits for Links-1
}

// HashFields says what a [Multipath] hashes (NX_HASH_FIELDS_*).
type HashFields uint16

// Hashed fields. The symmetric ones are alike for both directions.
const (
	HashEthSrc HashFields = iota
	HashSymmetricL4
	HashSymmetricL3L4
	HashSymmetricL3L4UDP
	HashNWSrc
	HashNWDst
	HashSymmetricL3
)

// HashAlgorithm says how a [Multipath] chooses by the hash (NX_MP_ALG_*).
type HashAlgorithm uint16

// Algorithms of Multipath.
const (
	HashModulo HashAlgorithm = iota
	HashThreshold
	HashHighestRandomWeight
	HashIterative
)

var (
	hashFields     = [...]string{"eth_src", "symmetric_l4", "symmetric_l3l4", "symmetric_l3l4+udp", "nw_src", "nw_dst", "symmetric_l3"}
	hashAlgorithms = [...]string{"modulo_n", "hash_threshold", "hrw", "iter_hash"}
)

// Check reports what a switch would refuse.
func (a Multipath) Check() error {
	switch {
	case int(a.Hash) >= len(hashFields) || int(a.Algorithm) >= len(hashAlgorithms):
		return fmt.Errorf("multipath: hash %d, algorithm %d: unknown", a.Hash, a.Algorithm)
	case a.Links < 1 || a.Links > 1<<16:
		return fmt.Errorf("multipath: %d links, want 1 to 65536", a.Links)
	case !a.Dst.Valid() || a.Dst.Bits > 64:
		return fmt.Errorf("multipath: want 1 to 64 bits of a field for the number")
	case a.Dst.Bits < 16 && a.Links > 1<<a.Dst.Bits:
		return fmt.Errorf("multipath: %d links do not fit in %d bits", a.Links, a.Dst.Bits)
	}
	return nil
}

// AppendText is multipath(FIELDS,BASIS,ALGORITHM,LINKS,ARG,FIELD[FIRST..LAST]).
func (a Multipath) AppendText(b []byte) []byte {
	name := func(names []string, i int) string {
		if i < len(names) {
			return names[i]
		}
		return fmt.Sprint(i)
	}
	b = append(append(b, "multipath("...), name(hashFields[:], int(a.Hash))...)
	b = append(append(appendNum(b, ",", a.Basis), ','), name(hashAlgorithms[:], int(a.Algorithm))...)
	b = append(appendNum(appendNum(b, ",", a.Links), ",", a.Arg), ',')
	return append(a.Dst.AppendText(b), ')')
}

func (s *scanner) multipath(it item) (Action, error) {
	in, err := s.inner(it)
	if err != nil {
		return nil, err
	}
	var args [6]item
	n := 0
	for p, ok := in.next(); ok && n < len(args); p, ok = in.next() {
		args[n] = p
		n++
	}
	if n < len(args) {
		return nil, s.fail(it, "want multipath(FIELDS,BASIS,ALGORITHM,LINKS,ARG,FIELD[FIRST..LAST])")
	}
	fields := slices.Index(hashFields[:], strings.ToLower(args[0].text))
	if fields < 0 {
		return nil, s.fail(args[0], "want one of %s", strings.Join(hashFields[:], ", "))
	}
	algorithm := slices.Index(hashAlgorithms[:], strings.ToLower(args[2].text))
	if algorithm < 0 {
		return nil, s.fail(args[2], "want one of %s", strings.Join(hashAlgorithms[:], ", "))
	}
	var numbers [3]uint64
	for i, arg := range []struct {
		item
		bits int
	}{{args[1], 16}, {args[3], 32}, {args[4], 32}} {
		if numbers[i], err = parseUint(arg.text, arg.bits); err != nil {
			return nil, s.fail(arg.item, "%w", err)
		}
	}
	a := Multipath{Hash: HashFields(fields), Basis: uint16(numbers[0]), Algorithm: HashAlgorithm(algorithm),
		Links: uint32(numbers[1]), Arg: uint32(numbers[2])}
	if a.Dst, err = parseSpan(args[5].text); err == nil {
		err = a.Check()
	}
	if err != nil {
		return nil, s.fail(args[5], "%w", err)
	}
	return a, nil
}
