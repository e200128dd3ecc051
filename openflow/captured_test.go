package openflow

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// captured are messages that Open vSwitch 3.1.0 sent, in testdata/captured.txt: a name, indented hex, and after "= "
// what each entry of it says.
type captured struct {
	name string
	msg  []byte
	want []string
}

func loadCaptured(t testing.TB) (all []captured) {
	t.Helper()
	text, err := os.ReadFile("testdata/captured.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		last := len(all) - 1
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '\t':
			b, err := hex.DecodeString(line[1:])
			if err != nil {
				t.Fatalf("%s: %v", all[last].name, err)
			}
			all[last].msg = append(all[last].msg, b...)
		case strings.HasPrefix(line, "= "):
			all[last].want = append(all[last].want, line[2:])
		default:
			all = append(all, captured{name: line})
		}
	}
	return all
}

// describe is what our parsers make of a message.
func describe(msg []byte) ([]string, error) {
	v := Version(msg[0])
	var out []string
	switch Type(msg[1]) {
	case TypePacketIn:
		var in PacketIn
		err := ParsePacketIn(msg, &in)
		m, _ := decodeMatch(in.Match)
		return []string{fmt.Sprintf("reason %d, port %d, %s, %q", in.Reason, in.InPort, m, in.Data)}, err
	case TypeFlowRemoved:
		var r FlowRemoved
		err := ParseFlowRemoved(v, msg, &r)
		return []string{fmt.Sprintf("%s: reason %d, %+v", r.Rule, r.Reason, r.Stats)}, err
	case TypeGetAsyncReply:
		a, err := ParseAsync(v, msg)
		return []string{fmt.Sprintf("%+v", a)}, err
	}
	p, err := ParseMultipart(msg)
	if err != nil {
		return nil, err
	}
	switch p.Kind {
	case MultipartFlow:
		rules, err := ParseFlowStats(v, p.Body)
		for _, r := range rules {
			out = append(out, fmt.Sprintf("%s: %+v", r.Rule, r.Stats))
		}
		return out, err
	case MultipartGroupDesc:
		groups, err := ParseGroupDescs(v, p.Body)
		for _, g := range groups {
			out = append(out, g.String())
		}
		return out, err
	case MultipartMeterConfig:
		meters, err := ParseMeterConfigs(v, p.Body)
		for _, m := range meters {
			out = append(out, fmt.Sprintf("meter %d: %d/s, burst %d", m.ID, m.Rate, m.Burst))
		}
		return out, err
	case MultipartPortDesc:
		ports, err := ParsePortDescs(v, p.Body)
		for _, p := range ports {
			out = append(out, fmt.Sprintf("%+v", p))
		}
		return out, err
	case MultipartPortStats:
		stats, err := ParsePortStats(v, p.Body)
		return []string{fmt.Sprintf("%+v", stats)}, err
	case MultipartGroupStats:
		stats, err := ParseGroupStats(v, p.Body)
		return []string{fmt.Sprintf("%+v", stats)}, err
	case MultipartGroupFeatures:
		f, err := ParseGroupFeatures(p.Body)
		return []string{fmt.Sprintf("%+v", f)}, err
	case MultipartMeterStats:
		stats, err := ParseMeterStats(v, p.Body)
		return []string{fmt.Sprintf("%+v", stats)}, err
	case MultipartMeterFeatures:
		f, err := ParseMeterFeatures(p.Body)
		return []string{fmt.Sprintf("%+v", f)}, err
	case MultipartAggregate:
		a, err := ParseAggregate(v, p.Body)
		return []string{fmt.Sprintf("%+v", a)}, err
	}
	return nil, fmt.Errorf("kind %d", p.Kind)
}

func TestCaptured(t *testing.T) {
	all := loadCaptured(t)
	if len(all) < 40 {
		t.Errorf("%d messages", len(all))
	}
	for _, c := range all {
		if h, err := ParseHeader(c.msg); err != nil || int(h.Length) != len(c.msg) {
			t.Errorf("%s: %d bytes, header %+v, %v", c.name, len(c.msg), h, err)
		}
		got, err := describe(c.msg)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, (-want +got):\n%s", c.name, err, diff)
		}
	}
}
