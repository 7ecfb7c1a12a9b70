package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/state"
)

// replay is a run in virtual time under way.
type replay struct {
	*course
	m        *metrics
	t        *timeline
	endings  map[poise.JobID]ending // of jobs that others come after
	releases []release              // to come, the first in front
}

// RunReplay runs the arrivals at their times, each job for its run time (0: to
// the end of the run), through the deciding loop: jobs that do not fit are passed
// over and tried again when an event could help them. The run ends with the last
// arrival; figures over time and waits are of what happens from the given time
// on.
func RunReplay(c Config, q queue.Settings, nodes []poise.Node, arrivals []Arrival, from poise.Time) (*Result, error) {
	if len(arrivals) == 0 {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "replay", Detail: "jobs: none, expected at least one"}
	}
	w, err := NewWorld(&c, q, sortedNodes(nodes))
	if err != nil {
		return nil, err
	}
	sorted := inOrder(arrivals)
	if err := checkAfter(sorted); err != nil {
		return nil, err
	}
	first, last := sorted[0].At, sorted[len(sorted)-1].At
	if from > last {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "replay", Detail: fmt.Sprintf("from: %d ms, expected at most the last arrival at %d ms", from, last)}
	}
	r := newReplay(w, sorted, max(first, from), last)
	if err := r.run(sorted); err != nil {
		return nil, err
	}
	result := r.m.result(w, ModeReplay)
	result.Replay = r.t.result(w)
	result.Placed, result.Failed = r.t.placed(), 0
	result.Replay.Waiting, result.Replay.Reasons, err = r.waiting()
	return result, err
}

// newReplay readies a run of these arrivals in a world, measured between two
// times.
func newReplay(w *World, arrivals []Arrival, from, to poise.Time) *replay {
	r := &replay{m: newMetrics(w), endings: map[poise.JobID]ending{}, releases: releasesOf(arrivals)}
	r.course = newCourse(w, 0, r)
	r.t = newTimeline(from, to, r.m.fleet, r.runs)
	for i := range arrivals {
		r.known(&arrivals[i])
		for _, id := range arrivals[i].Job.After {
			r.endings[id] = open
		}
	}
	return r
}

func (r *replay) happened(ev poise.Event)                     { r.t.happened.follow(ev) }
func (r *replay) attempted(s *loop.Settled)                   { r.m.attempt(r.state(), s) }
func (r *replay) started(j *state.Job, t *task)               { r.t.start(j, t) }
func (r *replay) stopped(id poise.JobID, t *task, waits bool) { r.t.stop(id, t, waits) }
func (r *replay) missed(*state.Job)                           { r.t.happened.Missed++ }
func (r *replay) eligible(j *state.Job)                       { r.t.eligible(j, r.now) }
func (r *replay) ended(j *state.Job, how ending) {
	if _, asked := r.endings[j.ID]; asked {
		r.endings[j.ID] = how
	}
	r.t.end(j, how, r.now)
}

// checkAfter refuses a job that comes after one that arrives later or never.
func checkAfter(arrivals []Arrival) error {
	known := map[poise.JobID]bool{}
	for i := range arrivals {
		j := &arrivals[i].Job
		for _, id := range j.After {
			if !known[id] {
				return &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("job %q", j.ID), Detail: fmt.Sprintf("after: %q, expected a job that arrives before it", id)}
			}
		}
		known[j.ID] = true
	}
	return nil
}

// arrive submits a job. One that cannot run, by how others have ended, ends at once:
// a daemon would refuse it.
func (r *replay) arrive(a *Arrival) error {
	j, err := r.submit(a)
	if err != nil {
		return err
	}
	r.m.arrive(j)
	unmet := slices.ContainsFunc(a.Job.After, func(id poise.JobID) bool {
		how := r.endings[id]
		return how != open && !a.Needs.Met(id, how == succeeded)
	})
	if r.t.arrive(j, !unmet && !j.Blocked()); unmet {
		return r.end(j, withdrawn)
	}
	return nil
}

// release is when a job is held no longer.
type release struct {
	at  poise.Time
	job poise.JobID
}

func releasesOf(arrivals []Arrival) []release {
	var all []release
	for i := range arrivals {
		if a := &arrivals[i]; a.Release > 0 && a.Job.Held != "" {
			all = append(all, release{later(a.At, a.Release), a.Job.ID})
		}
	}
	slices.SortStableFunc(all, func(a, b release) int { return cmp.Compare(a.at, b.at) })
	return all
}

// letGo releases the jobs whose hold ends now.
func (r *replay) letGo() error {
	for ; len(r.releases) > 0 && r.releases[0].at <= r.now; r.releases = r.releases[1:] {
		j := r.state().Job(r.releases[0].job)
		if j == nil || j.Held == "" { // it has ended
			continue
		}
		if err := r.apply(r.now, poise.JobReleased{Job: j.ID}); err != nil {
			return err
		}
		if !j.Blocked() {
			r.eligible(j)
		}
	}
	return nil
}

func (r *replay) run(arrivals []Arrival) error {
	for next := 0; next < len(arrivals); {
		now := arrivals[next].At
		if at, ok := r.course.next(); ok {
			now = min(now, at)
		}
		if len(r.releases) > 0 {
			now = min(now, max(r.releases[0].at, r.now))
		}
		r.now = now
		r.t.advance(r.World, now)
		if err := r.finish(); err != nil {
			return err
		}
		for ; next < len(arrivals) && arrivals[next].At == now; next++ {
			if err := r.arrive(&arrivals[next]); err != nil {
				return err
			}
		}
		if err := r.letGo(); err != nil {
			return err
		}
		if err := r.over(); err != nil {
			return err
		}
		if err := r.pass(always); err != nil {
			return err
		}
	}
	return nil
}
