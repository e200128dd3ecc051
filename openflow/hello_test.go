package openflow

import (
	"errors"
	"testing"
)

func TestNegotiate(t *testing.T) {
	both, only13 := []Version{V13, V15}, []Version{V13}
	bitmap := func(vs ...Version) []byte { return AppendHello(nil, 1, vs...) }
	bare := func(v Version) []byte { return end(begin(nil, v, TypeHello, 1), 0) }
	tests := []struct {
		name  string
		ours  []Version
		hello []byte
		want  Version // 0: an error
	}{
		{"both have both", both, bitmap(V13, V15), V15},
		{"order does not matter", []Version{V15, V13}, bitmap(V15, V13), V15},
		{"peer has 1.3 alone", both, bitmap(V13), V13},
		{"we speak 1.3 alone though the peer offers more", only13, bitmap(V13, V15), V13},
		{"gap: peer's highest is 1.4", both, bitmap(V13, 5), V13},
		{"nothing in common", only13, bitmap(V15), 0},
		{"an empty bitmap", both, bitmap(), 0},
		{"no bitmap, 1.3", both, bare(V13), V13},
		{"no bitmap, 1.5", both, bare(V15), V15},
		{"no bitmap, later than ours", only13, bare(V15), V13},
		{"no bitmap, 1.4: we do not speak the lower one", both, bare(5), 0},
		{"no bitmap, 1.0", both, bare(1), 0},
		{"nothing of ours", nil, bitmap(V13), 0},
	}
	for _, tt := range tests {
		h, err := ParseHello(tt.hello)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got, err := Negotiate(tt.ours, h)
		var negotiation *NegotiationError
		if got != tt.want || (tt.want == 0) != errors.As(err, &negotiation) {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
	h, _ := ParseHello(bitmap(V15))
	_, err := Negotiate(only13, h)
	if want := "openflow: no common version: ours [1.3], the peer's [1.5]"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

// TestHelloElements: unknown elements are stepped over, and those with a length that would not step are errors.
func TestHelloElements(t *testing.T) {
	hello := func(elements ...byte) []byte {
		return end(append(begin(nil, V15, TypeHello, 1), elements...), 0)
	}
	tests := []struct {
		name   string
		msg    []byte
		bitmap uint32
		ok     bool
	}{
		{"unknown before", hello(0, 9, 0, 5, 1, 0, 0, 0, 0, 1, 0, 8, 0, 0, 0, 0x50), 0x50, true},
		{"unknown after, not padded", hello(0, 1, 0, 8, 0, 0, 0, 0x50, 0, 9, 0, 5, 1), 0x50, true},
		{"bitmap of two words", hello(0, 1, 0, 12, 0, 0, 0, 0x50, 0, 0, 0, 1, 0, 0, 0, 0), 0x50, true},
		{"length 0", hello(0, 9, 0, 0, 0, 0, 0, 0), 0, false},
		{"length 3", hello(0, 1, 0, 3, 0, 0, 0, 0), 0, false},
		{"beyond the end", hello(0, 9, 0, 9, 0, 0, 0, 0), 0, false},
		{"cut", hello(0, 1, 0), 0, false},
	}
	for _, tt := range tests {
		h, err := ParseHello(tt.msg)
		if (err == nil) != tt.ok || h.Bitmap != tt.bitmap {
			t.Errorf("%s: %+v, %v", tt.name, h, err)
		}
		var format *FormatError
		if !tt.ok && !errors.As(err, &format) {
			t.Errorf("%s: error of type %T", tt.name, err)
		}
	}
}

// TestEcho: a reply repeats xid and payload.
func TestEcho(t *testing.T) {
	request := AppendEchoRequest(nil, V13, 77, []byte("ping"))
	h, err := ParseHeader(request)
	if err != nil {
		t.Fatal(err)
	}
	reply := AppendEchoReply(nil, h.Version, h.XID, request[8:])
	if want := "\x04\x03\x00\x0c\x00\x00\x00\x4dping"; string(reply) != want {
		t.Errorf("%q, want %q", reply, want)
	}
	if n := len(AppendEchoReply(nil, V13, 1, make([]byte, 70000))); n != maxMessage {
		t.Errorf("a long echo has %d bytes", n)
	}
}
