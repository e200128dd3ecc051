package flows

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
)

var (
	ctStates = [32]string{"new", "est", "rel", "rpl", "inv", "trk", "snat", "dnat"}
	tcpNames = [32]string{"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr", "ns", "[200]", "[400]", "[800]"}
)

// portNames are those of the reserved ports from PortIn on.
var portNames = [8]string{"IN_PORT", "TABLE", "NORMAL", "FLOOD", "ALL", "CONTROLLER", "LOCAL", "ANY"}

func appendPort(b []byte, p uint32) []byte {
	if p >= PortIn {
		return append(b, portNames[p-PortIn]...)
	}
	return strconv.AppendUint(b, uint64(p), 10)
}

// appendHex is C's %#x, at any width: no leading zeros, and 0 for zero.
func appendHex(b []byte, v Value, width int) []byte {
	i := 0
	for i < width && v[i] == 0 {
		i++
	}
	if i == width {
		return append(b, '0')
	}
	b = append(b, "0x"...)
	start := len(b)
	b = hex.AppendEncode(b, v[i:width])
	if b[start] == '0' {
		b = slices.Delete(b, start, start+1)
	}
	return b
}

// appendHexPadded has at least digits digits.
func appendHexPadded(b []byte, n uint64, digits int) []byte {
	b = append(b, "0x"...)
	for d := digits - 1; d > 0 && n>>(4*d) == 0; d-- {
		b = append(b, '0')
	}
	return strconv.AppendUint(b, n, 16)
}

func appendMAC(b []byte, v Value) []byte {
	const digits = "0123456789abcdef"
	for i, c := range v[:6] {
		if i > 0 {
			b = append(b, ':')
		}
		b = append(b, digits[c>>4], digits[c&15])
	}
	return b
}

func appendIPv4(b []byte, v Value) []byte { return netip.AddrFrom4([4]byte(v[:4])).AppendTo(b) }

// appendIPv6 writes as inet_ntop does, which unlike netip has ::1.2.3.4 for IPv4-compatible addresses.
func appendIPv6(b []byte, v Value) []byte {
	if [12]byte(v[:12]) == ([12]byte{}) && v[12]|v[13] != 0 {
		return netip.AddrFrom4([4]byte(v[12:])).AppendTo(append(b, "::"...))
	}
	return netip.AddrFrom16(v).AppendTo(b)
}

// prefixLen is the length of the prefix that the mask is; not ok if it is none.
func prefixLen(mask Value, width int) (n int, ok bool) {
	for n < width*8 && mask[n/8]&(0x80>>(n%8)) != 0 {
		n++
	}
	for i := n; i < width*8; i++ {
		if mask[i/8]&(0x80>>(i%8)) != 0 {
			return 0, false
		}
	}
	return n, true
}

// appendFlags is fin|syn without, +fin-syn with a mask.
func appendFlags(b []byte, names *[32]string, v, mask uint32, masked bool) []byte {
	if !masked && v == 0 {
		return append(b, '0')
	}
	if !masked {
		mask = v
	}
	for i, first := 0, true; i < 32; i++ {
		switch {
		case mask>>i&1 == 0:
			continue
		case masked && v>>i&1 != 0:
			b = append(b, '+')
		case masked:
			b = append(b, '-')
		case !first:
			b = append(b, '|')
		}
		first = false
		if names[i] == "" {
			b = appendHexPadded(b, 1<<i, 1)
			continue
		}
		b = append(b, names[i]...)
	}
	return b
}

// appendFrag names a condition on ip_frag: bit 0 says fragment, bit 1 not the first.
func appendFrag(b []byte, v, mask byte) []byte {
	switch mask<<4 | v {
	case 0x30:
		return append(b, "no"...)
	case 0x31:
		return append(b, "first"...)
	case 0x33, 0x22:
		return append(b, "later"...)
	case 0x10:
		return append(b, "no"...)
	case 0x11:
		return append(b, "yes"...)
	case 0x20:
		return append(b, "not_later"...)
	}
	return append(b, "<error>"...)
}

// appendAddress is value or value/mask of the kinds that matches and actions write alike.
func appendAddress(b []byte, f Field, masked bool, v, mask Value) []byte {
	write := appendMAC
	switch f.info().kind {
	case ipv4:
		write = appendIPv4
	case ipv6:
		write = appendIPv6
	}
	b = write(b, v)
	if !masked {
		return b
	}
	b = append(b, '/')
	if n, ok := prefixLen(mask, f.Width()); ok && f.info().kind != ethernet {
		return strconv.AppendInt(b, int64(n), 10)
	}
	return write(b, mask)
}

// appendValue is the value as set_field has it.
func appendValue(b []byte, f Field, masked bool, v, mask Value) []byte {
	w := f.Width()
	if masked && mask == (Value{}) {
		return append(b, "ANY"...)
	}
	switch f.info().kind {
	case ethernet, ipv4, ipv6:
		return appendAddress(b, f, masked, v, mask)
	case ctState:
		return appendFlags(b, &ctStates, uint32(v.Uint64(w)), uint32(mask.Uint64(w)), masked)
	case tcpFlags:
		return appendFlags(b, &tcpNames, uint32(v.Uint64(w)), uint32(mask.Uint64(w)), masked)
	case frag:
		if !masked {
			mask[0] = 3
		}
		return appendFrag(b, v[0], mask[0])
	case port:
		b = appendPort(b, uint32(v.Uint64(w)))
	case decimal:
		b = strconv.AppendUint(b, v.Uint64(w), 10)
	case hexadecimal:
		b = appendHex(b, v, w)
	}
	if masked {
		b = appendHex(append(b, '/'), mask, w)
	}
	return b
}
