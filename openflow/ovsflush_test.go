package openflow

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
	"github.com/google/go-cmp/cmp"
)

// frame is an Ethernet frame with a UDP datagram or, for port 0, an ICMP echo request.
func frame(src, dst netip.AddrPort) []byte {
	l4 := []byte{8, 0, 0, 0, byte(src.Port() >> 8), byte(src.Port()), 0, 1}
	proto, sum := byte(protoICMP), 2
	if dst.Port() != 0 {
		proto, sum = 17, 6
		l4 = be.AppendUint16(be.AppendUint16(nil, src.Port()), dst.Port())
		l4 = append(l4, 0, 8, 0, 0)
	}
	addrs := append(src.Addr().AsSlice(), dst.Addr().AsSlice()...)
	over := l4
	if proto == 17 {
		over = append(append(slices.Clone(addrs), 0, proto, 0, 8), l4...) // the pseudo header
	}
	be.PutUint16(l4[sum:], checksum(over))
	b := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}
	if src.Addr().Is4() {
		ip := append([]byte{0x45, 0, 0, 28, 0, 0, 0, 0, 64, proto, 0, 0}, addrs...)
		be.PutUint16(ip[10:], checksum(ip))
		b = append(append(b, 8, 0), ip...)
	} else {
		b = append(append(b, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, proto, 64), addrs...)
	}
	return append(b, l4...)
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(be.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// TestFlushInOpenVSwitch: of connections that a rule of ours has committed and translated, exactly those asked for go.
func TestFlushInOpenVSwitch(t *testing.T) {
	addr, endpoint := netip.MustParseAddr, netip.MustParseAddrPort
	l := lab.New(t)
	s := l.Switch("s1")
	// What is committed; UDP goes on to port 5353.
	conns := []struct {
		name        string
		client, vip netip.AddrPort
		zone        uint16
		backend     netip.Addr
	}{
		{"a", endpoint("10.0.0.1:1001"), endpoint("10.0.0.101:53"), 9, addr("10.0.0.111")},
		{"b", endpoint("10.0.0.2:1001"), endpoint("10.0.0.101:53"), 9, addr("10.0.0.111")},
		{"c", endpoint("10.0.0.1:1002"), endpoint("10.0.0.102:54"), 9, addr("10.0.0.111")},
		{"d", endpoint("10.0.0.1:1003"), endpoint("10.0.0.103:53"), 9, addr("10.0.0.113")},
		{"e", endpoint("10.0.0.1:1001"), endpoint("10.0.0.101:53"), 10, addr("10.0.0.111")},
		{"f", endpoint("[fd00::1]:1001"), endpoint("[fd00::101]:53"), 9, addr("fd00::111")},
		{"g", endpoint("10.0.0.1:77"), endpoint("10.0.0.101:0"), 9, addr("10.0.0.111")},
	}
	commit := func(c *session) {
		for _, k := range conns {
			ct := flows.CT{Commit: true, Table: flows.NoTable, Zone: k.zone, Actions: []flows.Action{flows.NATTo(flows.NATDst, k.backend, 5353)}}
			if k.vip.Port() == 0 {
				ct.Actions = []flows.Action{flows.NATTo(flows.NATDst, k.backend, 0)}
			}
			if err := c.try(AppendPacketOut(nil, c.v, 1, flows.PortLocal, []flows.Action{ct}, frame(k.client, k.vip))); err != nil {
				t.Fatalf("%s: %v", k.name, err)
			}
		}
	}
	left := func() (names string) {
		lines := strings.Fields(s.Appctl("dpctl/dump-conntrack"))
		for _, k := range conns {
			c, v := k.client, k.vip
			line := fmt.Sprintf("udp,orig=(src=%s,dst=%s,sport=%d,dport=%d),reply=(src=%s,dst=%s,sport=5353,dport=%d),zone=%d",
				c.Addr(), v.Addr(), c.Port(), v.Port(), k.backend, c.Addr(), c.Port(), k.zone)
			if v.Port() == 0 {
				line = fmt.Sprintf("icmp,orig=(src=%s,dst=%s,id=%d,type=8,code=0),reply=(src=%s,dst=%s,id=%d,type=0,code=0),zone=%d",
					c.Addr(), v.Addr(), c.Port(), k.backend, c.Addr(), c.Port(), k.zone)
			}
			if slices.Contains(lines, line) {
				names += k.name
			}
		}
		if len(lines) != len(names) {
			t.Errorf("of ours %s, of all\n%s", names, strings.Join(lines, "\n"))
		}
		return names
	}
	full := CTTuple{Src: addr("10.0.0.1"), SrcPort: 1001, Dst: addr("10.0.0.101"), DstPort: 53}
	tests := []struct {
		name  string
		flush CTFlush
		want  string // what is left of abcdefg
	}{
		{"another zone", CTFlush{Zone: 11}, "abcdefg"},
		{"all of the zone", CTFlush{Zone: 9}, "e"},
		{"all zones", CTFlush{AllZones: true}, ""},
		{"a protocol", CTFlush{Zone: 9, Proto: 17}, "eg"},
		{"an endpoint of one VIP", CTFlush{Zone: 9, Proto: 17, Original: CTTuple{Dst: addr("10.0.0.101"), DstPort: 53},
			Reply: CTTuple{Src: addr("10.0.0.111"), SrcPort: 5353}}, "cdefg"},
		{"a backend's port of all VIPs", CTFlush{Zone: 9, Proto: 17, Reply: CTTuple{Src: addr("10.0.0.111"), SrcPort: 5353}}, "defg"},
		{"a backend", CTFlush{Zone: 9, Reply: CTTuple{Src: addr("10.0.0.111")}}, "def"},
		{"a client's port", CTFlush{Zone: 9, Proto: 17, Original: CTTuple{SrcPort: 1001}}, "cdeg"},
		{"one connection", CTFlush{Zone: 9, Proto: 17, Original: full}, "bcdefg"},
		{"one in all zones", CTFlush{AllZones: true, Proto: 17, Original: CTTuple{Src: full.Src, SrcPort: 1001, Dst: full.Dst}}, "bcdfg"},
		{"by its reply", CTFlush{Zone: 9, Proto: 17, Reply: CTTuple{Src: addr("10.0.0.111"), SrcPort: 5353, Dst: addr("10.0.0.1"), DstPort: 1001}}, "bcdefg"},
		{"IPv6", CTFlush{Zone: 9, Proto: 17, Reply: CTTuple{Src: addr("fd00::111"), SrcPort: 5353}}, "abcdeg"},
		{"an echo request", CTFlush{Zone: 9, Proto: protoICMP, Original: CTTuple{Src: full.Src, Dst: full.Dst, ICMPID: 77, ICMPType: 8}}, "abcdef"},
		{"another echo request", CTFlush{Zone: 9, Proto: protoICMP, Original: CTTuple{Src: full.Src, Dst: full.Dst, ICMPID: 78, ICMPType: 8}}, "abcdefg"},
	}
	for _, v := range versions {
		c := dial(t, s, v)
		for _, tt := range tests {
			commit(c)
			if got := left(); got != "abcdefg" {
				t.Fatalf("committed: %s", got)
			}
			msg := must(t)(AppendCTFlush(nil, v, 1, &tt.flush))
			if err := c.try(msg, nil); err != nil {
				t.Errorf("%s %s: %v", v, tt.name, err)
			}
			if got := left(); got != tt.want {
				t.Errorf("%s %s: %s is left, want %s", v, tt.name, got, tt.want)
			}
			back, err := ParseCTFlush(msg)
			if back != tt.flush || err != nil {
				t.Errorf("%s: %v, %s", tt.name, err, cmp.Diff(tt.flush, back, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })))
			}
		}
		commit(c)
		if err := c.try(AppendCTFlushZone(nil, v, 1, 9), nil); err != nil || left() != "e" {
			t.Errorf("%s: zone flushed: %v, %s is left", v, err, left())
		}
	}
}
