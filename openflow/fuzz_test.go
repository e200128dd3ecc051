package openflow

import (
	"bytes"
	"slices"
	"testing"

	"github.com/evenflow/evenflow/flows"
	"github.com/google/go-cmp/cmp"
)

// addSamples seeds a target with all messages of those types, or their bodies.
func addSamples(f *testing.F, types ...Type) {
	for _, v := range versions {
		for _, s := range samples(f, v) {
			for _, t := range types {
				if Type(s.msg[1]) == t {
					f.Add(s.msg)
				}
			}
		}
	}
	for _, c := range loadCaptured(f) {
		if slices.Contains(types, Type(c.msg[1])) {
			f.Add(c.msg)
		}
	}
}

// fuzzMessage lets a parser read anything, in the version that the header says.
func fuzzMessage(f *testing.F, parser string, types ...Type) {
	addSamples(f, types...)
	f.Fuzz(func(t *testing.T, msg []byte) {
		before := bytes.Clone(msg)
		for _, v := range versions {
			checkError(t, parsers[parser](v, msg))
		}
		if !bytes.Equal(before, msg) {
			t.Error("the parser wrote into the message")
		}
	})
}

func FuzzHello(f *testing.F)         { fuzzMessage(f, "hello", TypeHello) }
func FuzzError(f *testing.F)         { fuzzMessage(f, "error", TypeError) }
func FuzzFeatures(f *testing.F)      { fuzzMessage(f, "features", TypeFeaturesReply) }
func FuzzConfig(f *testing.F)        { fuzzMessage(f, "config", TypeGetConfigReply) }
func FuzzRole(f *testing.F)          { fuzzMessage(f, "role", TypeRoleReply) }
func FuzzPacketIn(f *testing.F)      { fuzzMessage(f, "packet-in", TypePacketIn) }
func FuzzFlowRemoved(f *testing.F)   { fuzzMessage(f, "flow-removed", TypeFlowRemoved) }
func FuzzPortStatus(f *testing.F)    { fuzzMessage(f, "port-status", TypePortStatus) }
func FuzzPacketOut(f *testing.F)     { fuzzMessage(f, "packet-out", TypePacketOut) }
func FuzzFlowMod(f *testing.F)       { fuzzMessage(f, "flow-mod", TypeFlowMod) }
func FuzzGroupMod(f *testing.F)      { fuzzMessage(f, "group-mod", TypeGroupMod) }
func FuzzMeterMod(f *testing.F)      { fuzzMessage(f, "meter-mod", TypeMeterMod) }
func FuzzBundleControl(f *testing.F) { fuzzMessage(f, "bundle-control", TypeBundleControl) }
func FuzzBundleAdd(f *testing.F)     { fuzzMessage(f, "bundle-add", TypeBundleAdd) }
func FuzzMultipartRequest(f *testing.F) {
	fuzzMessage(f, "request", TypeMultipartRequest)
}

// fuzzBody lets the parser of one kind of multipart reply read anything.
func fuzzBody(f *testing.F, kind uint16) {
	for _, v := range versions {
		for _, s := range samples(f, v) {
			if p, err := ParseMultipart(s.msg); err == nil && p.Kind == kind {
				f.Add(p.Body)
			}
		}
	}
	addCaptured(f, kind)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, v := range versions {
			checkError(t, bodies[kind](v, body))
		}
	})
}

// addCaptured seeds a target with bodies that a real switch sent.
func addCaptured(f *testing.F, kind uint16) {
	for _, c := range loadCaptured(f) {
		if p, err := ParseMultipart(c.msg); err == nil && p.Kind == kind {
			f.Add(p.Body)
		}
	}
}

func FuzzDesc(f *testing.F)         { fuzzBody(f, MultipartDesc) }
func FuzzPortStats(f *testing.F)    { fuzzBody(f, MultipartPortStats) }
func FuzzPortDescs(f *testing.F)    { fuzzBody(f, MultipartPortDesc) }
func FuzzMeterConfigs(f *testing.F) { fuzzBody(f, MultipartMeterConfig) }

// FuzzReader: whatever the stream, messages come out whole and the end is reached.
func FuzzReader(f *testing.F) {
	var three []byte
	for i := range 3 {
		three = AppendEchoRequest(three, V15, uint32(i), []byte("payload")[:i])
	}
	f.Add(three)
	f.Add([]byte{6, 0, 0, 8, 0, 0, 0, 1, 6, 0, 0, 3, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data))
		var read []byte
		for {
			msg, err := r.Next()
			if err != nil {
				break
			}
			if h, err := ParseHeader(msg); err != nil || int(h.Length) != len(msg) {
				t.Fatalf("message of %d bytes with header %+v, %v", len(msg), h, err)
			}
			read = append(read, msg...)
		}
		if !bytes.HasPrefix(data, read) {
			t.Fatal("messages are not what came in")
		}
	})
}

// FuzzRules: a rule read from any bytes, if it can be written in a version, is read as the same rule.
func FuzzRules(f *testing.F) {
	for _, v := range versions {
		for _, r := range allRules(f) {
			f.Add(must(f)(AppendFlowStats(nil, v, &flows.InstalledRule{Rule: r, Stats: sampleStats})))
		}
	}
	addCaptured(f, MultipartFlow)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, v := range versions {
			rules, err := ParseFlowStats(v, body)
			checkError(t, err)
			for _, r := range rules {
				for _, w := range versions {
					checkRule(t, w, r)
				}
			}
		}
	})
}

func checkRule(t *testing.T, v Version, r flows.InstalledRule) {
	if v < V15 {
		r.HasIdle, r.IdleSec = false, 0
	}
	b, err := AppendFlowStats(nil, v, &r)
	if err != nil {
		checkRefusal(t, err)
		return
	}
	got, err := ParseFlowStats(v, b)
	if diff := cmp.Diff([]flows.InstalledRule{r}, got); diff != "" || err != nil {
		t.Errorf("%s: %v, (-want +got):\n%s\nbytes %x", v, err, diff, b)
	}
}

// FuzzActions: actions read from any bytes, if they can be written in a version, are read as the same, and so is their text.
func FuzzActions(f *testing.F) {
	for _, v := range versions {
		for _, r := range allRules(f) {
			b, err := appendActions(nil, v, slices.DeleteFunc(slices.Clone(r.Actions), flows.IsInstruction))
			if err == nil { // not a meter in 1.3
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		actions, err := decodeActions(b)
		checkError(t, err)
		for _, v := range versions {
			again, err := appendActions(nil, v, actions)
			if err != nil {
				continue
			}
			got, err := decodeActions(again)
			if diff := cmp.Diff(actions, got); diff != "" || err != nil {
				t.Errorf("%s: %v, (-want +got):\n%s\nbytes %x", v, err, diff, again)
			}
			text := flows.ActionsText(actions)
			back, err := flows.ParseActions(text)
			if err != nil || !flows.EqualActions(actions, back) {
				t.Errorf("%s is read as %s, %v", text, flows.ActionsText(back), err)
			}
		}
	})
}

func checkRefusal(t *testing.T, err error) {
	if _, ok := err.(interface{ Unwrap() error }); !ok {
		t.Errorf("error %v names no rule or group", err)
	}
}

// FuzzGroups is FuzzRules for groups.
func FuzzGroups(f *testing.F) {
	for _, v := range versions {
		f.Add(must(f)(AppendGroupDesc(nil, v, sampleGroup(v))))
	}
	addCaptured(f, MultipartGroupDesc)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, v := range versions {
			groups, err := ParseGroupDescs(v, body)
			checkError(t, err)
			for _, g := range groups {
				b, err := AppendGroupDesc(nil, v, &g)
				if err != nil {
					checkRefusal(t, err)
					continue
				}
				got, err := ParseGroupDescs(v, b)
				if diff := cmp.Diff([]flows.Group{g}, got); diff != "" || err != nil {
					t.Errorf("%s: %v, (-want +got):\n%s\nbytes %x", v, err, diff, b)
				}
			}
		}
	})
}
