package manifest

import "github.com/poise-sched/poise/host/poise"

// Run is what only a run in virtual time looks at: what becomes of a job's tasks, and
// of its hold.
type Run struct {
	// Took is how long a task runs in truth, 0 = as long as the job declares.
	Took poise.Span `json:",omitempty"`
	// ExitCode is what its tasks end with, 0 to 255. Fails is how many of them do,
	// the first ones, 0 = all; those after them end with 0.
	ExitCode, Fails int32 `json:",omitempty"`
	// Release is how long after its submission a job that is held is released, 0 =
	// never.
	Release poise.Span `json:",omitempty"`
	// Any and Failed are those of After that may end anyhow, and that have to fail.
	Any, Failed []poise.JobID `json:",omitempty"`
}

// runFields are the fields of a job that only a run in virtual time has.
var runFields = []string{"submit", "every", "took", "exit_code", "fails", "release"}

// jobRun reads what becomes of a job in a run.
func jobRun(o *object) Run {
	r := Run{Took: o.span("took"), ExitCode: int32(o.integer("exit_code", 0, 0, 255)), Release: o.span("release")}
	if o.has("fails") {
		r.Fails = int32(o.integer("fails", 1, 1, poise.MaxRetries))
		if !o.has("exit_code") {
			r.ExitCode = 1
		} else if r.ExitCode == 0 {
			o.wrong("fails", "an exit_code above 0 beside it, or none for 1")
		}
	}
	if o.has("release") && !o.flag("hold", false) {
		o.wrong("release", "hold: true beside it")
	}
	return r
}
