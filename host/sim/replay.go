package sim

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// replay is a run in virtual time under way.
type replay struct {
	*World
	now   poise.Time
	tasks tasks
	took  map[poise.JobID]poise.Span // of jobs that run otherwise than they declare
	m     *metrics
	t     *timeline
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
	r := &replay{World: w, tasks: newTasks(), took: map[poise.JobID]poise.Span{}, m: newMetrics(w)}
	for i := range arrivals {
		if a := &arrivals[i]; a.Took != 0 && a.Took != a.Job.RunTime {
			r.took[a.Job.ID] = a.Took
		}
	}
	r.t = newTimeline(from, to, r.m.fleet)
	w.events = r.follow
	return r
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
		if end, ok := r.tasks.next(); ok {
			now = min(now, end.at)
		}
		if due, ok := r.loop.NextDue(r.now); ok {
			now = min(now, max(due, r.now))
		}
		r.now = now
		r.t.advance(r.World, now)
		for end, ok := r.tasks.next(); ok && end.at == now; end, ok = r.tasks.next() {
			var body poise.Body = poise.JobFinished{Job: end.job}
			if r.tasks.running[end.job].yields {
				body = poise.JobRequeued{Job: end.job}
			}
			if err := r.apply(now, body); err != nil {
				return err
			}
		}
		for ; next < len(arrivals) && arrivals[next].At == now; next++ {
			j, err := r.submit(&arrivals[next])
			if err != nil {
				return err
			}
			r.m.arrive(j)
			r.t.arrive(j, r.runs(j))
		}
		if err := r.over(now); err != nil {
			return err
		}
		if err := r.pass(now); err != nil {
			return err
		}
	}
	return nil
}

// over ends the jobs whose deadline has come.
func (r *replay) over(now poise.Time) error {
	for _, id := range r.loop.Over(now) {
		var body poise.Body = poise.JobFinished{Job: id}
		if j := r.state().Job(id); j.Waiting() {
			body = poise.JobWithdrawn{Job: id}
			r.t.wait(j, now)
		}
		if err := r.apply(now, body); err != nil {
			return err
		}
	}
	return nil
}

// runs is how long a job runs in truth.
func (r *replay) runs(j *state.Job) poise.Span {
	if took, ok := r.took[j.ID]; ok {
		return took
	}
	return j.RunTime
}

// pass tries every job that may be tried now, in order.
func (r *replay) pass(now poise.Time) error {
	for {
		j, d, ok, err := r.attempt(now)
		if err != nil || !ok {
			return err
		}
		r.m.attempt(j, d)
	}
}

// follow does what an event means for the tasks that run.
func (r *replay) follow(ev poise.Event) {
	switch b := ev.Body.(type) {
	case poise.JobPlaced:
		r.start(&b.Placement, ev.At)
	case poise.GangPlaced:
		for i := range b.Placements {
			r.start(&b.Placements[i], ev.At)
		}
	case poise.JobPreempted:
		r.tasks.yield(r.state().Job(b.Job), max(b.Until, ev.At))
	case poise.JobFinished:
		r.stop(b.Job)
	case poise.JobRequeued:
		r.stop(b.Job)
	}
}

func (r *replay) start(p *poise.Placement, at poise.Time) {
	j := r.state().Job(p.Job)
	started := r.tasks.start(j, at, r.runs(j))
	r.t.start(j, &started)
}

func (r *replay) stop(id poise.JobID) {
	stopped := r.tasks.stop(id)
	r.t.stop(&stopped)
}
