package loop

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/state"
)

// Needs says how a job comes after others. What it comes after and neither list has is
// to succeed.
type Needs struct {
	Any    []poise.JobID `json:",omitempty"` // may end anyhow
	Failed []poise.JobID `json:",omitempty"` // have to end otherwise than well
}

// Met says whether a job may still run now that one it comes after has ended, well or
// not.
func (n *Needs) Met(id poise.JobID, well bool) bool {
	return slices.Contains(n.Any, id) || slices.Contains(n.Failed, id) != well
}

// Retry makes the event by which a job waits again whose task has failed or was lost.
// False where it has ended: it is not to be tried again, or was as often as it may be.
func (l *Loop) Retry(j *state.Job, now poise.Time) (poise.JobRequeued, bool) {
	r, failed := j.Retry, j.Failures+1
	if r == nil || failed > r.Limit {
		return poise.JobRequeued{}, false
	}
	seed := uint64(0)
	if s := l.state.Policies().Scheduler(); s != nil {
		seed = s.Seed
	}
	at := now + poise.Time(queue.Backoff(r.Backoff, r.MaxBackoff, j.ID, int(failed), seed))
	return poise.JobRequeued{Job: j.ID, NotBefore: at, Failed: true}, true
}

// EndWith gives the others of a gang that cannot start any more once one of them has
// ended, by index: they end with it. It is to be asked before that one ends.
func (l *Loop) EndWith(j *state.Job) []*state.Job {
	if l.state.Alone(j) {
		return nil
	}
	g := l.state.GangOf(j)
	if len(g.Members()) != int(g.Spec.Size) || len(g.Running()) > 0 {
		return nil // they are about to, or follow one by one
	}
	return slices.DeleteFunc(slices.Clone(g.Members()), func(m *state.Job) bool { return m == j })
}
