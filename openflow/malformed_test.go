package openflow

import (
	"errors"
	"testing"

	"github.com/evenflow/evenflow/flows"
)

// parsers has each parser, called on a whole message and, those of bodies, on what a multipart reply carries.
var parsers = map[string]func(v Version, msg []byte) error{
	"hello":          func(_ Version, m []byte) error { _, err := ParseHello(m); return err },
	"error":          func(_ Version, m []byte) error { _, err := ParseError(m); return err },
	"features":       func(_ Version, m []byte) error { _, err := ParseFeatures(m); return err },
	"config":         func(_ Version, m []byte) error { _, _, err := ParseConfig(m); return err },
	"role":           func(_ Version, m []byte) error { _, _, err := ParseRole(m); return err },
	"packet-in":      parsePacketInWhole,
	"flow-removed":   func(v Version, m []byte) error { return ParseFlowRemoved(v, m, new(FlowRemoved)) },
	"port-status":    func(v Version, m []byte) error { _, _, err := ParsePortStatus(v, m); return err },
	"packet-out":     func(_ Version, m []byte) error { _, err := ParsePacketOut(m); return err },
	"flow-mod":       func(_ Version, m []byte) error { _, err := ParseFlowMod(m); return err },
	"group-mod":      func(_ Version, m []byte) error { _, err := ParseGroupMod(m); return err },
	"meter-mod":      func(_ Version, m []byte) error { _, _, err := ParseMeterMod(m); return err },
	"bundle-control": func(_ Version, m []byte) error { _, err := ParseBundleControl(m); return err },
	"bundle-add":     func(_ Version, m []byte) error { _, _, _, err := ParseBundleAdd(m); return err },
	"async":          func(v Version, m []byte) error { _, err := ParseAsync(v, m); return err },
	"set async":      func(v Version, m []byte) error { _, err := ParseSetAsync(v, m); return err },
	"flush":          func(_ Version, m []byte) error { _, err := ParseCTFlush(m); return err },
	"flush of a zone": func(_ Version, m []byte) error {
		if _, ok := ParseCTFlushZone(m); !ok {
			return &ValueError{What: "no flush of a zone"}
		}
		return nil
	},
	"probe": func(_ Version, m []byte) error {
		if !IsNiciraProbe(m) && !IsNiciraProbeReply(m) {
			return &ValueError{What: "no probe"}
		}
		return nil
	},
	"request": func(_ Version, m []byte) error {
		p, err := ParseMultipartRequest(m)
		if err == nil && (p.Kind == MultipartFlow || p.Kind == MultipartAggregate) {
			_, err = ParseFlowStatsRequest(p.Body)
		}
		return err
	},
	"reply": func(v Version, m []byte) error {
		p, err := ParseMultipart(m)
		if parse := bodies[p.Kind]; parse != nil && err == nil {
			err = parse(v, p.Body)
		}
		return err
	},
}

var bodies = map[uint16]func(v Version, body []byte) error{
	MultipartAggregate:     func(v Version, b []byte) error { _, err := ParseAggregate(v, b); return err },
	MultipartGroupStats:    func(v Version, b []byte) error { _, err := ParseGroupStats(v, b); return err },
	MultipartGroupFeatures: func(_ Version, b []byte) error { _, err := ParseGroupFeatures(b); return err },
	MultipartMeterStats:    func(v Version, b []byte) error { _, err := ParseMeterStats(v, b); return err },
	MultipartMeterFeatures: func(_ Version, b []byte) error { _, err := ParseMeterFeatures(b); return err },
	MultipartDesc:          func(_ Version, b []byte) error { _, err := ParseDesc(b); return err },
	MultipartFlow:          func(v Version, b []byte) error { _, err := ParseFlowStats(v, b); return err },
	MultipartPortStats:     func(v Version, b []byte) error { _, err := ParsePortStats(v, b); return err },
	MultipartGroupDesc:     func(v Version, b []byte) error { _, err := ParseGroupDescs(v, b); return err },
	MultipartMeterConfig:   func(v Version, b []byte) error { _, err := ParseMeterConfigs(v, b); return err },
	MultipartPortDesc:      func(v Version, b []byte) error { _, err := ParsePortDescs(v, b); return err },
}

func parsePacketInWhole(_ Version, m []byte) error {
	var in PacketIn
	if err := ParsePacketIn(m, &in); err != nil {
		return err
	}
	for f := range flows.Field(255) {
		in.Field(f)
	}
	return nil
}

// checkError fails the test if an error is not of a type that says what is wrong.
func checkError(t *testing.T, err error) {
	t.Helper()
	var format *FormatError
	var mismatch *TypeMismatchError
	var value *ValueError
	if err != nil && !errors.As(err, &format) && !errors.As(err, &mismatch) && !errors.As(err, &value) {
		t.Errorf("error %v of type %T", err, err)
	}
}

// TestTruncated cuts every message at every byte, once as it is and once with its header's length made right, and gives
// it to every parser. None may panic, run on for ever, or return an error without a type.
func TestTruncated(t *testing.T) {
	for _, v := range versions {
		for _, s := range samples(t, v) {
			known := false
			for _, parse := range parsers {
				known = known || parse(v, s.msg) == nil
			}
			if _, body := messagesWithoutBody[Type(s.msg[1])]; !known && !body {
				t.Errorf("%s %s: no parser reads the whole message", v, s.name)
			}
			for cut := range s.msg {
				m := append([]byte(nil), s.msg[:cut]...)
				for range 2 {
					for name, parse := range parsers {
						err := parse(v, m)
						checkError(t, err)
						if err != nil && t.Failed() {
							t.Fatalf("%s %s cut after %d bytes, read as %s", v, s.name, cut, name)
						}
					}
					if cut < headerLen {
						break
					}
					be.PutUint16(m[2:], uint16(cut))
				}
			}
		}
	}
}

// messagesWithoutBody need no parser beyond ParseHeader: nothing follows the header, or nothing but bytes to send back.
var messagesWithoutBody = map[Type]bool{
	TypeEchoRequest: true, TypeEchoReply: true, TypeFeaturesRequest: true, TypeGetConfigRequest: true,
	TypeSetConfig: true, TypeBarrierRequest: true, TypeBarrierReply: true, TypeRoleRequest: true,
	TypeGetAsyncRequest: true,
}

// TestLengths puts each impossible value into each place where a length may be, that is, everywhere.
func TestLengths(t *testing.T) {
	for _, v := range versions {
		for _, s := range samples(t, v) {
			m := append([]byte(nil), s.msg...)
			for at := headerLen; at+1 < len(m); at++ {
				a, b := m[at], m[at+1]
				for _, n := range []uint16{0, 1, 3, 4, 7, 8, 15, 16, 24, 0x7fff, 0xfff8, 0xffff} {
					be.PutUint16(m[at:], n)
					for _, parse := range parsers {
						checkError(t, parse(v, m))
					}
				}
				m[at], m[at+1] = a, b
			}
		}
	}
}

// TestForeign: what others put into a switch is kept, and never an error.
func TestForeign(t *testing.T) {
	ours := sampleRule()
	body := must(t)(AppendFlowStats(nil, V13, &flows.InstalledRule{Rule: ours}))
	type edit struct {
		name    string
		match   []byte // appended to the match
		actions []byte // appended to the actions
		ins     []byte // appended to the instructions
		known   bool   // the match field
	}
	nsh := []byte{0xff, 0xff, 4 << 1, 8, 0, 0, 0x23, 0x20, 0, 0, 0, 7}
	edits := []edit{
		{name: "experimenter match field", match: nsh},
		{name: "unknown class", match: []byte{0x12, 0x34, 2, 2, 1, 2}},
		{name: "known field of another width", match: []byte{0x80, 0, 11 << 1, 2, 1, 2}},
		{name: "tunnel metadata", match: append([]byte{0, 1, 40 << 1, 64}, make([]byte, 64)...)},
		{name: "a hash of the datapath", match: []byte{0xff, 0xff, 0, 8, 0, 0, 0x23, 0x20, 0, 0, 0, 7}, known: true},
		{name: "a whole VLAN tag", match: []byte{0, 0, 4 << 1, 2, 0x10, 5}},
		{name: "a field twice", match: []byte{0x80, 0, 11 << 1, 4, 1, 2, 3, 4}},
		{name: "multipath into no field", actions: append([]byte{0xff, 0xff, 0, 32, 0, 0, 0x23, 0x20, 0, 10}, make([]byte, 22)...)},
		{name: "a note", actions: []byte{0xff, 0xff, 0, 16, 0, 0, 0x23, 0x20, 0, 8, 1, 2, 3, 0, 0, 0}},
		{name: "set queue", actions: []byte{0, 21, 0, 8, 0, 0, 0, 5}},
		{name: "set-field of an unknown field", actions: []byte{0, 25, 0, 16, 0x12, 0x34, 2, 2, 1, 2, 0, 0, 0, 0, 0, 0}},
		{name: "write actions", ins: []byte{0, 3, 0, 16, 0, 0, 0, 0, 0, 22, 0, 8, 0, 0, 0, 4}},
		{name: "clear actions", ins: []byte{0, 5, 0, 8, 0, 0, 0, 0}},
	}
	for _, e := range edits {
		entry := assemble(body, e.match, e.actions, e.ins)
		got, err := ParseFlowStats(V13, entry)
		clear(entry) // what is kept must be a copy
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %d rules", e.name, err, len(got))
			continue
		}
		r := got[0].Rule
		if Foreign(r.Match) != (e.match != nil && !e.known) {
			t.Errorf("%s: match %v", e.name, r.Match)
		}
		if r.Match.Equal(ours.Match) == (e.match != nil) {
			t.Errorf("%s: match equal to ours: %v", e.name, e.match == nil)
		}
		var unknown int
		for _, a := range r.Actions {
			if u, ok := a.(flows.Unknown); ok {
				unknown++
				if u.Instruction != (e.ins != nil) || string(u.Raw) != string(append(e.actions, e.ins...)) {
					t.Errorf("%s: kept as %+v", e.name, u)
				}
			}
		}
		if want := len(ours.Actions) + unknown; len(r.Actions) != want || (unknown == 1) != (e.match == nil) {
			t.Errorf("%s: %d actions, %d unknown", e.name, len(r.Actions), unknown)
		}
		if e.match == nil { // and what is kept can be written again
			again := must(t)(AppendFlowStats(nil, V13, &got[0]))
			if back, err := ParseFlowStats(V13, again); err != nil || len(back[0].Actions) != len(r.Actions) {
				t.Errorf("%s: written and read again: %v, %v", e.name, back, err)
			}
		}
	}
}

// assemble puts bytes into a flow-stats entry of 1.3: a meter instruction, one apply-actions, a goto-table.
func assemble(entry, match, actions, instructions []byte) []byte {
	list, rest, err := parseMatch(entry[flowStats13Len:])
	if err != nil {
		panic(err)
	}
	b := append([]byte(nil), entry[:flowStats13Len]...)
	start := len(b)
	b = append(b, 0, 1, 0, 0)
	b = append(append(b, list...), match...)
	be.PutUint16(b[start+2:], uint16(len(b)-start))
	b = pad8(b, start)
	meter, apply := rest[:8], rest[8:]
	n := be.Uint16(apply[2:])
	b = append(b, instructions...)
	b = append(b, meter...)
	at := len(b)
	b = append(append(b, apply[:n]...), actions...)
	be.PutUint16(b[at+2:], n+uint16(len(actions)))
	b = append(b, apply[n:]...)
	be.PutUint16(b, uint16(len(b)))
	return b
}
