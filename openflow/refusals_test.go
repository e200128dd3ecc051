package openflow

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/flows"
)

// refusal is a value that cannot be written.
type refusal struct {
	name   string
	encode func(b []byte, v Version) ([]byte, error)
	want   string // part of the error
	only   Version
}

// refused checks that each is an error of a known type, and the buffer as before.
func refused(t *testing.T, tests []refusal) {
	t.Helper()
	for _, tt := range tests {
		for _, v := range versions {
			if tt.only != 0 && v != tt.only {
				continue
			}
			b, err := tt.encode([]byte("before"), v)
			var value *ValueError
			var unsupported *UnsupportedError
			var format *FormatError
			if !errors.As(err, &value) && !errors.As(err, &unsupported) && !errors.As(err, &format) {
				t.Errorf("%s, %s: error %v of type %T", tt.name, v, err, err)
				continue
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %s: error %q, want %q in it", tt.name, v, err, tt.want)
			}
			if string(b) != "before" {
				t.Errorf("%s, %s: the buffer has %d bytes", tt.name, v, len(b))
			}
		}
	}
}

// TestRefusals: what cannot be written is an error of a known type, and the buffer is as before.
func TestRefusals(t *testing.T) {
	rule := func(actions ...flows.Action) func(b []byte, v Version) ([]byte, error) {
		return func(b []byte, v Version) ([]byte, error) {
			return AppendFlowMod(b, v, 1, FlowAdd, &flows.Rule{Table: 3, Priority: 7, Actions: actions})
		}
	}
	group := func(g flows.Group) func(b []byte, v Version) ([]byte, error) {
		return func(b []byte, v Version) ([]byte, error) { return AppendGroupMod(b, v, 1, GroupAdd, &g) }
	}
	match := func(c flows.Cond) func(b []byte, v Version) ([]byte, error) {
		return func(b []byte, v Version) ([]byte, error) {
			return AppendFlowDeleteWhere(b, v, 1, FlowFilter{Match: flows.Match{c}})
		}
	}
	out := flows.Output{Port: 1}
	bucket := flows.Bucket{Actions: []flows.Action{flows.GotoTable{Table: 1}}}
	many := make([]flows.Action, 5000)
	for i := range many {
		many[i] = out
	}
	refused(t, []refusal{
		{"meter not first", rule(out, flows.ToMeter{ID: 1}), "table 3, priority 7: openflow: meter must be the first", 0},
		{"two meters", rule(flows.ToMeter{ID: 1}, flows.ToMeter{ID: 1}), "meter must be the first", 0},
		{"goto not last", rule(flows.GotoTable{Table: 4}, out), "goto_table must be the last", 0},
		{"action after instruction", rule(flows.Unknown{Instruction: true, Raw: []byte{0, 5, 0, 8, 0, 0, 0, 0}}, out), "after an instruction", 0},
		{"raw action without its length", rule(flows.Unknown{Raw: make([]byte, 8)}), "raw action 0000000000000000 is not", 0},
		{"two raw actions in one", rule(flows.Unknown{Raw: append([]byte{0, 1, 0, 8, 0, 0, 0, 0}, make([]byte, 8)...)}), "not one whole", 0},
		{"raw instruction cut", rule(flows.Unknown{Instruction: true, Raw: []byte{0, 5, 0, 8}}), "raw action 00050008", 0},
		{"instruction in a bucket", group(flows.Group{Buckets: []flows.Bucket{{Actions: []flows.Action{
			flows.Unknown{Instruction: true, Raw: []byte{0, 5, 0, 8, 0, 0, 0, 0}}}}}}), "instruction in an action list", 0},
		{"nil", rule(nil), "nil action", 0},
		{"field without number", rule(flows.SetField{Field: flows.SKBPriority}), "skb_priority has no wire number", 0},
		{"field out of range", rule(flows.SetField{Field: 255}), "no wire number", 0},
		{"empty mask", rule(flows.SetField{Field: flows.Reg0, Masked: true}), "empty mask", 0},
		{"masked in_port", rule(flows.SetField{Field: flows.InPort, Masked: true, Mask: flows.U64(1, 4)}), "in_port", 0},
		{"wide in_port", rule(flows.SetNum(flows.InPort, 0x10000)), "in_port", 0},
		{"move of unequal", rule(flows.Move{Src: flows.Span{Field: flows.Reg0, Bits: 3},
			Dst: flows.Span{Field: flows.Reg1, Bits: 4}}), "3 bits", 0},
		{"move from nothing", rule(flows.Move{}), "no wire number", 0},
		{"resubmit", rule(flows.Resubmit{Port: 0x10000}), "16-bit", 0},
		{"resubmit to no 16-bit port", rule(flows.Resubmit{Port: 0xffff0001}), "16-bit", 0},
		{"too long", rule(many...), "too long", 0},
		{"match", match(flows.Cond{}), "no wire number", 0},
		{"goto in a bucket", group(flows.Group{ID: 5, Buckets: []flows.Bucket{bucket}}), "group 5, bucket 0: openflow: goto_table", 0},
		{"method in 1.3", group(flows.Group{Type: flows.GroupSelect, Method: "hash"}), "cannot be expressed in OpenFlow 1.3", V13},
		{"method of another type", group(flows.Group{Method: "hash"}), "does not select", V15},
		{"method too long", group(flows.Group{Type: flows.GroupSelect, Method: strings.Repeat("x", 16)}), "at most 15", V15},
		{"fields alone", group(flows.Group{Type: flows.GroupSelect, Fields: []flows.Field{flows.EthSrc}}), "without a selection method", 0},
		{"hash field", group(flows.Group{Type: flows.GroupSelect, Method: "hash", Fields: []flows.Field{0}}), "wire number", V15},
		{"meter in a packet-out", func(b []byte, v Version) ([]byte, error) {
			return AppendPacketOut(b, v, 1, 1, []flows.Action{flows.ToMeter{ID: 1}}, nil)
		}, "cannot be expressed in OpenFlow 1.3", V13},
		{"packet too long", func(b []byte, v Version) ([]byte, error) {
			return AppendPacketOut(b, v, 1, 1, nil, make([]byte, 65535))
		}, "at most 65535", 0},
		{"nat alone", rule(flows.NAT{}), "nat is possible in a ct only", 0},
		{"write_metadata in a bucket", group(flows.Group{Buckets: []flows.Bucket{{Actions: []flows.Action{flows.WriteMetadata{}}}}}),
			"write_metadata is possible after", 0},
		{"write_metadata before an action", rule(flows.WriteMetadata{}, out), "after an instruction", 0},
		{"ct in ct", rule(flows.CT{Commit: true, Actions: []flows.Action{flows.CT{}}}), "only nat, set_field and move", 0},
		{"output in ct", rule(flows.CT{Commit: true, Actions: []flows.Action{out}}), "only nat, set_field and move", 0},
		{"force without commit", rule(flows.CT{Force: true}), "force needs commit", 0},
		{"zone of 8 bits", rule(flows.CT{ZoneFrom: flows.Span{Field: flows.Reg0, Bits: 8}}), "the zone has 16 bits", 0},
		{"nat from a port alone", rule(flows.CT{Commit: true, Actions: []flows.Action{flows.NAT{Kind: flows.NATSrc, MinPort: 80}}}), "first address", 0},
		{"nat to port 0 to 80", rule(flows.CT{Commit: true, Actions: []flows.Action{flows.NAT{Kind: flows.NATSrc, Min: netip.MustParseAddr("1.2.3.4"),
			MaxPort: 80}}}), "want ports FIRST-LAST", 0},
		{"wrong move in ct", rule(flows.CT{Commit: true, Actions: []flows.Action{flows.Move{Dst: flows.Span{Field: flows.CTMark}}}}), "no wire number", 0},
		{"push nothing", rule(flows.StackPush{}), "no wire number", 0},
		{"pop past the end", rule(flows.StackPop{Dst: flows.Span{Field: flows.Reg0, Offset: 1, Bits: 32}}), "within the field", 0},
		{"output of 128 bits", rule(flows.OutputReg{Src: flows.Whole(flows.XXReg0)}), "want 1 to 64 bits", 0},
		{"multipath without links", rule(flows.Multipath{Dst: flows.Whole(flows.Reg0)}), "0 links", 0},
		{"learn to table 255", rule(flows.Learn{Table: 255}), "table from 0 to 254", 0},
		{"learn an unknown part", rule(flows.Learn{Parts: []flows.LearnPart{{Kind: 3}}}), "unknown kind 3", 0},
		{"learn a wide value", rule(flows.Learn{Parts: []flows.LearnPart{{Dst: flows.Span{Field: flows.Reg0, Bits: 3}, Value: flows.U64(8, 4)}}}), "3 bits", 0},
		{"learn too much", rule(flows.Learn{Parts: slices.Repeat([]flows.LearnPart{{Dst: flows.Whole(flows.XXReg0)}}, 3000)}), "action of", 0},
		{"check_pkt_larger to no bit", rule(flows.CheckPacketLarger{Dst: flows.Whole(flows.Reg0)}), "want 1 to 1 bits", 0},
		{"much userdata", rule(flows.ToController{Userdata: make([]byte, 65535)}), "action of", 0},
		{"dec_ttl for too many", rule(flows.DecTTL{Controllers: make([]uint16, 40000)}), "40000 controllers", 0},
		{"dec_ttl for many", rule(flows.DecTTL{Controllers: make([]uint16, 32767)}), "action of", 0},
		{"rate", func(b []byte, v Version) ([]byte, error) {
			return AppendMeterMod(b, v, 1, MeterAdd, flows.Meter{ID: 3})
		}, "meter 3: rate 0", 0},
		{"inner xid", func(b []byte, v Version) ([]byte, error) {
			return AppendBundleAdd(b, v, 1, 7, 0, AppendBarrier(nil, v, 2))
		}, "bundle 7 has xid", 0},
		{"inner length", func(b []byte, v Version) ([]byte, error) {
			return AppendBundleAdd(b, v, 1, 7, 0, append(AppendBarrier(nil, v, 1), 0))
		}, "bundle 7 has 9 bytes", 0},
		{"inner cut", func(b []byte, v Version) ([]byte, error) { return AppendBundleAdd(b, v, 1, 7, 0, []byte{6}) }, "bundle 7", 0},
	})
}
