package flows_test

import (
	"slices"
	"testing"

	"github.com/evenflow/evenflow/flows"
)

func FuzzParseRule(f *testing.F) {
	for _, text := range slices.Concat(ovsRules, niciraRules) {
		f.Add(text)
	}
	f.Add("cookie=0x1, duration=1.5s, table=1, n_packets=0, n_bytes=0, idle_age=3, " +
		"priority=5,dp_hash=0x3/0x7,skb_priority=1 actions=raw_action:00")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := flows.ParseRule(text)
		if err != nil {
			return
		}
		canonical := r.String()
		again, err := flows.ParseRule(canonical)
		if err != nil {
			t.Fatalf("%q prints as %q: %v", text, canonical, err)
		}
		if !again.Equal(r) || again.Key() != r.Key() || again.Flags != r.Flags || again.String() != canonical {
			t.Fatalf("%q prints as %q, which prints as %q", text, canonical, again)
		}
	})
}

func FuzzParseState(f *testing.F) {
	f.Add("meter=1 pktps burst bands=\ntype=drop rate=5 burst_size=7\n")
	f.Add("group_id=8,type=select,selection_method=hash,fields(udp_src,ip_src),bucket=bucket_id:9,weight:3," +
		"watch_port:1,watch_group:5,actions=drop,bucket=output:1")
	f.Add("# a comment\nOFPST_FLOW reply\n priority=1 actions=drop")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := flows.ParseState(text)
		if err != nil {
			return
		}
		canonical := s.String()
		again, err := flows.ParseState(canonical)
		if err != nil || again.String() != canonical {
			t.Fatalf("%q prints as %q, which prints as %q, %v", text, canonical, again, err)
		}
	})
}
