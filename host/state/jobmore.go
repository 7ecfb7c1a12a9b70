package state

import "github.com/poise-sched/poise/host/poise"

// More is what most jobs do not have, or not for long. Jobs without any of it share
// one, so that a waiting job costs little memory. It is immutable: a job that
// changes has another one, and a copy of a job keeps what it was copied with.
type More struct {
	After     []poise.JobID // known jobs that have to end before; it is not to be tried
	StartBy   poise.Time    // 0 = whenever, or a task of it has run
	FinishBy  poise.Time    // 0 = whenever
	Retry     *poise.Retry
	Held      string // who holds it; it is not to be tried
	Labels    []poise.Label
	NotBefore poise.Time // it waits again, and is not to be tried before
	Failures  int32      // how many tasks of it failed or were lost
	Kind      *PodKind   // nil = it is no pod

	Yield Yield
}

// nothingMore is what a job has that has no More of its own. It is never written.
var nothingMore = &More{}

// change gives a job another More, with what the change makes of the one that it has.
func (j *Job) change(change func(*More)) {
	m := *j.More
	if change(&m); m.zero() {
		j.More = nothingMore
		return
	}
	j.More = &m
}

func (m *More) zero() bool {
	return len(m.After) == 0 && m.StartBy == 0 && m.FinishBy == 0 && m.Retry == nil && m.Held == "" && len(m.Labels) == 0 &&
		m.NotBefore == 0 && m.Failures == 0 && m.Kind == nil && m.Yield.zero()
}
