// Package wire is what an agent and a controller say to each other: lines of JSON, compressed by gzip, over the two bodies of
// one HTTP request. docs/agent.md says who sends what when, so that others may write an agent.
package wire

import (
	"fmt"
	"net/netip"
)

// Type is the media type of both bodies.
const Type = "application/x-ndjson"

// Protocols that a state may have.
const (
	TCP = "tcp"
	UDP = "udp"
)

// State is a connection as its backend's host has it.
type State struct {
	Protocol string         `json:"protocol"`
	Client   netip.AddrPort `json:"client"`
	Local    netip.AddrPort `json:"local"`
}

// FromAgent is a line that an agent sends: one of its fields is set.
type FromAgent struct {
	Hello  *Hello  `json:"hello,omitempty"`
	Dump   *Dump   `json:"dump,omitempty"`
	Change *Change `json:"change,omitempty"`
}

// Hello is an agent's first line.
type Hello struct {
	Run   string `json:"run"`   // names the agent's run: numbers of changes of another mean nothing
	First uint64 `json:"first"` // the first change that it can still send, Last+1 if there is none
	Last  uint64 `json:"last"`  // the last change that it has made, 0 if there is none
}

// Dump is a part of all connections of a host.
type Dump struct {
	ID     uint64  `json:"id"` // that of the request
	States []State `json:"states,omitempty"`
	End    *End    `json:"end,omitempty"` // of the last part
}

// End ends a dump.
type End struct {
	Seq      uint64   `json:"seq"`      // of the last change that the dump has in it
	States   int      `json:"states"`   // how many there were in all parts
	Complete []string `json:"complete"` // protocols of which the dump has all connections
}

// Change is what has changed since the last change or dump. An agent sends one each few seconds, also when nothing has.
type Change struct {
	Seq      uint64   `json:"seq"`             // rises by one
	After    int64    `json:"after,omitempty"` // the last Now that had been heard when the host's connections were read
	Opened   []State  `json:"opened,omitempty"`
	Closed   []State  `json:"closed,omitempty"`
	Complete []string `json:"complete"` // as in End
}

// FromController is a line that a controller sends: one of its fields is set.
type FromController struct {
	Dump   *Request `json:"dump,omitempty"`
	Resume *Ack     `json:"resume,omitempty"` // the controller has all up to this change: it wants those after
	Ack    *Ack     `json:"ack,omitempty"`
	Error  *Error   `json:"error,omitempty"` // the last line
}

// Request asks for all connections to some ports, read after it has come; and from then on for changes of these.
type Request struct {
	ID    uint64              `json:"id"`
	Now   int64               `json:"now"`   // a moment of the controller, which the agent repeats as After
	Ports map[string][]string `json:"ports"` // by protocol, such as "80" and "8000-8010"
}

// Ack says up to which change the controller has all.
type Ack struct {
	Seq uint64 `json:"seq"`
	Now int64  `json:"now"`
}

// Error is why one side ends the conversation. Reason is a word that never changes, Detail is for people.
type Error struct {
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

func (e *Error) Error() string { return e.Reason + ": " + e.Detail }

func errorf(reason, format string, args ...any) *Error {
	return &Error{reason, fmt.Sprintf(format, args...)}
}
