package openflow

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/flows"
)

// unspace reads hex with spaces.
func unspace(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestActionBytes: the forms that each version needs, byte by byte.
func TestActionBytes(t *testing.T) {
	tests := []struct {
		text     string
		v13, v15 string // "" in v15: as in 1.3
	}{
		{"set_field:0->in_port", "0019 0010 00000002 0000 000000000000", ""},
		{"set_field:0x5->reg0", "0019 0010 00010004 00000005 00000000", ""},
		{"set_field:0x50/0xf0->reg2", "ffff 0018 00002320 0007 0103 00010404 0000000000000005",
			"0019 0010 00010508 00000050 000000f0"},
		{"set_field:0x5/0x5->reg1", "ffff 0018 00002320 0021 00010308 00000005 00000005 0000",
			"0019 0010 00010308 00000005 00000005"},
		{"move:NXM_OF_ETH_SRC[]->OXM_OF_METADATA[16..63]", "ffff 0018 00002320 0006 0030 0000 0010 80000806 80000408",
			"001c 0018 0030 0000 0010 0000 80000806 80000408 00000000"},
		{"resubmit(,3)", "ffff 0010 00002320 000e fff8 03 000000", ""},
		{"fin_timeout(idle_timeout=12,hard_timeout=3)", "ffff 0010 00002320 0013 000c 0003 0000", ""},
		{"CONTROLLER:65535", "0000 0010 fffffffd ffff 000000000000", ""},
		{"group:7", "0016 0008 00000007", ""},
	}
	for _, tt := range tests {
		actions, err := flows.ParseActions(tt.text)
		if err != nil {
			t.Fatalf("%s: %v", tt.text, err)
		}
		for _, v := range versions {
			want := tt.v13
			if v >= V15 && tt.v15 != "" {
				want = tt.v15
			}
			got := must(t)(appendActions(nil, v, actions))
			if hex.EncodeToString(got) != strings.ReplaceAll(want, " ", "") {
				t.Errorf("%s %s:\n%x, want\n%s", v, tt.text, got, want)
			}
		}
	}
	// Switches refuse bits outside of the mask.
	stray := flows.SetField{Field: flows.Reg1, Masked: true, Value: flows.U64(0xff, 4), Mask: flows.U64(5, 4)}
	for _, v := range versions {
		got, err := decodeActions(must(t)(appendActions(nil, v, []flows.Action{stray})))
		clean := stray
		clean.Value = flows.U64(5, 4)
		if err != nil || got[0] != clean {
			t.Errorf("%s: stray bits: %v, %v", v, flows.ActionsText(got), err)
		}
		if b := must(t)(appendActions(nil, v, []flows.Action{stray})); strings.Contains(hex.EncodeToString(b), "000000ff") {
			t.Errorf("%s: stray bits are sent: %x", v, b)
		}
	}
	// Not standard in 1.3, so by its Nicira name.
	m := flows.Match(nil).Num(flows.TCPFlags, 2)
	for v, want := range map[Version]string{V13: "0001000a 00014402 0002", V15: "0001000a 80005402 0002"} {
		if got := must(t)(appendMatch(nil, v, m))[:10]; hex.EncodeToString(got) != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s tcp_flags: %x, want %s", v, got, want)
		}
	}
}

// TestActionsRead: other forms of the same actions are read as those we write, and those that make no sense are kept raw.
func TestActionsRead(t *testing.T) {
	tests := []struct{ name, bytes, want string }{
		{"reg_load of all", "ffff 0018 00002320 0007 001f 00010004 0000000000000005", "set_field:0x5->reg0"},
		{"reg_load of the upper half of xxreg0", "ffff 0018 00002320 0007 103f 0001de10 8000000000000001",
			"set_field:0x80000000000000010000000000000000/0xffffffffffffffff0000000000000000->xxreg0"},
		{"reg_load across the middle", "ffff 0018 00002320 0007 0f8f 0001de10 000000000000ffff",
			"set_field:0x3fffc000000000000000/0x3fffc000000000000000->xxreg0"},
		{"reg_load with bits beyond", "ffff 0018 00002320 0007 0003 00010004 00000000000000f5", "set_field:0x5/0xf->reg0"},
		{"reg_load of in_port", "ffff 0018 00002320 0007 000f 00000002 000000000000fffe", "set_field:LOCAL->in_port"},
		{"reg_load of half of in_port", "ffff 0018 00002320 0007 0007 00000002 0000000000000000", ""},
		{"reg_load past the end", "ffff 0018 00002320 0007 07ff 00010004 0000000000000005", ""},
		{"reg_load of no field", "ffff 0018 00002320 0007 001f 12340004 0000000000000005", ""},
		{"NXM name in set_field", "0019 0010 00000406 020000000001 0000", "set_field:02:00:00:00:00:01->eth_src"},
		{"set_field with bits outside of its mask", "0019 0010 00010308 000000ff 0000000f", "set_field:0xf/0xf->reg1"},
		{"set_field with a full mask", "0019 0010 00010308 00000005 ffffffff", "set_field:0x5->reg1"},
		{"set_field cut", "0019 0008 00010004", ""},
		{"move by NXM names", "ffff 0018 00002320 0006 0010 0000 0000 00000002 00010004", "move:NXM_OF_IN_PORT[]->NXM_NX_REG0[0..15]"},
		{"move of no field", "ffff 0018 00002320 0006 0010 0000 0000 12340004 00010004", ""},
		{"output, too long", "0000 0018 00000001 ffff 0000 0000000000000000 00000000", ""},
		{"another experimenter", "ffff 0010 00001234 000e fff8 03 000000", ""},
	}
	for _, tt := range tests {
		raw := unspace(t, tt.bytes)
		got, err := decodeActions(raw)
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", tt.name, got, err)
			continue
		}
		if u, ok := got[0].(flows.Unknown); ok != (tt.want == "") || ok && hex.EncodeToString(u.Raw) != hex.EncodeToString(raw) {
			t.Errorf("%s: %s", tt.name, flows.ActionsText(got))
		} else if text := flows.ActionsText(got); !ok && text != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
		}
	}
}
