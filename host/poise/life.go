package poise

import "fmt"

// Retry says how a job is tried again whose task failed or was lost.
type Retry struct {
	Limit int32 // how often, 1 to MaxRetries
	// Backoff is the wait before the first time, twice as much before each further
	// one, MaxBackoff at the most; 1 ms to MaxBackoff, at most MaxWait.
	Backoff, MaxBackoff Span
}

// MaxRetries bounds how often a job is tried again, MaxWait the wait before.
const (
	MaxRetries = 1000
	MaxWait    = Span(24 * 60 * 60 * 1000)
)

// JobHeld keeps a waiting job from being tried until it is released. It keeps its
// age.
type JobHeld struct {
	Job JobID
	By  string // who holds it
}

// JobReleased lets a job be tried that was held.
type JobReleased struct{ Job JobID }

// JobPrioritySet gives a job that waits or runs another priority, and with it all
// members of its gang.
type JobPrioritySet struct {
	Job      JobID
	Priority int32
	By       string
}

// EventKind implements Body.
func (JobHeld) EventKind() string { return "job-held" }

// EventKind implements Body.
func (JobReleased) EventKind() string { return "job-released" }

// EventKind implements Body.
func (JobPrioritySet) EventKind() string { return "job-priority-set" }

// DueBy is when a job is over for lack of time: one that waits, and has not run
// yet, at StartBy, and any that could not end by FinishBy any more. False where it
// has no such time.
func DueBy(waiting bool, startBy, finishBy Time, runTime Span) (Time, bool) {
	due, ok := finishBy, finishBy > 0
	if !waiting {
		return due, ok
	}
	if ok {
		due -= Time(runTime)
	}
	if startBy > 0 && (!ok || startBy < due) {
		return startBy, true
	}
	return due, ok
}

// validLife checks what a job says about its life beside its dependencies.
func (j *Job) validLife(op string) error {
	if err := validLabels(op, j.Labels); err != nil {
		return err
	}
	if j.StartBy < 0 || j.FinishBy < 0 {
		return invalid(op, fmt.Sprintf("start_by, finish_by: %d and %d ms, expected 0 for none, or a time", j.StartBy, j.FinishBy))
	}
	if j.StartBy > 0 && j.FinishBy > 0 && j.StartBy > j.FinishBy {
		return invalid(op, fmt.Sprintf("start_by: %d ms, expected at most finish_by, %d ms", j.StartBy, j.FinishBy))
	}
	r := j.Retry
	switch {
	case r == nil:
	case r.Limit < 1 || r.Limit > MaxRetries:
		return invalid(op, fmt.Sprintf("retry: limit: %d, expected 1 to %d", r.Limit, MaxRetries))
	case r.MaxBackoff < 1 || r.MaxBackoff > MaxWait:
		return invalid(op, fmt.Sprintf("retry: max_backoff: %d ms, expected 1 to %d", r.MaxBackoff, MaxWait))
	case r.Backoff < 1 || r.Backoff > r.MaxBackoff:
		return invalid(op, fmt.Sprintf("retry: backoff: %d ms, expected 1 to max_backoff, %d", r.Backoff, r.MaxBackoff))
	}
	return nil
}
