package engine

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// State is how far a task has come.
type State uint8

// The states, in the order in which a task goes through them; the last three
// are ends. The numbers are never stored, the names are.
const (
	Starting State = iota
	Running
	Succeeded // exited with 0 by itself
	Failed    // exited otherwise, was ended, or could not be started
	Lost      // it runs no longer, and nobody knows how it ended
)

var stateNames = [...]string{"starting", "running", "succeeded", "failed", "lost"}

// String gives the state's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Ended says whether the state is an end.
func (s State) Ended() bool { return s >= Succeeded }

// MarshalText gives the state's name.
func (s State) MarshalText() ([]byte, error) {
	if int(s) >= len(stateNames) {
		return nil, &poise.Error{Kind: poise.Internal, Detail: fmt.Sprintf("state: %d, expected 0 to %d", uint8(s), len(stateNames)-1)}
	}
	return []byte(stateNames[s]), nil
}

// UnmarshalText reads a state's name.
func (s *State) UnmarshalText(text []byte) error {
	for i, name := range stateNames {
		if name == string(text) {
			*s = State(i)
			return nil
		}
	}
	return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("state: %q, expected one of %q", text, stateNames)}
}

// Status is what an engine knows of one task.
type Status struct {
	Placement string
	State     State
	ExitCode  int32      // of an ended task; 128 and the number of the signal that ended it
	Signal    string     // name of the signal that ended it, "" = none
	Started   poise.Time // 0 = never started
	Ended     poise.Time // 0 = not ended
	Detail    string     // why it ended as it did, for a person; "" = by itself
}
