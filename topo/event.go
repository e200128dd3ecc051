package topo

import "fmt"

// Event is something that happened, for people.
type Event struct {
	Kind    string // link, port, host
	Subject string // its name
	Message string
}

// maxEvents is how many events are kept for Events.
const maxEvents = 4096

// Events are the events since the last call, in order.
func (t *Topology) Events() []Event {
	t.rewire()
	e := t.events
	t.events = nil
	return e
}

func (t *Topology) tell(kind, subject, format string, args ...any) {
	if len(t.events) >= maxEvents {
		t.counters.LostEvents++
		return
	}
	t.events = append(t.events, Event{kind, subject, fmt.Sprintf(format, args...)})
}

// String is the port as people write it: the switch, a colon, the number.
func (p PortID) String() string { return fmt.Sprintf("%s:%d", p.DPID, p.No) }

func (c Cable) name() string { return c.A.String() + " - " + c.B.String() }
