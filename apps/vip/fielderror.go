package vip

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of the model.
var (
	ErrFixed     = errors.New("fixed for life")        // a field that a VIP keeps from its creation on
	ErrExhausted = errors.New("ids are used up")       // a VIP has had 2^24 backends
	ErrSchema    = errors.New("unknown stored schema") // stored by a later version, or not by us
)

// FieldError is one thing wrong in a [Spec].
type FieldError struct {
	Field   string `json:"field"` // JSON path, such as "backends[1].port"
	Value   any    `json:"value"`
	Message string `json:"message"` // what is wrong, and what is allowed
}

// Error is the field, its value and what is allowed.
func (e FieldError) Error() string { return e.Field + ": " + e.Reason() }

// Reason is Error without the field.
func (e FieldError) Reason() string {
	if value := fmt.Sprint(e.Value); value != "" && e.Value != nil {
		return value + ": " + e.Message
	}
	return e.Message
}

// FieldErrors is everything wrong in a Spec, in the order of its fields.
type FieldErrors []FieldError

// Error is all of them on one line.
func (e FieldErrors) Error() string {
	s := make([]string, len(e))
	for i := range e {
		s[i] = e[i].Error()
	}
	return strings.Join(s, "; ")
}

func (e *FieldErrors) add(field string, value any, format string, args ...any) {
	*e = append(*e, FieldError{field, value, fmt.Sprintf(format, args...)})
}
