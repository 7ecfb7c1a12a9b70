package queue

import (
	"fmt"
	"iter"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Queue holds the jobs that wait. A popped job is no longer in it: the caller
// places the job, or hands it back with Push, Park or Delay.
type Queue struct {
	settings Settings
	jobs     map[poise.JobID]*job
	groups   map[ShapeID]*group
	ready    heap[*group]
	parked   []*group
	sweepAt  poise.Time // when all parked groups are ready again; set while there are any
	helped   [64]uint64 // per cause, the version of the latest event that helps it
	delayed  heap[delayed]
}

// New makes an empty queue, or says which setting is out of range.
func New(s Settings) (*Queue, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &Queue{settings: s, jobs: map[poise.JobID]*job{}, groups: map[ShapeID]*group{}}, nil
}

// Push adds a job, or gives a popped one back its place. A job of a parked
// shape waits with its group, which no such job can leave before the group is
// woken. An Item without a job, with a time beyond MaxTime or with another size
// than its shape has is Invalid, a job that already waits is a Conflict.
func (q *Queue) Push(item Item) error {
	j, err := q.admit(&item)
	if err != nil {
		return err
	}
	q.enqueue(j)
	return nil
}

// Pop takes out the first job in order that may be tried at this time, or says
// that there is none. Retries and the sweep that are due come about here.
func (q *Queue) Pop(now poise.Time) (Item, bool) {
	h, ok := q.Peek(now)
	if !ok {
		return Item{}, false
	}
	q.dequeue(h.job)
	q.forget(h.job)
	return q.item(h.job), true
}

// Head is the first job of a queue that may be tried.
type Head struct{ job *job }

// Before says whether a head comes before that of another queue.
func (h Head) Before(other Head) bool { return h.job.compare(other.job) < 0 }

// Job is the job's id.
func (h Head) Job() poise.JobID { return h.job.id }

// Peek gives what Pop would take out.
func (q *Queue) Peek(now poise.Time) (Head, bool) {
	q.sweep(now)
	q.release(now)
	if len(q.ready) == 0 {
		return Head{}, false
	}
	return Head{q.ready[0].jobs[0].job}, true
}

// NextWake is the earliest time at which Pop may have a job though no event came
// in between, for a caller whose last Pop had none. Where no job waits there is
// no such time.
func (q *Queue) NextWake() (at poise.Time, ok bool) {
	at, ok = q.NextDue()
	if len(q.parked) > 0 && (!ok || q.sweepAt < at) {
		at, ok = q.sweepAt, true
	}
	return at, ok
}

// NextDue is NextWake without the sweep: when the first delayed job is due.
func (q *Queue) NextDue() (poise.Time, bool) {
	if len(q.delayed) == 0 {
		return 0, false
	}
	return q.delayed[0].due, true
}

// Remove takes out a waiting job, wherever it is, and says whether it was here.
func (q *Queue) Remove(id poise.JobID) bool {
	j := q.jobs[id]
	if j == nil {
		return false
	}
	if j.delayed() {
		q.delayed.remove(int(^j.pos))
	} else {
		q.dequeue(j)
	}
	q.forget(j)
	return true
}

// Holds says whether a job waits here, delayed or not.
func (q *Queue) Holds(id poise.JobID) bool { return q.jobs[id] != nil }

// Len is the number of waiting jobs.
func (q *Queue) Len() int { return len(q.jobs) }

// Ready is the number of jobs that may be tried now.
func (q *Queue) Ready() int { return q.Len() - q.Parked() - q.Delayed() }

// Parked is the number of jobs that wait for an event that may help them.
func (q *Queue) Parked() int {
	n := 0
	for _, g := range q.parked {
		n += len(g.jobs)
	}
	return n
}

// Delayed is the number of jobs that wait for their next attempt to bind.
func (q *Queue) Delayed() int { return len(q.delayed) }

// All gives every waiting job in order, wherever it is. It sorts a copy, so it
// costs n log n and is meant for listings.
func (q *Queue) All() iter.Seq[Item] {
	return func(yield func(Item) bool) {
		sorted := make([]*job, 0, len(q.jobs))
		for _, j := range q.jobs {
			sorted = append(sorted, j)
		}
		slices.SortFunc(sorted, (*job).compare)
		for _, j := range sorted {
			if !yield(q.item(j)) {
				return
			}
		}
	}
}

// admit makes a waiting job of an Item, in no heap yet.
func (q *Queue) admit(item *Item) (*job, error) {
	if item.Job == "" {
		return nil, item.refuse(poise.Invalid, "job: empty, expected an id")
	}
	if item.Submitted < -MaxTime || item.Submitted > MaxTime {
		return nil, item.refuse(poise.Invalid, fmt.Sprintf("submitted: %d ms, expected %d to %d", item.Submitted, -MaxTime, MaxTime))
	}
	if q.jobs[item.Job] != nil {
		return nil, item.refuse(poise.Conflict, "job: waits already, expected one that does not")
	}
	g := q.groups[item.Shape]
	if g == nil {
		g = &group{shape: item.Shape, size: item.Size}
		q.groups[item.Shape] = g
	}
	if g.size != item.Size {
		return nil, item.refuse(poise.Invalid, fmt.Sprintf("size: %+v, expected %+v as the other jobs of shape %d have", item.Size, g.size, g.shape))
	}
	j := &job{
		id: item.Job, key: q.settings.keyOf(item),
		seq: item.Seq, group: g, priority: item.Priority, run: item.RunTime,
	}
	g.count++
	q.jobs[j.id] = j
	return j, nil
}

func (i *Item) refuse(kind poise.Kind, detail string) error {
	return &poise.Error{Kind: kind, Op: fmt.Sprintf("queue job %q", i.Job), Detail: detail}
}

// forget drops a job that is in no heap any more.
func (q *Queue) forget(j *job) {
	delete(q.jobs, j.id)
	g := j.group
	if g.of != nil {
		g = g.of
	}
	if g.count--; g.count == 0 {
		delete(q.groups, g.shape)
	}
}

// enqueue puts a job into its group, which becomes ready unless it is parked.
func (q *Queue) enqueue(j *job) {
	g := j.group
	if g.longer != nil && g.longer.takes(j) {
		g.longer.take(j)
		return
	}
	g.jobs.push(queued{key: j.key, job: j})
	switch {
	case g.parked:
	case len(g.jobs) == 1:
		q.ready.push(g)
	case j.pos == 0:
		q.ready.fix(g.pos)
	}
}

// dequeue takes a job out of its group.
func (q *Queue) dequeue(j *job) {
	g, first := j.group, j.pos == 0
	g.jobs.remove(int(j.pos))
	switch {
	case g.parked:
		if len(g.jobs) == 0 {
			q.unlist(g)
			if g.of != nil {
				g.of.longer = nil
			}
		}
	case len(g.jobs) == 0:
		q.ready.remove(g.pos)
	case first:
		q.ready.fix(g.pos)
		q.skim(g)
	}
}

func (q *Queue) item(j *job) Item {
	key := j.key
	if last(key) {
		key += behind
	}
	return Item{
		Job: j.id, Shape: j.group.shape, Priority: j.priority,
		Submitted: q.settings.submitted(j.priority, key),
		Size:      j.group.size, RunTime: j.run, Seq: j.seq, Last: last(j.key),
	}
}

// later adds a span to a time; at the end of time it stays there.
func later(t poise.Time, s poise.Span) poise.Time {
	const end = poise.Time(1<<63 - 1)
	if t > end-poise.Time(s) {
		return end
	}
	return t + poise.Time(s)
}
