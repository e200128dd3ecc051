package controller

import (
	"errors"
	"fmt"
	"time"

	"github.com/evenflow/evenflow/flows"
)

// Reasons for which a session ends or is not made.
var (
	ErrClosed    = errors.New("the switch closed the connection")
	ErrDuplicate = errors.New("datapath id in use by another connection that is alive")
	ErrTakenOver = errors.New("another connection has taken over")
	ErrAuxiliary = errors.New("auxiliary connections are not used")
	ErrStalled   = errors.New("the switch does not read what is sent")
	ErrSilent    = errors.New("the switch does not answer echo requests")
	ErrProtocol  = errors.New("not OpenFlow")
	ErrTLS       = errors.New("no TLS session")
	ErrCrowded   = errors.New("too many connections that do not say which switch they are")
	ErrExcess    = errors.New("the switch sends too much")
	ErrUnknown   = errors.New("what the switch holds cannot be found out")
	ErrFull      = errors.New("too many switches")
)

// ErrNoAnswer means that a switch has not answered a request in time.
var ErrNoAnswer = errors.New("no answer")

// ErrLost means that a session has ended before an answer came.
var ErrLost = errors.New("session lost")

// ErrBusy means that too many requests wait for answers.
var ErrBusy = errors.New("too many requests under way")

// timeoutError says what was not answered and for how long; it is an ErrNoAnswer.
func timeoutError(what string, d time.Duration) error {
	return fmt.Errorf("%w to %s within %v", ErrNoAnswer, what, d)
}

// RefusedError is a part of an owner's desired state that a switch has refused, or that cannot be sent to it.
type RefusedError struct {
	DPID  flows.DPID
	Owner Owner
	What  string // the rule, group or meter as text
	Err   error  // an *openflow.Error from the switch, or the encoder's
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("switch %s: %s: %s: %v", e.DPID, e.Owner, e.What, e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }
