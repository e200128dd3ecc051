package openflow

import (
	"slices"
	"strings"
)

// Hello is what a peer offers. Its header names its highest version; Bitmap, if HasBitmap, has bit 1<<v set for each
// version v it speaks.
type Hello struct {
	XID       uint32
	Version   Version
	Bitmap    uint32
	HasBitmap bool
}

const helloVersionBitmap = 1

// String lists the versions offered.
func (h Hello) String() string {
	if !h.HasBitmap {
		return "at most " + h.Version.String()
	}
	var names []string
	for v := range Version(32) {
		if h.Speaks(v) {
			names = append(names, v.String())
		}
	}
	return "[" + strings.Join(names, " ") + "]"
}

// Speaks reports whether the bitmap has v.
func (h Hello) Speaks(v Version) bool { return v < 32 && h.Bitmap>>v&1 != 0 }

// AppendHello appends a hello that offers versions (each below 32), with a version bitmap (section 7.5.1).
func AppendHello(b []byte, xid uint32, versions ...Version) []byte {
	var bitmap uint32
	var highest Version
	for _, v := range versions {
		bitmap |= 1 << v
		highest = max(highest, v)
	}
	start := len(b)
	b = begin(b, highest, TypeHello, xid)
	b = append(b, 0, helloVersionBitmap, 0, 8)
	return end(be.AppendUint32(b, bitmap), start)
}

// ParseHello reads a hello. Elements other than the version bitmap are skipped.
func ParseHello(msg []byte) (Hello, error) {
	body, err := payload(msg, TypeHello, 0)
	if err != nil {
		return Hello{}, err
	}
	h := Hello{XID: be.Uint32(msg[4:]), Version: Version(msg[0])}
	for len(body) > 0 {
		n, err := lengthOf("hello element", body, 2, 4)
		if err != nil {
			return h, err
		}
		if be.Uint16(body) == helloVersionBitmap && n >= 8 && !h.HasBitmap {
			h.Bitmap, h.HasBitmap = be.Uint32(body[4:]), true
		}
		body = body[min(round8(n), len(body)):] // tolerate a last element without its padding
	}
	return h, nil
}

// Negotiate finds the version to speak with the sender of h: the highest common one if h has a bitmap, else the lower
// of both highest ones if that is ours (section 6.3.1). The error is a [*NegotiationError].
func Negotiate(ours []Version, h Hello) (Version, error) {
	var v Version
	if h.HasBitmap {
		for _, o := range ours {
			if h.Speaks(o) {
				v = max(v, o)
			}
		}
	} else if len(ours) > 0 {
		v = min(slices.Max(ours), h.Version)
	}
	if v == 0 || !slices.Contains(ours, v) {
		return 0, &NegotiationError{Ours: slices.Clone(ours), Hello: h}
	}
	return v, nil
}
