package daemon

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/snapshot"
	"github.com/poise-sched/poise/host/state"
)

// submitted compares a job to what the history says was submitted.
func (r *replay) submitted(ctx context.Context, was *made, job *state.Job) error {
	row, err := r.store.Job(ctx, string(was.Job))
	if poise.KindOf(err) == poise.NotFound {
		return nil // it has ended, and retention has cut it
	}
	if err != nil {
		return err
	}
	var spec Spec
	if err := json.Unmarshal(row.Body, &spec); err != nil {
		return fmt.Errorf("job %q: %w", was.Job, err)
	}
	is := job.Spec()
	is.After = spec.Job.After // those that it came after have ended
	// The history has these as they are now.
	is.Held, is.Priority, is.StartBy = spec.Job.Held, spec.Job.Priority, spec.Job.StartBy
	a, errA := json.Marshal(&spec.Job)
	b, errB := json.Marshal(&is)
	if errA != nil || errB != nil {
		return fmt.Errorf("job %q: %w, %w", was.Job, errA, errB)
	}
	field, x, y, err := firstDifference(a, b)
	if err == nil && field != "" {
		err = r.differs(was, "job as it was submitted: "+field, x, y)
	}
	return err
}

// intact checks that a plugin's bytes are those that were activated, where they
// are to be had.
func (r *replay) intact(ctx context.Context, was *made, a *poise.Activation) error {
	bin, err := r.store.Module(ctx, a.Digest)
	switch {
	case poise.KindOf(err) == poise.NotFound && was.Fault == "" && was.Policy == a.Plugin:
		return r.differs(was, fmt.Sprintf("module of plugin %q", a.Plugin), a.Digest, "not in the store")
	case poise.KindOf(err) == poise.NotFound:
		return nil
	case err != nil:
		return err
	}
	if is := snapshot.Digest(bin); is != a.Digest {
		return r.differs(was, fmt.Sprintf("module of plugin %q", a.Plugin), a.Digest, is)
	}
	return nil
}
