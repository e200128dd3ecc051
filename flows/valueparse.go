package flows

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"
)

// parseValue reads VALUE or VALUE/MASK of a field, in any form that ovs-ofctl reads. Bits of the value outside the mask
// are cleared; a full mask is none.
func parseValue(f Field, s string) (v, mask Value, masked bool, err error) {
	switch f.info().kind {
	case ctState:
		v, mask, masked, err = parseFlags(f, &ctStates, s)
	case tcpFlags:
		v, mask, masked, err = parseFlags(f, &tcpNames, s)
	case frag:
		v, mask, err = parseFrag(s)
		masked = true
	default:
		one, other, slash := strings.Cut(s, "/")
		masked = slash
		if v, err = parsePlain(f, one); err == nil && slash {
			mask, err = parseMask(f, other)
		}
	}
	if err != nil {
		return Value{}, Value{}, false, fmt.Errorf("%v: %w", f, err)
	}
	if !masked {
		return v, Value{}, false, nil
	}
	full := f.FullMask()
	for i := range v {
		mask[i] &= full[i]
		v[i] &= mask[i]
	}
	if mask == full {
		return v, Value{}, false, nil
	}
	return v, mask, true, nil
}

func parsePlain(f Field, s string) (Value, error) {
	switch f.info().kind {
	case ethernet:
		m, err := ParseMAC(s)
		return m.Value(), err
	case ipv4:
		if a, err := netip.ParseAddr(s); err == nil && a.Is4() {
			return AddrValue(a), nil
		}
		return Value{}, fmt.Errorf("%q: want an IPv4 address", s)
	case ipv6:
		if a, err := netip.ParseAddr(s); err == nil && a.Is6() && a.Zone() == "" {
			return a.As16(), nil
		}
		return Value{}, fmt.Errorf("%q: want an IPv6 address", s)
	case port:
		p, err := parsePort(s)
		return U64(uint64(p), f.Width()), err
	}
	return parseNumber(s, f.FullMask(), f.Width())
}

func parseMask(f Field, s string) (m Value, err error) {
	k := f.info().kind
	if k != ipv4 && k != ipv6 {
		return parsePlain(f, s)
	}
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil {
		return parsePlain(f, s)
	}
	w := f.Width()
	if int(n) > 8*w {
		return m, fmt.Errorf("/%s: want a prefix length of at most %d", s, 8*w)
	}
	for i := range n {
		m[i/8] |= 0x80 >> (i % 8)
	}
	return m, nil
}

// parseNumber reads a decimal or, after 0x, hexadecimal number of which only the bits of full may be set.
func parseNumber(s string, full Value, width int) (v Value, err error) {
	digits, isHex := strings.CutPrefix(strings.ToLower(s), "0x")
	if isHex {
		digits = strings.TrimLeft(digits, "0")
		if len(digits) > 2*width {
			return v, fmt.Errorf("%s does not fit in %d bytes", s, width)
		}
		if len(s) == 2 {
			return v, fmt.Errorf("%q: want digits after 0x", s)
		}
		_, err = hex.Decode(v[:width], []byte(strings.Repeat("0", 2*width-len(digits))+digits))
	} else {
		var n uint64
		n, err = strconv.ParseUint(s, 10, 64)
		if width < 8 && n>>(8*width) != 0 {
			err = strconv.ErrRange
		}
		v = U64(n, width)
	}
	if errors.Is(err, strconv.ErrRange) {
		return v, fmt.Errorf("%s does not fit in %d bytes", s, width)
	}
	if err != nil {
		return v, fmt.Errorf("%q: want a number, decimal or after 0x hexadecimal", s)
	}
	for i := range v {
		if v[i]&^full[i] != 0 {
			return v, fmt.Errorf("%s is too large, want at most %s", s, appendHex(nil, full, width))
		}
	}
	return v, nil
}

// parseUint reads a number of at most so many bits, as parseNumber does.
func parseUint(s string, bits int) (uint64, error) {
	v, err := parseNumber(s, lowBits(bits, 8), 8)
	return v.Uint64(8), err
}

// parseInto reads a number that fits into a variable.
func parseInto[T uint8 | uint16 | uint32 | uint64](s string, to *T) error {
	n, err := parseUint(s, bits.Len64(uint64(^T(0))))
	*to = T(n)
	return err
}

func parsePort(s string) (uint32, error) {
	for i, n := range portNames {
		if strings.EqualFold(s, n) || i == 7 && strings.EqualFold(s, "NONE") {
			return PortIn + uint32(i), nil
		}
	}
	n, err := parseUint(s, 32)
	if err != nil {
		return 0, fmt.Errorf("%q: want a port number or one of %s", s, strings.Join(portNames[:], ", "))
	}
	return uint32(n), nil
}

// parseFlags reads +set-clear, one|other (all others clear), NUMBER or NUMBER/MASK.
func parseFlags(f Field, names *[32]string, s string) (v, mask Value, masked bool, err error) {
	w := f.Width()
	if s == "" {
		return v, mask, false, errors.New("want flags")
	}
	if s[0] >= '0' && s[0] <= '9' && !strings.Contains(s, "|") {
		one, other, slash := strings.Cut(s, "/")
		if v, err = parseNumber(one, f.FullMask(), w); err == nil && slash {
			mask, err = parseNumber(other, f.FullMask(), w)
		}
		return v, mask, slash, err
	}
	masked = s[0] == '+' || s[0] == '-'
	var set, seen uint32
	for rest := s; rest != ""; {
		on := true
		if masked {
			if on = rest[0] == '+'; !on && rest[0] != '-' {
				return v, mask, false, fmt.Errorf("%q: want + or - before each flag", s)
			}
			rest = rest[1:]
		}
		end := strings.IndexAny(rest, "+-|")
		if end < 0 {
			end = len(rest)
		}
		bit, err := flagBit(names, rest[:end])
		switch {
		case err != nil:
			return v, mask, false, err
		case seen&bit != 0:
			return v, mask, false, fmt.Errorf("%q: flag %s twice", s, rest[:end])
		case end < len(rest) && (rest[end] == '|') == masked:
			return v, mask, false, fmt.Errorf("%q: want +flag-flag or flag|flag, not both", s)
		}
		seen |= bit
		if on {
			set |= bit
		}
		rest = rest[end:]
		if !masked {
			rest = strings.TrimPrefix(rest, "|")
		}
	}
	return U64(uint64(set), w), U64(uint64(seen), w), masked, nil
}

func flagBit(names *[32]string, name string) (uint32, error) {
	var known []string
	for i, n := range names {
		if n == name && n != "" {
			return 1 << i, nil
		}
		if n != "" {
			known = append(known, n)
		}
	}
	return 0, fmt.Errorf("unknown flag %q, want one of %s", name, strings.Join(known, ", "))
}

func parseFrag(s string) (v, mask Value, err error) {
	switch s {
	case "no":
		mask[0] = 3
	case "first":
		v[0], mask[0] = 1, 3
	case "later":
		v[0], mask[0] = 3, 3
	case "yes":
		v[0], mask[0] = 1, 1
	case "not_later":
		mask[0] = 2
	default:
		err = fmt.Errorf("%q: want no, yes, first, later or not_later", s)
	}
	return v, mask, err
}
