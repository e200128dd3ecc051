package othello_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/evenflow/evenflow/othello"
)

// Readers go on while a writer adds, changes, deletes and swaps in data planes. Keys that the writer leaves alone have their
// value in each plane; a key that moves has its old value or its new one.
func TestReadersBesideAWriter(t *testing.T) {
	const still, moving = 2000, 2000
	m, err := othello.NewMap[uint64, uint16](func(k uint64) uint64 { return k }, 0, rand.NewPCG(23, 24))
	if err != nil {
		t.Fatal(err)
	}
	set := func(k uint64, v uint16) {
		if err := m.Set(k, v); err != nil {
			t.Error(err)
		}
	}
	for k := range uint64(still + moving) {
		set(k, uint16(k))
	}
	var live atomic.Pointer[othello.Uint16]
	swap := func() { live.Store(m.Uint16(func(_ uint64, v uint16) uint16 { return v })) }
	swap()

	var readers sync.WaitGroup
	var done atomic.Bool
	var lookups atomic.Int64
	for range 2 {
		readers.Go(func() {
			for !done.Load() {
				p := live.Load()
				for k := range uint64(still + moving) {
					got := p.Lookup(k)
					if got != uint32(k) && (k < still || got != uint32(k^0x8000)) {
						t.Errorf("key %d has value %#x", k, got)
						return
					}
				}
				lookups.Add(still + moving)
			}
		})
	}
	random := rand.New(rand.NewPCG(25, 26))
	for range 200 {
		for range 50 {
			k := still + random.Uint64N(moving)
			set(k, uint16(k)^uint16(random.Uint32N(2)<<15))
			other := 1<<20 + random.Uint64N(5000) // keys that come and go make it grow and be built anew
			if !m.Delete(other) {
				set(other, 1)
			}
		}
		swap()
	}
	done.Store(true)
	readers.Wait()
	if lookups.Load() == 0 {
		t.Error("no reader came round once")
	}
}

// A load balancer's table: live connections keep their backend, others are spread over all codes, and readers never wait.
func ExampleMap() {
	m, err := othello.NewMap[uint64, uint16](func(k uint64) uint64 { return k }, 1000, nil)
	if err != nil {
		panic(err)
	}
	for connection := range uint64(1000) {
		if err := m.Set(connection, uint16(connection%4)); err != nil {
			panic(err)
		}
	}
	m.Delete(999)

	var live atomic.Pointer[othello.Uint16] // what readers use
	live.Store(m.Uint16(func(_ uint64, backend uint16) uint16 { return backend }))
	fmt.Println(live.Load().Lookup(42), live.Load().Lookup(43))

	_, known := m.Get(999)
	fmt.Println(known)
	// Output:
	// 2 3
	// false
}
