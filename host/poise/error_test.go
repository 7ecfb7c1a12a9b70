package poise

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestErrorText(t *testing.T) {
	f := func(want string, e Error) {
		t.Helper()
		if got := e.Error(); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
	f(`join node "n1"`, Error{Op: `join node "n1"`})
	f("cpu: -1, expected 0 or more", Error{Detail: "cpu: -1, expected 0 or more"})
	f("EOF", Error{Err: io.EOF})
	f("read log: EOF", Error{Op: "read log", Err: io.EOF})
	f("read log: record 7: EOF", Error{Kind: Unavailable, Op: "read log", Detail: "record 7", Err: io.EOF})
	f("submit: job \"a\": id: taken", Error{Op: "submit", Err: &Error{Op: `job "a"`, Detail: "id: taken"}})
}

func TestKindOf(t *testing.T) {
	f := func(want Kind, err error) {
		t.Helper()
		if got := KindOf(err); got != want {
			t.Errorf("kind of %v: %s, expected %s", err, got, want)
		}
	}
	f(Internal, nil)
	f(Internal, io.EOF)
	f(Limit, &Error{Kind: Limit})
	f(Denied, fmt.Errorf("push: %w", &Error{Kind: Denied}))
	f(Denied, errors.Join(io.EOF, &Error{Kind: Denied}))
	// The outermost decides: it has the wider view.
	f(Conflict, &Error{Kind: Conflict, Err: fmt.Errorf("x: %w", &Error{Kind: NotFound})})
	f(Internal, &Error{Err: &Error{Kind: NotFound}})
	if err := (&Error{Kind: Unavailable, Err: fmt.Errorf("read: %w", io.EOF)}); !errors.Is(err, io.EOF) {
		t.Error("the cause is hidden from errors.Is")
	}
}

// The numbers are in stores and clients: they never change.
func TestKinds(t *testing.T) {
	f := func(k Kind, number uint8, name string) {
		t.Helper()
		if uint8(k) != number || k.String() != name {
			t.Errorf("%d %s, expected %d %s", k, k, number, name)
		}
	}
	f(Internal, 0, "internal")
	f(NotFound, 1, "not-found")
	f(Conflict, 2, "conflict")
	f(Invalid, 3, "invalid")
	f(Denied, 4, "denied")
	f(Limit, 5, "limit")
	f(Unavailable, 6, "unavailable")
	f(Kind(7), 7, "internal") // from a newer peer
	f(Kind(255), 255, "internal")
}
