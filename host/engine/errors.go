package engine

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// NoCommand is the error of Bind for a task without a command, of an engine that
// runs programs.
func NoCommand(placement string) error {
	return &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("bind %q", placement), Detail: "command: none, expected a program and its arguments"}
}

// StillRuns is the error of Forget for a task that has not ended.
func StillRuns(placement string) error {
	return &poise.Error{
		Kind: poise.Conflict, Op: fmt.Sprintf("forget %q", placement), Detail: "state: not ended, expected an ended task; evict it first",
	}
}

// Unknown is the error of Evict for a placement that the engine does not know.
func Unknown(op, placement string) error {
	return &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("%s %q", op, placement), Detail: "placement: not known to this engine"}
}
