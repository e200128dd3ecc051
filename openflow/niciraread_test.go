package openflow

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/flows"
)

// TestNiciraActionsRead: unusual forms of actions are read for what they do, and those that could not be said or written
// again are kept raw.
func TestNiciraActionsRead(t *testing.T) {
	const nx = " 00002320 "
	ct := func(flags, zone, inner string) string { // 24 bytes, and what is in it
		n := 24 + len(strings.ReplaceAll(inner, " ", ""))/2
		return "ffff " + hex.EncodeToString([]byte{0, byte(n)}) + nx + "0023" + flags + zone + "ff 000000 0000" + inner
	}
	nat := func(flags, present, rest string) string { // in a ct with commit
		n := 16 + len(strings.ReplaceAll(rest, " ", ""))/2
		return ct("0001", "00000000 0000", "ffff "+hex.EncodeToString([]byte{0, byte(n)})+nx+"0024 0000"+flags+present+rest)
	}
	const four, sixteen, ports = "0a000001 0a000002", "fd000000000000000000000000000001", "0050 005a"
	learn := func(flags, parts string) string {
		n := 32 + len(strings.ReplaceAll(parts, " ", ""))/2
		return "ffff " + hex.EncodeToString([]byte{0, byte(n)}) + nx + "0010 0000 0000 8000 0000000000000000" + flags + "01 00 0000 0000" + parts
	}
	for _, tt := range []struct{ name, bytes, want string }{
		{"ct", ct("0000", "00000000 0005", ""), "ct(zone=5)"},
		{"ct with an unknown flag", ct("0004", "00000000 0005", ""), ""},
		{"ct that forces without commit", ct("0002", "00000000 0005", ""), ""},
		{"ct with the zone in half a register", ct("0000", "00010004 0007", ""), ""},
		{"ct with the zone in no field", ct("0000", "12340004 000f", ""), ""},
		{"ct in ct", ct("0001", "00000000 0000", ct("0000", "00000000 0005", "")), ""},
		{"output in ct", ct("0001", "00000000 0000", "0000 0010 00000001 0000 000000000000"), ""},
		{"an unknown action in ct", ct("0001", "00000000 0000", "0015 0008 00000005"), ""},
		{"an impossible length in ct", ct("0001", "00000000 0000", "0015 0010 00000005"), ""},
		{"nat that means nothing without commit", ct("0000", "00000000 0000", "ffff 0010"+nx+"0024 0000 0000 0000"), "ct(nat)"},
		{"nat outside of ct", "ffff 0010" + nx + "0024 0000 0000 0000", ""},
		{"nat with a range of one", nat("0002", "0033", "0a000001 0a000001 0050 0050 00000000"), "ct(commit,nat(dst=10.0.0.1:80))"},
		{"nat with a range", nat("0011", "0033", four+ports+"00000000"), "ct(commit,nat(src=10.0.0.1-10.0.0.2:80-90,random))"},
		{"nat with a range backwards", nat("0001", "0003", "0a000002 0a000001"), ""},
		{"nat of both sides", nat("0003", "0001", "0a000001 00000000"), ""},
		{"nat with both algorithms", nat("0019", "0001", "0a000001 00000000"), ""},
		{"nat with an unknown flag", nat("0021", "0001", "0a000001 00000000"), ""},
		{"nat with an unknown part", nat("0001", "0041", "0a000001 00000000"), ""},
		{"nat of both families", nat("0001", "0005", "0a000001"+sixteen+"00000000"), ""},
		{"nat that says IPv4 twice over", nat("0001", "000c", sixteen+sixteen), "ct(commit,nat(src=fd00::1))"},
		{"nat that ends before its port", nat("0001", "0013", four), ""},
		{"nat with the last address alone", nat("0001", "0002", "0a000001 00000000"), ""},
		{"nat with a port alone", nat("0001", "0010", "0050 000000000000"), ""},
		{"nat to port 0", nat("0001", "0011", "0a000001 0000 0000"), ""},
		{"nat to no address", nat("0001", "0001", "00000000 00000000"), ""},
		{"learn", learn("0000", ""), "learn(table=1)"},
		{"learn with an unknown flag", learn("0008", ""), ""},
		{"learn with a result in the short form", learn("0004", ""), ""},
		{"learn of an unknown kind", learn("0000", "1820 00010004 0000 00010204 0000 0000"), ""},
		{"learn with reserved bits", learn("0000", "4020 00010004 0000 00010204 0000 0000"), ""},
		{"learn of no field", learn("0000", "0010 12340004 0000 00010204 0000 0000"), ""},
		{"learn of bits past the end", learn("0000", "0010 00010004 0011 00010204 0000 0000"), ""},
		{"learn cut", learn("0000", "0010 00010004 0000"), ""},
		{"learn a value that is too large", learn("0000", "2003 0008 00010004 0000 00000000 0000"), ""},
		{"learn an output of a value", learn("0000", "3010 0001 00000000"), ""},
		{"learn a value of two words for two bytes", learn("0000", "2011 00000001 00000806 0000 00000000"), ""},
		{"learn with more zeros", learn("0000", "2010 0800 00000602 0000 000000000000 0000000000000000"), "learn(table=1,eth_type=0x800)"},
		{"output of a register", "ffff 0018" + nx + "000f 001f 00010004 ffff 000000000000", "output:NXM_NX_REG0[]"},
		{"output of a register, cut packets", "ffff 0018" + nx + "000f 001f 00010004 0064 000000000000", ""},
		{"output of half of in_port", "ffff 0018" + nx + "000f 000f 00000002 ffff 000000000000", "output:NXM_OF_IN_PORT[]"},
		{"output of in_port past its end", "ffff 0018" + nx + "000f 0010 00000002 ffff 000000000000", ""},
		{"dec_ttl for nobody", "ffff 0010" + nx + "0015 0000 00000000", ""},
		{"dec_ttl for more than there are", "ffff 0018" + nx + "0015 0005 00000000 0001000200030004", ""},
		{"controller that is an output", "ffff 0010" + nx + "0014 0063 0000 01 00", "CONTROLLER:99"},
		{"controller2 that is an output", "ffff 0018" + nx + "0025 000000000000 0000 0008 0063 0000", "CONTROLLER:99"},
		{"controller2 with short properties", "ffff 0028" + nx + "0025 000000000000 0000 0006 0063 0000 0001 0006 0007 0000 0002 0008 00000000",
			"controller(reason=no_match,max_len=99,id=7)"},
		{"controller2 with an unknown property", "ffff 0018" + nx + "0025 000000000000 0009 0008 00000000", ""},
		{"controller2 with a property too short", "ffff 0018" + nx + "0025 000000000000 0005 0006 00000000", ""},
		{"controller2 with a property too long", "ffff 0018" + nx + "0025 000000000000 0003 0010 00000000", ""},
		{"multipath to half a field", "ffff 0020" + nx + "000a 0001 0400 0000 0000 0010 00000000 0000 0003 00010004", ""}, // 17 links
		{"multipath by an unknown hash", "ffff 0020" + nx + "000a 0007 0400 0000 0000 0001 00000000 0000 0003 00010004", ""},
		{"push", "ffff 0018" + nx + "001b 0000 00010004 0020 000000000000", "push:NXM_NX_REG0[]"},
		{"push of no bits", "ffff 0018" + nx + "001b 0000 00010004 0000 000000000000", ""},
		{"check_pkt_larger into no bit", "ffff 0018" + nx + "0031 0064 0020 00010004 000000000000", ""},
		{"write past a field", "0019 0010 0001 36 04 00100000 00000000", ""}, // ipv6_label has 20 bits
	} {
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

// TestRangeOfOne: a range that ends where it begins is sent as Open vSwitch sends it, so that it is read back equal.
func TestRangeOfOne(t *testing.T) {
	a := netip.MustParseAddr("10.0.0.1")
	long := flows.CT{Commit: true, Actions: []flows.Action{flows.NAT{Kind: flows.NATSrc, Min: a, Max: a, MinPort: 5, MaxPort: 5}}}
	short := flows.CT{Commit: true, Actions: []flows.Action{flows.NATTo(flows.NATSrc, a, 5)}}
	if x, y := must(t)(appendCT(nil, V15, &long)), must(t)(appendCT(nil, V15, &short)); string(x) != string(y) {
		t.Errorf("%x, want %x", x, y)
	}
	if list := []flows.Action{short}; !flows.EqualActions([]flows.Action{long}, list) {
		t.Error("they are not equal")
	}
}

// TestPartsCut: entries with a part that is not whole, and properties just beyond those known.
func TestPartsCut(t *testing.T) {
	group := AppendGroupStats(nil, V15, sampleGroupStats)
	meter := AppendMeterStats(nil, V15, sampleMeterStats)
	for cut := 1; cut < bucketStatsLen; cut++ {
		be.PutUint16(group, uint16(len(group)-cut))
		be.PutUint16(meter[4:], uint16(len(meter)-cut))
		if got, err := ParseGroupStats(V15, group[:len(group)-cut]); err == nil {
			t.Errorf("group: %+v", got)
		}
		if got, err := ParseMeterStats(V15, meter[:len(meter)-cut]); err == nil {
			t.Errorf("meter: %+v", got)
		}
	}
	msg := must(t)(AppendAsyncReply(nil, V15, 1, sampleAsync))
	for kind := range uint16(20) {
		be.PutUint16(msg[headerLen:], kind)
		if _, err := ParseAsync(V15, msg); err != nil {
			t.Errorf("async property %d: %v", kind, err)
		}
	}
}
