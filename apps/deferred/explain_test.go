package deferred

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/ovshash"
)

// What is said is what the current generation's buckets would choose, by the switch's hash.
func TestExplain(t *testing.T) {
	v := viewOf(vip.StepSteady, [][]uint32{{1, 2, 3}, {1, 2}}, backend(1, 1, vip.StateUp), backend(2, 2, vip.StateUp), backend(3, 2, vip.StateUp))
	x := v.VIPs[0]
	tuple := apps.Tuple{Proto: apps.ProtoTCP, Dst: netip.AddrPortFrom(vipAddress, 80)}
	by := map[uint32]bool{}
	for port := range uint16(50) {
		tuple.Src = netip.AddrPortFrom(netip.MustParseAddr("10.1.0.9"), 1000+port)
		if b, reason := New(Config{}).Explain(v, x, 1, tuple); b != nil || !strings.Contains(reason, "hash is not known") {
			t.Fatalf("%v, %q", b, reason)
		}
		for _, build := range ovshash.Builds() {
			i := v.Switches[1]
			i.Hash = build
			w := *v
			w.Switches = map[flows.DPID]apps.SwitchInfo{1: i}
			want, _ := build.Pick([]uint32{256, 512, 768}, build.Basis(tuple.Flow(), ovshash.FiveTuple))
			got, reason := New(Config{}).Explain(&w, x, 1, tuple)
			if got == nil || got.ID != want/256 || reason != "" {
				t.Errorf("%s: port %d: %v, %q, want %d", build, 1000+port, got, reason, want/256)
			} else {
				by[got.ID] = true
			}
		}
	}
	if len(by) != 3 {
		t.Errorf("only %v are chosen", by)
	}
	none := viewOf(vip.StepSteady, [][]uint32{{}, {1}}, backend(1, 1, vip.StateDraining))
	if b, reason := New(Config{}).Explain(none, none.VIPs[0], 1, tuple); b != nil || !strings.Contains(reason, "refused") {
		t.Errorf("no backend: %v, %q", b, reason)
	}
}

// Switches that choose by different hashes are told of; one whose hash is not known yet is not.
func TestHashesDiffer(t *testing.T) {
	v := viewOf(vip.StepSteady, [][]uint32{{1}}, backend(1, 1, vip.StateUp))
	set := func(d flows.DPID, h ovshash.Build) {
		i := v.Switches[d]
		i.Hash = h
		v.Switches[d] = i
	}
	for _, tt := range []struct {
		a, b  ovshash.Build
		tells bool
	}{{0, 0, false}, {ovshash.Murmur, 0, false}, {ovshash.CRC32C, ovshash.CRC32C, false}, {ovshash.Murmur, ovshash.CRC32C, true}} {
		set(1, tt.a)
		set(2, tt.b)
		degraded, reason := New(Config{}).Limits(v, v.VIPs[0])
		if degraded != tt.tells || tt.tells != strings.Contains(reason, "0000000000000001 (murmur), 0000000000000002 (crc32c)") {
			t.Errorf("%q and %q: %t, %q", tt.a, tt.b, degraded, reason)
		}
	}
}
