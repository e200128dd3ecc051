package apps

import "github.com/evenflow/evenflow/flows"

// Tally counts packets and their bytes.
type Tally struct{ Packets, Bytes uint64 }

// GroupStatus is a group that a switch holds.
type GroupStatus struct {
	flows.Group
	Total *Tally  // nil: the switch does not count
	Each  []Tally // of each bucket; nil: not counted
}

// MeterStatus is a meter that a switch holds. Counters are nil where the switch does not count.
type MeterStatus struct {
	flows.Meter
	Met     *Tally // what came to it
	Dropped *Tally // what exceeded its rate
}
