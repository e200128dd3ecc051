package main

import (
	"runtime"

	"github.com/evenflow/evenflow/othello"
)

// none is what a table that knows its keys answers for others; values are narrower.
const none = 0xffff

// table is what is measured. Each writes its loops itself, so that none pays for a call the others do not.
type table interface {
	independent(keys []uint64) uint32
	dependent(keys []uint64) uint32
	answer(keys []uint64, values []uint16)
	bytes() int // 0: does not depend on the keys
}

// batcher is a table that can be asked for many keys at a time.
type batcher interface {
	batched(keys []uint64, values []uint32)
}

// kinds are the tables in the order of their rows. exact: stored keys have values of their own; member: an unknown key is told.
var kinds = []struct {
	name          string
	exact, member bool
	build         func(*data) (table, error)
}{
	{"Othello, 16 bits", true, false, buildWide},
	{"Othello, 12 bits packed", true, false, buildPacked},
	{"digest cuckoo (4 slots of 16 + 16 bits, 95 % full)", true, true, func(d *data) (table, error) { return buildCuckoo(d), nil }},
	{"the same, 4 slots compared at once", true, true, buildLanes},
	{"Go map", true, true, buildMap},
	{"Maglev 65537 (no state)", false, false, buildMaglev},
}

// zero is 0, unknown to the compiler: what is xor-ed with its multiple waits for it.
var zero uint64

type wide struct{ *othello.Uint16 }

func buildWide(d *data) (table, error) {
	p, err := othello.BuildUint16(d.keys, d.values)
	return wide{p}, err
}

func (t wide) bytes() int { return t.Bytes() }

func (t wide) independent(keys []uint64) (sum uint32) {
	for _, k := range keys {
		sum += t.Lookup(k)
	}
	return sum
}

func (t wide) batched(keys []uint64, values []uint32) { t.LookupBatch(keys, values) }

func (t wide) dependent(keys []uint64) (v uint32) {
	for _, k := range keys {
		v = t.Lookup(k ^ uint64(v)&zero)
	}
	return v
}

func (t wide) answer(keys []uint64, values []uint16) {
	for i, k := range keys {
		values[i] = uint16(t.Lookup(k))
	}
}

type packed struct{ *othello.Packed }

func buildPacked(d *data) (table, error) {
	values := make([]uint32, len(d.values))
	for i, v := range d.values {
		values[i] = uint32(v)
	}
	p, err := othello.BuildPacked(width, d.keys, values)
	return packed{p}, err
}

func (t packed) bytes() int { return t.Bytes() }

func (t packed) independent(keys []uint64) (sum uint32) {
	for _, k := range keys {
		sum += t.Lookup(k)
	}
	return sum
}

func (t packed) batched(keys []uint64, values []uint32) { t.LookupBatch(keys, values) }

func (t packed) dependent(keys []uint64) (v uint32) {
	for _, k := range keys {
		v = t.Lookup(k ^ uint64(v)&zero)
	}
	return v
}

func (t packed) answer(keys []uint64, values []uint16) {
	for i, k := range keys {
		values[i] = uint16(t.Lookup(k))
	}
}

type goMap struct {
	m    map[uint64]uint16
	size int
}

// buildMap measures the map's memory by the heap's growth.
func buildMap(d *data) (table, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := make(map[uint64]uint16, len(d.keys))
	for i, k := range d.keys {
		m[k] = d.values[i]
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	return goMap{m, int(after.HeapAlloc - before.HeapAlloc)}, nil
}

func (t goMap) bytes() int { return t.size }

func (t goMap) independent(keys []uint64) (sum uint32) {
	for _, k := range keys {
		sum += uint32(t.m[k])
	}
	return sum
}

func (t goMap) dependent(keys []uint64) (v uint32) {
	for _, k := range keys {
		v = uint32(t.m[k^uint64(v)&zero])
	}
	return v
}

func (t goMap) answer(keys []uint64, values []uint16) {
	for i, k := range keys {
		v, ok := t.m[k]
		if !ok {
			v = none
		}
		values[i] = v
	}
}
