package openflow

import "fmt"

// FormatError is bytes that cannot be what they claim to be: a part too short for its kind, or a length that leads
// outside of what holds it.
type FormatError struct {
	What      string // the message or part of one
	Got, Want int    // bytes; Want is the least possible (or most, if Got is larger)
}

func (e *FormatError) Error() string {
	bound := "at least"
	if e.Got > e.Want {
		bound = "at most"
	}
	return fmt.Sprintf("openflow: %s of %d bytes, want %s %d", e.What, e.Got, bound, e.Want)
}

// short and long are the two kinds of FormatError.
func short(what string, got, atLeast int) error { return &FormatError{what, got, atLeast} }
func long(what string, got, atMost int) error   { return &FormatError{what, got, atMost} }

// lengthOf is the length that the first element of a list says of itself, at a place in it. It has at least so many bytes, all of which are
// there.
func lengthOf(what string, list []byte, at, least int) (int, error) {
	if len(list) < least {
		return 0, short(what, len(list), least)
	}
	switch n := int(be.Uint16(list[at:])); {
	case n < least:
		return 0, short(what, n, least)
	case n > len(list):
		return 0, long(what, n, len(list))
	default:
		return n, nil
	}
}

// TypeMismatchError is a message given to the parser of another type.
type TypeMismatchError struct{ Got, Want Type }

func (e *TypeMismatchError) Error() string {
	return fmt.Sprintf("openflow: %s message where %s was expected", e.Got, e.Want)
}

// ValueError is a value that no OpenFlow version can carry.
type ValueError struct{ What string }

func (e *ValueError) Error() string { return "openflow: " + e.What }

// UnsupportedError is a value that this OpenFlow version cannot carry.
type UnsupportedError struct {
	Version Version
	What    string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("openflow: %s cannot be expressed in OpenFlow %s", e.What, e.Version)
}

// NegotiationError means that both sides speak no common version.
type NegotiationError struct {
	Ours  []Version
	Hello Hello
}

func (e *NegotiationError) Error() string {
	return fmt.Sprintf("openflow: no common version: ours %v, the peer's %s", e.Ours, e.Hello)
}
