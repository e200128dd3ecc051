package vip

import (
	"encoding/json"
	"fmt"
)

// MaxDcodes is how many Dcodes a VIP of mode othello can have.
const MaxDcodes = 4096

// Owners says which backend has each Dcode of a generation, by place (package apps/othello); 0: none. In JSON it is a list of
// runs: how many places in a row, and whose they are.
type Owners []uint32

// MarshalJSON writes the runs.
func (o Owners) MarshalJSON() ([]byte, error) {
	runs := []uint32{}
	for i, owner := range o {
		if i == 0 || owner != o[i-1] {
			runs = append(runs, 0, owner)
		}
		runs[len(runs)-2]++
	}
	return json.Marshal(runs)
}

// UnmarshalJSON reads them.
func (o *Owners) UnmarshalJSON(b []byte) error {
	var runs []uint32
	if err := json.Unmarshal(b, &runs); err != nil {
		return err
	}
	if len(runs)%2 != 0 {
		return fmt.Errorf("owners: %d numbers, want pairs", len(runs))
	}
	*o = nil
	for i := 0; i < len(runs); i += 2 {
		if runs[i] > MaxDcodes || len(*o)+int(runs[i]) > MaxDcodes {
			return fmt.Errorf("owners: more than %d Dcodes", MaxDcodes)
		}
		for range runs[i] {
			*o = append(*o, runs[i+1])
		}
	}
	return nil
}
