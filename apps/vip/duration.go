package vip

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time.Duration that JSON and YAML hold as text ("30s").
type Duration time.Duration

// String is the duration in Go's notation.
func (d Duration) String() string { return time.Duration(d).String() }

// Seconds is the duration in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// MarshalJSON writes the text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads the text, or 0; null is as good as left out.
func (d *Duration) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "null":
		return nil
	case "0":
		*d = 0
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("duration %s: want text such as \"30s\"", b)
	}
	t, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("duration %q: want text such as \"30s\" or \"5m\"", s)
	}
	*d = Duration(t)
	return nil
}
