package openflow

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/flows"
	"github.com/google/go-cmp/cmp"
)

// capturedAs is the message of testdata/captured.txt with that name.
func capturedAs(t *testing.T, name string) []byte {
	t.Helper()
	for _, c := range loadCaptured(t) {
		if c.name == name {
			return c.msg
		}
	}
	t.Fatalf("no message %q", name)
	return nil
}

// survives gives the message to all parsers: none may panic or hang.
func survives(t *testing.T, msg []byte) {
	t.Helper()
	for _, parse := range parsers {
		checkError(t, parse(Version(msg[0]), msg))
	}
}

// TestFaultsOfOthers: what made other OpenFlow libraries for Go panic, hang, or send something else than was meant, when
// they met Open vSwitch 3.1 or little more than noise.
func TestFaultsOfOthers(t *testing.T) {
	t.Run("replies that a real switch sends", func(t *testing.T) {
		for _, name := range []string{"1.5 groups", "1.5 port counters", "1.5 meter features", "1.5 rule with multipath", "1.5 rule with conntrack",
			"1.5 rule with the stack", "1.5 rule with actions of others", "1.3 ports", "1.3 group counters", "1.3 groups", "1.3 group features",
			"1.3 meters", "1.3 meter counters", "1.3 meter features"} {
			msg := capturedAs(t, name)
			survives(t, msg)
			if err := parsers["reply"](Version(msg[0]), msg); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("replies without a body", func(t *testing.T) {
		for _, v := range versions {
			for kind := range uint16(20) {
				msg := must(t)(AppendMultipartReply(nil, v, 1, kind, false, nil))
				survives(t, msg)
			}
		}
	})
	t.Run("a selection method that we wrote", func(t *testing.T) {
		want := *sampleGroup(V15)
		got, err := ParseGroupMod(must(t)(AppendGroupMod(nil, V15, 1, GroupAdd, &want)))
		if diff := cmp.Diff(want, got.Group); diff != "" || err != nil {
			t.Errorf("%v, (-want +got):\n%s", err, diff)
		}
	})
	t.Run("nat to one port", func(t *testing.T) {
		nat := flows.NATTo(flows.NATDst, netip.MustParseAddr("10.0.0.5"), 8080)
		list := []flows.Action{flows.CT{Commit: true, Table: 2, Zone: 42, Actions: []flows.Action{nat}}}
		for _, v := range versions {
			got, err := decodeActions(must(t)(appendActions(nil, v, list)))
			if !flows.EqualActions(list, got) || err != nil {
				t.Errorf("%s: %s, %v", v, flows.ActionsText(got), err)
			}
		}
	})
	t.Run("a hello that offers what it does not speak", func(t *testing.T) {
		for _, v := range versions {
			h, err := ParseHello(AppendHello(nil, 1, v))
			if got, no := Negotiate(versions, h); got != v || err != nil || no != nil {
				t.Errorf("%s: negotiated %s, %v, %v", v, got, err, no)
			}
		}
	})
	t.Run("a hello with an unknown element", func(t *testing.T) {
		for _, n := range []byte{0, 1, 3, 4, 8} {
			survives(t, end(append(begin(nil, V15, TypeHello, 1), 0, 9, 0, n, 0, 0, 0, 0), 0))
		}
	})
	t.Run("a packet-in of 12 bytes before any handshake", func(t *testing.T) {
		err := ParsePacketIn([]byte{6, 10, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0}, new(PacketIn))
		var format *FormatError
		if !errors.As(err, &format) {
			t.Errorf("%v", err)
		}
	})
	t.Run("types and kinds that nobody knows", func(t *testing.T) {
		for typ := range 256 {
			for _, n := range []int{0, 4, 8, 60} {
				survives(t, end(append(begin(nil, V15, Type(typ), 1), make([]byte, n)...), 0))
			}
		}
	})
	t.Run("an action that this version refuses", func(t *testing.T) {
		r := flows.MustParseRule("actions=move:reg0[]->reg1[],set_field:0x5/0xf->reg2,set_field:0x5->reg3")
		b := must(t)(AppendFlowMod(nil, V15, 1, FlowAdd, &r))
		for _, subtype := range []byte{nxRegMove, nxRegLoad, nxRegLoad2} {
			if bytes.Contains(b, []byte{0, 0, 0x23, 0x20, 0, subtype}) {
				t.Errorf("Nicira action %d in 1.5: %x", subtype, b)
			}
		}
	})
	t.Run("lengths that do not advance", func(t *testing.T) {
		for _, n := range []byte{0, 3, 4, 6, 7} {
			r := NewReader(bytes.NewReader(slices.Repeat([]byte{6, 2, 0, n, 0, 0}, 60)))
			var format *FormatError
			if _, err := r.Next(); !errors.As(err, &format) {
				t.Errorf("length %d: %v", n, err)
			}
		}
	})
	t.Run("an echo reply", func(t *testing.T) {
		if got := AppendEchoReply(nil, V15, 77, []byte("four")); !bytes.Equal(got, []byte("\x06\x03\x00\x0c\x00\x00\x00\x4dfour")) {
			t.Errorf("%q", got)
		}
	})
	t.Run("what is kept of a message whose buffer is used again", func(t *testing.T) {
		for _, c := range loadCaptured(t) {
			if typ := Type(c.msg[1]); typ == TypePacketIn { // says that it shares the message's memory
				continue
			}
			p, err := ParseMultipart(c.msg)
			if err != nil || p.Kind != MultipartFlow && p.Kind != MultipartGroupDesc {
				continue
			}
			text := keptText(t, Version(c.msg[0]), p)
			before := text()
			clear(c.msg)
			if after := text(); after != before || strings.TrimSpace(before) == "" {
				t.Errorf("%s: %s, then %s", c.name, before, after)
			}
		}
	})
}

// keptText reads rules or groups and returns what tells them in words.
func keptText(t *testing.T, v Version, p Multipart) func() string {
	t.Helper()
	var s flows.State
	var err error
	if p.Kind == MultipartFlow {
		var rules []flows.InstalledRule
		rules, err = ParseFlowStats(v, p.Body)
		for _, r := range rules {
			s.Rules = append(s.Rules, r.Rule)
		}
	} else {
		s.Groups, err = ParseGroupDescs(v, p.Body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.String
}
