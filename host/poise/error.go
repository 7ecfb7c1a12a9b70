package poise

import (
	"errors"
	"strings"
)

// Kind says what sort of failure an Error is. The order is part of the
// contract with stores and clients: append, never reorder.
type Kind uint8

// The kinds of Error. Exit codes and HTTP statuses are derived from them.
const (
	Internal Kind = iota
	NotFound
	Conflict
	Invalid
	Denied
	Limit
	Unavailable
)

var kindNames = [...]string{"internal", "not-found", "conflict", "invalid", "denied", "limit", "unavailable"}

// String gives the kind's name as it stands in logs and API problems.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "internal"
}

// Error is a failure that a person or a program can act on. "Does not fit" is
// never an Error; it is a Reason.
type Error struct {
	Kind   Kind
	Op     string // what was tried, e.g. `join node "n1"`
	Detail string // field, value and what was expected
	Err    error  // cause, may be nil
}

// Error joins operation, detail and cause with ": ".
func (e *Error) Error() string {
	parts := make([]string, 0, 3)
	if e.Op != "" {
		parts = append(parts, e.Op)
	}
	if e.Detail != "" {
		parts = append(parts, e.Detail)
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// KindOf gives the kind of the outermost Error in err's chain, or Internal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
