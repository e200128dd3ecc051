package othello

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
)

var (
	vip4 = netip.MustParseAddrPort("10.0.0.100:80")
	vip6 = netip.MustParseAddrPort("[fd00::100]:80")
)

// tuples are distinct connections to a VIP.
func tuples(random *rand.Rand, n int, proto uint8, to netip.AddrPort) []Tuple {
	seen := make(map[netip.AddrPort]bool, n)
	out := make([]Tuple, 0, n)
	for len(out) < n {
		a := netip.AddrFrom4([4]byte{10, 1, byte(random.Uint32()), byte(1 + random.IntN(250))})
		if to.Addr().Is6() {
			var b [16]byte
			b[0], b[1] = 0xfd, 1
			binary.BigEndian.PutUint32(b[12:], random.Uint32())
			a = netip.AddrFrom16(b)
		}
		c := netip.AddrPortFrom(a, uint16(1024+random.IntN(60000)))
		if !seen[c] {
			seen[c] = true
			out = append(out, Tuple{proto, c, to})
		}
	}
	return out
}

// states are connections at the owners of their Dcodes.
func states(codes *Codes, all []Tuple) []State {
	out := make([]State, len(all))
	for i, t := range all {
		out[i] = State{t, codes.Owner(t.Code())}
	}
	return out
}

// mustPin makes pins and checks the promise: every live connection stays where it is.
func mustPin(t *testing.T, codes *Codes, live []State) *Pins {
	t.Helper()
	p, err := Pin(codes, live, 7)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range live {
		if got, _ := p.Owner(codes, s.Tuple); got != s.Owner {
			t.Fatalf("%v of %d would go to %d", s.Tuple, s.Owner, got)
		}
	}
	if !p.Empty() { // as the stored names give them again, after a restart
		again, err := Restore(p.Named, live[0].Dst.Addr(), live[0].Proto, 7)
		if err != nil || !slices.Equal(p.A, again.A) || !slices.Equal(p.B, again.B) || !maps.Equal(p.Values, again.Values) || !slices.Equal(p.Exact, again.Exact) {
			t.Fatalf("their names give other pins, %v", err)
		}
	}
	return p
}

// Random changes one after the other, connections come and go: each stays, whatever its history, and new ones follow the table
// but for one in 4,096 per pinned backend.
func TestPinsKeepEveryConnection(t *testing.T) {
	for _, to := range []netip.AddrPort{vip4, vip6} {
		random := rand.New(rand.NewPCG(5, 6))
		pool := even(4)
		codes := Pack(MinCodes, pool)
		live := states(codes, tuples(random, 6000, apps.ProtoTCP, to))
		packed := 0
		for range 12 {
			pool = changed(random, pool, 8)
			codes = codes.Change(pool, nil)
			live = kept(live, codes)
			p := mustPin(t, codes, live)
			if p.Rows > 0 {
				packed++
			}
			pinned := 0
			for _, n := range tuples(random, 3000, apps.ProtoUDP, to) {
				if _, by := p.Owner(codes, n); by {
					pinned++
				}
			}
			if pinned > 40 { // of 3,000, at most 8/4,096 are expected
				t.Errorf("%d of 3000 new connections met a pin value", pinned)
			}
			random.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
			live = live[len(live)/10:]
			for _, n := range tuples(random, 600, apps.ProtoTCP, to) {
				o, _ := p.Owner(codes, n) // as the switch would have sent it
				live = append(live, State{n, o})
			}
			live = distinct(live)
		}
		if packed < 3 {
			t.Errorf("%v: only %d of 12 changes had pins in cells", to, packed)
		}
	}
}

// kept are the connections whose backend still is one.
func kept(live []State, codes *Codes) (out []State) {
	n := codes.Counts()
	for _, s := range live {
		if n[s.Owner] > 0 {
			out = append(out, s)
		}
	}
	return out
}

func distinct(live []State) (out []State) {
	seen := map[netip.AddrPort]bool{}
	for _, s := range live {
		if !seen[s.Src] {
			seen[s.Src] = true
			out = append(out, s)
		}
	}
	return out
}

// A backend that leaves takes its own connections with it, and displaces no other: no pins at all.
func TestRemovalNeedsNoPins(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{10, 100} {
		pool := even(n)
		for i := range pool {
			pool[i].Weight = 1 + random.IntN(5)
		}
		codes := Pack(SizeFor(pool), pool)
		live := states(codes, tuples(random, 50_000, apps.ProtoTCP, vip4))
		codes = codes.Change(pool[1:], nil)
		p := mustPin(t, codes, kept(live, codes))
		if !p.Empty() || p.Rows > 0 || len(p.Exact) > 0 {
			t.Errorf("%d backends: pins", n)
		}
	}
}

// As many as the study had: one backend more, 20,000 connections.
func TestPinsStayFew(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, test := range []struct{ n, live, pins int }{{10, 20_000, 1912}, {100, 20_000, 190}} {
		pool := even(test.n)
		codes := Pack(SizeFor(pool), pool)
		live := states(codes, tuples(random, test.live, apps.ProtoTCP, vip4))
		codes = codes.Change(append(pool, Share{1000, 1}), nil)
		p := mustPin(t, codes, live)
		displaced := 0
		for _, s := range live {
			if codes.Owner(s.Code()) != s.Owner {
				displaced++
			}
		}
		if more := len(p.Named) - displaced; displaced*10 > test.pins*13 || more > displaced/20 {
			t.Errorf("%d backends: %d pins, the study has %d; %d more for chance", test.n, displaced, test.pins, more)
		}
		if rows := 2 * p.Rows; rows*100 > 10*displaced {
			t.Errorf("%d backends: %d rows of cells for %d pins, want 9.3 per 100", test.n, rows, displaced)
		}
	}
}

// Connections that end let their pins go; the same connections give the same pins.
func TestPinsShrinkAndRepeat(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	pool := even(4)
	before := Pack(MinCodes, pool)
	live := states(before, tuples(random, 8000, apps.ProtoTCP, vip4))
	codes := before.Change(append(pool, Share{9, 1}), nil)
	all := mustPin(t, codes, live)
	if diff := cmp.Diff(all.A, mustPin(t, codes, live).A); diff != "" {
		t.Errorf("other pins for the same connections: %s", diff)
	}
	few := mustPin(t, codes, live[:2000])
	if all.Rows == 0 || few.Rows > 0 || len(few.Exact) == 0 {
		t.Errorf("8000 connections: %d rows; 2000: %d rows and %d rules", all.Rows, few.Rows, len(few.Exact))
	}
	if p := mustPin(t, codes, nil); !p.Empty() {
		t.Error("pins without connections")
	}
}

// Of IPv4 the switch does not hash the VIP's port: two connections from one client port to two ports have one Dcode, and may
// have two backends, one of them pinned in cells or both.
func TestPinsOfOneClientPort(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	pool := even(4)
	codes := Pack(MinCodes, pool)
	live := states(codes, tuples(random, 8000, apps.ProtoTCP, vip4))
	codes = codes.Change(append(pool, Share{9, 1}), nil)
	for _, s := range live[:4000] {
		s.Dst = netip.AddrPortFrom(s.Dst.Addr(), 81)
		s.Owner = uint32(1 + random.IntN(4))
		if random.IntN(2) == 0 {
			s.Owner = codes.Owner(s.Code())
		}
		live = append(live, s)
	}
	p := mustPin(t, codes, live)
	if p.Rows == 0 || len(p.Exact) == 0 {
		t.Errorf("%d rows, %d rules", p.Rows, len(p.Exact))
	}
}
