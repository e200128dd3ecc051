package controllertest

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// Stage says where a message stands.
type Stage uint8

// Stages.
const (
	Plainly   Stage = iota // by itself
	Adding                 // in a bundle-add message
	Committed              // in a bundle that is being committed
)

// Message is a message that the switch has received. A message in a bundle is recorded when it is added, without the
// bundle-add message around it.
type Message struct {
	Type  openflow.Type
	XID   uint32
	Stage Stage
	Raw   []byte
}

// String is a rule, group, meter, packet-out or bundle step as text with its command, of other messages the type.
func (m Message) String() string {
	switch m.Type {
	case openflow.TypeFlowMod:
		if f, err := openflow.ParseFlowMod(m.Raw); err == nil {
			return fmt.Sprintf("%s %s", f.Command, f.Rule)
		}
	case openflow.TypeGroupMod:
		if g, err := openflow.ParseGroupMod(m.Raw); err == nil {
			switch g.Command {
			case openflow.GroupInsertBucket:
				return fmt.Sprintf("INSERT %#x %s", g.BucketID, g.Group)
			case openflow.GroupRemoveBucket:
				return fmt.Sprintf("REMOVE %d %s", g.BucketID, g.Group)
			}
			return fmt.Sprintf("%s %s", [...]string{"ADD", "MOD", "DEL"}[min(g.Command, 2)], g.Group)
		}
	case openflow.TypeMeterMod:
		if cmd, t, err := openflow.ParseMeterMod(m.Raw); err == nil && cmd == openflow.MeterDelete {
			return fmt.Sprintf("DEL meter=%d", t.ID)
		} else if err == nil {
			return fmt.Sprintf("%s %s", [...]string{"ADD", "MOD"}[min(cmd, 1)], t)
		}
	case openflow.TypePacketOut:
		if p, err := openflow.ParsePacketOut(m.Raw); err == nil {
			return fmt.Sprintf("packet-out in_port=%d actions=%s %x", p.InPort, flows.AppendActions(nil, p.Actions), p.Data)
		}
	case openflow.TypeBundleControl:
		if b, err := openflow.ParseBundleControl(m.Raw); err == nil {
			return fmt.Sprintf("bundle %d %s", b.ID, b.Type)
		}
	}
	return m.Type.String()
}

// modifies reports whether the message changes rules, groups or meters.
func (m Message) modifies() bool {
	return m.Type == openflow.TypeFlowMod || m.Type == openflow.TypeGroupMod || m.Type == openflow.TypeMeterMod
}

// Received are the messages received, of some types or, if none are named, all; in order, over all connections.
func (s *Switch) Received(types ...openflow.Type) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.received {
		if len(types) == 0 || slices.Contains(types, m.Type) {
			out = append(out, m)
		}
	}
	return out
}

// Count is how many messages of some types have been received.
func (s *Switch) Count(types ...openflow.Type) int { return len(s.Received(types...)) }

// Modifications are the messages received that change rules, groups or meters, as text.
func (s *Switch) Modifications() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, m := range s.received {
		if m.modifies() {
			out = append(out, m.String())
		}
	}
	return out
}

// Forget empties the record of messages received.
func (s *Switch) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = nil
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
