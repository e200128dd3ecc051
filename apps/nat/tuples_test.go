package nat

import "testing"

// Where a connection's answers are kept is known before its backend is: what Prefetch has fetched is what will be looked at. The
// answers of all backends to one port of a client are apart all the same.
func TestTuplesNear(t *testing.T) {
	x := newTuples()
	answer := func(backend byte) fiveTuple {
		return fiveTuple{src: address{15: backend}, dst: address{15: 1}, sport: 8080, dport: 40000, proto: 6}
	}
	for backend := range byte(100) {
		sh, hash, _ := x.find(answer(backend))
		if near, h := x.near(answer(0)); near != sh || slotHash(h) != hash {
			t.Fatalf("backend %d: kept elsewhere than that of the first", backend)
		}
		if !x.claim(answer(backend), tupleOwner{vip: 1}) {
			t.Errorf("backend %d: passes for another", backend)
		}
		if x.claim(answer(backend), tupleOwner{vip: 2}) {
			t.Errorf("backend %d: claimed twice", backend)
		}
	}
}
