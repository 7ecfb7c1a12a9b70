package sim

import (
	"container/heap"
	"fmt"
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// replay is a run in virtual time under way.
type replay struct {
	*World
	queue   *queue.Queue
	ends    departures
	keyed   map[string]queue.ShapeID // see item
	started uint64
	m       *metrics
	t       *timeline
}

// RunReplay runs the arrivals at their times, each job for its run time (0: to
// the end of the run), through the queue: jobs that do not fit are passed over
// and tried again when an event could help them. The run ends with the last
// arrival; figures over time and waits are of what happens from the given time
// on.
func RunReplay(c Config, q queue.Settings, nodes []poise.Node, arrivals []Arrival, from poise.Time) (*Result, error) {
	if len(arrivals) == 0 {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "replay", Detail: "jobs: none, expected at least one"}
	}
	jobs, err := queue.New(q)
	if err != nil {
		return nil, err
	}
	w, err := NewWorld(&c, sortedNodes(nodes))
	if err != nil {
		return nil, err
	}
	sorted := inOrder(arrivals)
	r := &replay{World: w, queue: jobs, m: newMetrics(w)}
	first, last := sorted[0].At, sorted[len(sorted)-1].At
	if from > last {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "replay", Detail: fmt.Sprintf("from: %d ms, expected at most the last arrival at %d ms", from, last)}
	}
	r.t = newTimeline(max(first, from), last, r.m.fleet)
	if err := r.run(sorted); err != nil {
		return nil, err
	}
	result := r.m.result(w, ModeReplay)
	result.Failed = 0
	result.Replay = r.t.result(w, jobs)
	result.Replay.Waiting, err = r.waiting()
	return result, err
}

// waiting says for each shape that still waits why, on the state at the end.
func (r *replay) waiting() ([]Waiting, error) {
	var out []Waiting
	at := map[uint32]int{}
	for item := range r.queue.All() {
		j := r.state.Job(item.Job)
		i, ok := at[j.Shape.ID]
		if !ok {
			d, err := r.pipeline.Plan(r.state.View(), j, sched.Pass{Now: r.state.View().At(), Detail: sched.Full})
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
		if len(r.ends) > 0 {
			now = min(now, r.ends[0].at)
		}
		r.t.advance(r.World, now)
		for len(r.ends) > 0 && r.ends[0].at == now {
			if err := r.end(heap.Pop(&r.ends).(departure)); err != nil {
				return err
			}
		}
		for ; next < len(arrivals) && arrivals[next].At == now; next++ {
			j, err := r.submit(&arrivals[next])
			if err != nil {
				return err
			}
			r.m.arrive(j)
			r.t.arrive(j)
			if err := r.queue.Push(r.item(j)); err != nil {
				return err
			}
		}
		if err := r.pass(now); err != nil {
			return err
		}
	}
	return nil
}

// item gives the job as the queue knows it. Jobs of one shape that the policy
// tells apart are of different shapes there: what one of them waits for, another
// may not. Their numbers count down, those of shapes count up.
func (r *replay) item(j *state.Job) queue.Item {
	item := itemOf(j)
	key := r.pipeline.Key(j)
	if key == "" {
		return item
	}
	key = fmt.Sprintf("%d %s", j.Shape.ID, key)
	if _, ok := r.keyed[key]; !ok {
		if r.keyed == nil {
			r.keyed = map[string]queue.ShapeID{}
		}
		r.keyed[key] = math.MaxUint32 - queue.ShapeID(len(r.keyed))
	}
	item.Shape = r.keyed[key]
	return item
}

func itemOf(j *state.Job) queue.Item {
	return queue.Item{
		Job: j.ID, Shape: queue.ShapeID(j.Shape.ID), Priority: j.Priority, Submitted: j.Submitted,
		Size: queue.SizeOf(&j.Shape.Request), Seq: j.Seq,
	}
}

// pass tries every job that may be tried now, in order.
func (r *replay) pass(now poise.Time) error {
	for {
		item, ok := r.queue.Pop(now)
		if !ok {
			return nil
		}
		j := r.state.Job(item.Job)
		d, err := r.try(j, now)
		if err != nil {
			return err
		}
		r.m.attempt(j, &d)
		if d.Verdict != poise.Placed {
			if err := r.queue.Park(item, queue.CausesOf(&d), d.Version, now); err != nil {
				return err
			}
			continue
		}
		r.t.start(j, now)
		if end := now + poise.Time(j.RunTime); end > now { // else it has no run time, or one beyond the end of time
			r.started++
			heap.Push(&r.ends, departure{at: end, seq: r.started, job: j.ID})
		}
	}
}

// end finishes a job and wakes those that its resources could help.
func (r *replay) end(e departure) error {
	j := r.state.Job(e.job)
	if j == nil {
		return fmt.Errorf("BUG: job %q ends but is not known", e.job)
	}
	r.t.finish(j)
	help := queue.Causes(0)
	if j.Shape.Request.Device.Count > 0 {
		help |= queue.Devices
	}
	for _, a := range j.Shape.Request.Amounts {
		if dim := slices.Index(r.state.View().Dims(), a.Name); a.Value > 0 && dim >= 0 {
			help |= queue.Dimension(dim)
		}
	}
	if err := r.apply(e.at, poise.JobFinished{Job: e.job}); err != nil {
		return err
	}
	r.queue.Wake(help, r.state.View().Version())
	return nil
}
