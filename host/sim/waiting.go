package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// MostWaiting bounds the kinds of waiting jobs that a result lists.
const MostWaiting = 100

// Why a job waits that is not tried.
const (
	WaitsHeld  = "held"
	WaitsAfter = "comes after others"
	WaitsGang  = "its gang is not ready"
	WaitsRetry = "tried again later"
)

// Waiting is jobs that still wait at the end for one reason: of one tenant and shape,
// where it is a decision, else all of a tenant.
type Waiting struct {
	Job     string         `json:"job"` // name of the first in the queue
	Tenant  poise.TenantID `json:"tenant"`
	Jobs    int            `json:"jobs"`
	Request poise.Request  `json:"request"` // of the first
	Reason  string         `json:"reason"`  // a verdict, or one of the above
	// Decision is that on the first, on the state at the end; nil where it is not
	// tried. Detail is what stands in its way then.
	Decision *poise.Decision `json:"decision,omitempty"`
	Detail   string          `json:"detail,omitempty"`
}

// Reason is how many jobs wait for a reason.
type Reason struct {
	Reason string `json:"reason"`
	Jobs   int    `json:"jobs"`
}

// kind is what jobs that wait for one reason have in common.
type kind struct {
	tenant poise.TenantID
	shape  uint32 // 0 of jobs that are not tried, and else one more than the shape's
	gang   string // that waits to start
	reason string // of jobs that are not tried
}

// waiting says of the jobs that wait why, on the state at the end: those that are
// tried in the order of the queue, then the others by arrival.
func (r *replay) waiting() ([]Waiting, []Reason, error) {
	var all []Waiting
	at, counts := map[kind]int{}, map[string]int{}
	add := func(k kind, j *state.Job, jobs int) error {
		i, ok := at[k]
		if !ok {
			w := Waiting{Job: j.Name, Tenant: j.Tenant, Request: j.Shape.Request, Reason: k.reason}
			if w.Detail = r.detail(j); k.reason == "" {
				d, err := r.tried(j, len(all) < MostWaiting)
				if err != nil {
					return err
				}
				w.Decision, w.Reason = &d, d.Verdict.String()
			}
			i, all = len(all), append(all, w)
			at[k] = i
		}
		all[i].Jobs += jobs
		counts[all[i].Reason] += jobs
		return nil
	}
	tried := map[poise.JobID]bool{}
	for _, item := range r.loop.Queued() {
		j := r.state().Job(item.Job)
		if j.NotBefore > r.now {
			continue
		}
		k, members := kind{tenant: j.Tenant, shape: j.Shape.ID + 1}, []*state.Job{j}
		if !r.state().Alone(j) {
			k.gang, members = j.Gang.ID, r.state().GangOf(j).Members()
		}
		for _, m := range members {
			tried[m.ID] = true
		}
		if err := add(k, j, len(members)); err != nil {
			return nil, nil, err
		}
	}
	for _, j := range r.state().Waiting() {
		if tried[j.ID] {
			continue
		}
		if err := add(kind{tenant: j.Tenant, reason: r.notTried(j)}, j, 1); err != nil {
			return nil, nil, err
		}
	}
	reasons := make([]Reason, 0, len(counts))
	for reason, jobs := range counts {
		reasons = append(reasons, Reason{reason, jobs})
	}
	slices.SortFunc(reasons, func(a, b Reason) int { return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Reason, b.Reason)) })
	return all[:min(len(all), MostWaiting)], reasons, nil
}

// tried gives the decision on a job, with its gang where it waits with that.
func (r *replay) tried(j *state.Job, full bool) (poise.Decision, error) {
	detail := sched.Brief
	if full {
		detail = sched.Full
	}
	if r.state().Alone(j) {
		return r.loop.Try(j, r.now, detail)
	}
	plan, err := r.loop.TryGang(r.state().GangOf(j).Members(), r.now, detail)
	return plan.Decision, err
}

// notTried says why a job is not tried.
func (r *replay) notTried(j *state.Job) string {
	switch {
	case j.Held != "":
		return WaitsHeld
	case len(j.After) > 0:
		return WaitsAfter
	case j.NotBefore > r.now:
		return WaitsRetry
	}
	return WaitsGang
}

// detail says what is in a job's way that is not tried.
func (r *replay) detail(j *state.Job) string {
	switch r.notTried(j) {
	case WaitsHeld:
		return "by " + j.Held
	case WaitsAfter:
		return "first of them " + r.state().Job(j.After[0]).Name
	case WaitsRetry:
		return fmt.Sprintf("in %d s", (j.NotBefore-r.now+999)/1000)
	}
	return ""
}
