package main

import (
	"context"
	"encoding/hex"
	"net/netip"
	"testing"
)

// The bytes of both FLOW_MODs, written out by hand from the specification.
func TestFlowPair(t *testing.T) {
	pl, err := newPayload(plSYN, 0, 4, 10, netip.MustParseAddr("10.99.0.1"), 80, netip.MustParseAddr("10.1.0.1"),
		[6]byte{2, 0xef, 0, 0, 0, 1}, 64)
	if err != nil {
		t.Fatal(err)
	}
	frame, _, _ := pl.next(7)
	if !tcpSYN(frame) {
		t.Fatal("the payload is no TCP to us")
	}
	const (
		fixed = "0000000000000000" + "0000000000000000" + "0000" + "000a" + "0000" + "0001" + "ffffffff" + "ffffffff" + "ffffffff" + "00000000"
		tcp   = "80000a020800" + "8000140106"
	)
	want := "040e00a800000009" + fixed + // 168 bytes
		"0001002b" + tcp + "800016040a010001" + "800018040a630001" + "80001a020400" + "80001c020050" + "0000000000" +
		"0004004800000000" +
		"00190010" + "800018040a000001" + "00000000" +
		"00190010" + "80001c021f90" + "000000000000" +
		"00190010" + "80000606020000000001" + "0000" +
		"0000001000000001ffff000000000000" +
		"040e00b800000009" + fixed + // 184 bytes
		"0001002b" + tcp + "800016040a000001" + "800018040a010001" + "80001a021f90" + "80001c020400" + "0000000000" +
		"0004005800000000" +
		"00190010" + "800016040a630001" + "00000000" +
		"00190010" + "80001a020050" + "000000000000" +
		"00190010" + "8000080602ef00000001" + "0000" +
		"00190010" + "80000606120000000000" + "0000" +
		"0000001000000003ffff000000000000"
	rf := &reflector{ver: ver13, two: true}
	got := hex.EncodeToString(rf.flowPair(nil, 9, noBuffer, []byte{0, 0, 0, 3}, frame))
	if got != want {
		t.Errorf("flow pair\n got %s\nwant %s", got, want)
	}
	for _, f := range [][]byte{nil, frame[:50], pl.arp([6]byte{2}, 1)} {
		if tcpSYN(f) {
			t.Errorf("% x taken for TCP", f)
		}
	}
}

// Each SYN is answered by two FLOW_MODs that name it and one PACKET_OUT; what
// is not TCP by one of each.
func TestReflectTwo(t *testing.T) {
	for _, of := range []string{"1.3", "1.5"} {
		ver := byte(ver13)
		if of == "1.5" {
			ver = ver15
		}
		addr := startReflector(t, &reflector{ver: ver, two: true, out: true})
		for pl, mods := range map[string]uint64{plSYN: 2, plL2Known: 1} {
			o := quick(addr, of, pl, "throughput")
			o.Complete = "both"
			r, err := Run(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			c := r.Counts
			if c.Done == 0 || c.Lost != 0 || c.Unmatched != 0 || len(r.Errors) != 0 {
				t.Errorf("%s %s: %+v %v", of, pl, c, r.Errors)
			}
			// the measured time cuts through answers at both of its ends
			if slack := uint64(4 * o.Switches * o.Window); c.FlowMod > mods*c.PacketOut+slack || c.FlowMod+slack < mods*c.PacketOut {
				t.Errorf("%s %s: %d FLOW_MODs, %d PACKET_OUTs", of, pl, c.FlowMod, c.PacketOut)
			}
			// none with another number than that
			if by := r.FlowMods.ByNumber; len(by) != int(mods)+1 || by[mods] == 0 || by[mods-1] != 0 {
				t.Errorf("%s %s: FLOW_MODs per packet-in %v", of, pl, by)
			}
		}
	}
}
