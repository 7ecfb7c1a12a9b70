package daemon

import (
	"context"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// findAfter looks up what the jobs of a submission come after, by the names or
// ids that were given. A name that an earlier job of the same submission has is
// that job's.
func (d *Daemon) findAfter(ctx context.Context, tenant poise.TenantID, specs []Spec) error {
	for i := range specs {
		s := &specs[i]
		for _, text := range s.After {
			if named(specs[:i], text) >= 0 {
				continue
			}
			row, err := d.find(ctx, tenant, text)
			if err != nil {
				return fmt.Errorf("after: %w", err)
			}
			if s.after == nil {
				s.after = map[string]store.JobRow{}
			}
			s.after[text] = row
		}
	}
	return nil
}

// named gives the last of the jobs with that name, -1 for none.
func named(specs []Spec, name string) int {
	for i := len(specs) - 1; i >= 0; i-- {
		if specs[i].Job.Name == name {
			return i
		}
	}
	return -1
}

// order gives jobs that have their ids the ids of those that they come after and
// that have not ended. One that ended otherwise than well is refused.
func (c *core) order(specs []Spec) error {
	for i := range specs {
		j := &specs[i].Job
		for _, text := range specs[i].After {
			var id poise.JobID
			if k := named(specs[:i], text); k >= 0 {
				id = specs[k].Job.ID
			} else {
				row := specs[i].after[text]
				refuse := func(detail string) error {
					return &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("submit job %q", j.Name), Detail: fmt.Sprintf("after: job %q %s", text, detail)}
				}
				switch live := c.jobs[poise.JobID(row.ID)]; {
				case live != nil:
					id = live.spec.Job.ID
				case row.State == stateSucceeded:
					continue
				case row.State == stateFailed, row.State == stateLost, row.State == stateWithdrawn:
					return refuse("is " + row.State + ", expected one that can succeed")
				default:
					return refuse("has just ended, expected this to be submitted again")
				}
			}
			if !slices.Contains(j.After, id) {
				j.After = append(j.After, id)
			}
		}
		if err := j.Validate(); err != nil {
			return err
		}
	}
	return nil
}
