package sim

import (
	"fmt"

	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// replay is a run in virtual time under way.
type replay struct {
	*course
	m *metrics
	t *timeline
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
	result.Failed = 0
	result.Replay = r.t.result(w)
	result.Replay.Waiting, err = r.waiting()
	return result, err
}

// newReplay readies a run of these arrivals in a world, measured between two
// times.
func newReplay(w *World, arrivals []Arrival, from, to poise.Time) *replay {
	r := &replay{m: newMetrics(w)}
	r.course = newCourse(w, 0, r)
	r.t = newTimeline(from, to, r.m.fleet, r.runs)
	for i := range arrivals {
		if a := &arrivals[i]; a.Took != 0 && a.Took != a.Job.RunTime {
			r.took[a.Job.ID] = a.Took
		}
	}
	return r
}

func (r *replay) happened(ev poise.Event)            { r.t.happened.follow(ev) }
func (r *replay) attempted(s *loop.Settled)          { r.m.attempt(r.state(), s) }
func (r *replay) started(j *state.Job, t *task)      { r.t.start(j, t) }
func (r *replay) missed(j *state.Job, at poise.Time) { r.t.miss(j, at) }
func (r *replay) stopped(id poise.JobID, tenant poise.TenantID, t *task) {
	r.t.stop(id, tenant, t)
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

// waiting says for each shape that still waits why, on the state at the end.
func (r *replay) waiting() ([]Waiting, error) {
	var out []Waiting
	at := map[uint32]int{}
	for _, item := range r.loop.Queued() {
		j := r.state().Job(item.Job)
		i, ok := at[j.Shape.ID]
		if !ok {
			d, err := r.loop.Try(j, r.now, sched.Full)
			if err != nil {
				return nil, err
			}
			i = len(out)
			at[j.Shape.ID] = i
			out = append(out, Waiting{Job: j.Name, Request: j.Shape.Request, Decision: d})
		}
		out[i].Jobs++
	}
	return out, nil
}

func (r *replay) run(arrivals []Arrival) error {
	for next := 0; next < len(arrivals); {
		now := arrivals[next].At
		if at, ok := r.course.next(); ok {
			now = min(now, at)
		}
		r.now = now
		r.t.advance(r.World, now)
		if err := r.finish(); err != nil {
			return err
		}
		for ; next < len(arrivals) && arrivals[next].At == now; next++ {
			j, err := r.submit(&arrivals[next])
			if err != nil {
				return err
			}
			r.m.arrive(j)
			r.t.arrive(j)
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
