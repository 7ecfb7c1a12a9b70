package sim

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/preempt"
	"github.com/poise-sched/poise/host/state"
)

// drawLives draws jobs and gangs with everything that a job's life can have, and a
// last job that asks for nothing.
func drawLives(t *rapid.T) []Arrival {
	shapes := rapid.SliceOfN(rapid.Custom(drawShape), 1, 3).Draw(t, "shapes")
	var all []Arrival
	now := poise.Time(0)
	for i := range rapid.IntRange(1, 16).Draw(t, "units") {
		now += poise.Time(rapid.IntRange(0, 3).Draw(t, "apart")) * 5 * second
		a := Arrival{Job: rapid.SampledFrom(shapes).Draw(t, "shape"), At: now}
		j := &a.Job
		j.Tenant = rapid.SampledFrom([]poise.TenantID{"t", "u"}).Draw(t, "tenant")
		j.Priority = rapid.Int32Range(0, 2).Draw(t, "priority")
		j.RunTime = poise.Span(rapid.IntRange(1, 30).Draw(t, "run time")) * second
		a.Took = rapid.SampledFrom([]poise.Span{0, 0, 3 * second, 40 * second}).Draw(t, "took")
		if rapid.IntRange(0, 2).Draw(t, "fails") == 0 {
			a.ExitCode, a.Fails = 1, rapid.Int32Range(0, 2).Draw(t, "how many fail")
		}
		if rapid.Bool().Draw(t, "retries") {
			j.Retry = &poise.Retry{Limit: rapid.Int32Range(1, 3).Draw(t, "limit"), Backoff: 2 * second, MaxBackoff: 6 * second}
		}
		if rapid.IntRange(0, 4).Draw(t, "held") == 0 {
			j.Held, a.Release = "ops", poise.Span(rapid.IntRange(0, 3).Draw(t, "release"))*10*second
		}
		switch rapid.IntRange(0, 5).Draw(t, "due") {
		case 0:
			j.StartBy = now + poise.Time(rapid.IntRange(1, 40).Draw(t, "start by"))*second
		case 1:
			j.FinishBy = now + poise.Time(rapid.IntRange(1, 60).Draw(t, "finish by"))*second
		}
		for _, before := range all[max(0, len(all)-4):] {
			switch rapid.IntRange(0, 8).Draw(t, "after") {
			case 0:
			case 1:
				a.Needs.Any = append(a.Needs.Any, before.Job.ID)
			case 2:
				a.Needs.Failed = append(a.Needs.Failed, before.Job.ID)
			default:
				continue
			}
			j.After = append(j.After, before.Job.ID)
		}
		j.ID, j.Tasks = poise.JobID(fmt.Sprintf("u%02d", i)), 1
		if size := rapid.SampledFrom([]int32{1, 1, 1, 2, 3}).Draw(t, "size"); size > 1 {
			g := poise.Gang{ID: string(j.ID), Size: size, Min: rapid.Int32Range(1, size).Draw(t, "min")}
			for index := range size {
				m, of := a, g
				of.Index = index
				m.Job.ID, m.Job.Gang, m.Job.Tasks = poise.JobID(fmt.Sprintf("%s-%d", g.ID, index)), &of, size
				all = append(all, m)
			}
			continue
		}
		all = append(all, a)
	}
	for i := range all {
		all[i].Job.Name = string(all[i].Job.ID)
	}
	end := now + poise.Time(rapid.SampledFrom([]int{0, 20, 600}).Draw(t, "end"))*second
	return append(all, Arrival{Job: poise.Job{ID: "z", Name: "z", Tenant: "t", Tasks: 1}, At: end})
}

// drawQueue draws for whom nodes are kept and who gives way.
func drawQueue(t *rapid.T, c *Config) {
	c.Reservations = rapid.IntRange(0, 2).Draw(t, "reservations")
	c.Tenants = []poise.Tenant{{ID: "t"}, {ID: "u", Weight: 2, Quotas: []poise.Quota{{Resource: "cpu", Guaranteed: 2000, Limit: 8000}}}}
	c.Preempt = &preempt.Settings{
		Priority: rapid.Bool().Draw(t, "preemption by priority"), Reclaim: rapid.Bool().Draw(t, "reclaims"),
		Grace: 2 * second, Cooldown: 20 * second, Hold: 5 * second,
	}
}

// life is what the events of a run say of a job, told a second time from what its
// fields mean.
type life struct {
	*Arrival
	came, ran  bool
	started    poise.Time
	running    bool
	before     poise.Time // it may not start
	failures   int32
	displaced  int
	how        ending
	yields     bool
	heldUntil  poise.Time
	everlastly bool // nobody releases it
}

// lives checks the events of a run against what the jobs are to go through.
type lives struct {
	t    fataler
	jobs map[poise.JobID]*life
}

func newLives(t fataler, arrivals []Arrival) *lives {
	l := &lives{t: t, jobs: map[poise.JobID]*life{}}
	for i := range arrivals {
		a := &arrivals[i]
		j := &life{Arrival: a}
		if a.Job.Held != "" {
			j.heldUntil, j.everlastly = a.At+poise.Time(a.Release), a.Release == 0
		}
		l.jobs[a.Job.ID] = j
	}
	return l
}

func (l *lives) follow(ev poise.Event) {
	l.t.Helper()
	switch b := ev.Body.(type) {
	case poise.JobSubmitted:
		l.jobs[b.Job.ID].came = true
	case poise.JobPlaced:
		l.start(b.Placement.Job, ev.At)
	case poise.GangPlaced:
		for i := range b.Placements {
			l.start(b.Placements[i].Job, ev.At)
		}
	case poise.JobPreempted:
		l.jobs[b.Job].yields = true
	case poise.JobRequeued:
		l.again(&b, ev.At)
	case poise.JobFinished:
		l.finish(b.Job, ev.At)
	case poise.JobWithdrawn:
		l.withdraw(b.Job, ev.At)
	}
}

func (l *lives) start(id poise.JobID, at poise.Time) {
	l.t.Helper()
	j := l.jobs[id]
	if !j.came || j.running || j.how != open || at < j.before || at < j.heldUntil || j.everlastly {
		l.t.Fatalf("at %d ms %s starts: %+v", at, id, j)
	}
	if by := j.Job.StartBy; by > 0 && at >= by && j.failures == 0 && !j.ran {
		l.t.Fatalf("at %d ms %s starts, by %d it had to", at, id, by)
	}
	if why := l.unmet(j, true); why != "" {
		l.t.Fatalf("at %d ms %s starts: %s", at, id, why)
	}
	j.running, j.ran, j.started, j.yields = true, true, at, false
}

// unmet says what a job comes after that has ended otherwise than it needs or, where
// all are to have ended, has not.
func (l *lives) unmet(j *life, all bool) string {
	for _, id := range j.Job.After {
		how := l.jobs[id].how
		any, bad := slices.Contains(j.Needs.Any, id), slices.Contains(j.Needs.Failed, id)
		switch {
		case how == open && all:
			return string(id) + " has not ended"
		case how != open && !any && bad == (how == succeeded):
			return string(id) + " ended otherwise"
		}
	}
	return ""
}

// again takes in that a job waits again: a task failed and it may be tried once more,
// or it made room.
func (l *lives) again(b *poise.JobRequeued, at poise.Time) {
	l.t.Helper()
	j := l.jobs[b.Job]
	if !j.running {
		l.t.Fatalf("at %d ms %s waits again: %+v", at, b.Job, j)
	}
	j.running, j.before = false, b.NotBefore
	if !b.Failed {
		if j.displaced++; !j.yields {
			l.t.Fatalf("at %d ms %s waits again and made room for nobody", at, b.Job)
		}
		return
	}
	if !j.natural(at) || !j.fails(j.failures) || j.yields {
		l.t.Fatalf("at %d ms %s fails: %+v", at, b.Job, j)
	}
	j.failures++
	r := j.Job.Retry
	if r == nil || j.failures > r.Limit {
		l.t.Fatalf("at %d ms %s is tried again after %d failures, by %+v", at, b.Job, j.failures, r)
	}
	longest := min(r.Backoff<<(j.failures-1), r.MaxBackoff)
	if wait := poise.Span(b.NotBefore - at); wait < longest/2 || wait > longest {
		l.t.Fatalf("at %d ms %s waits %d ms before it is tried again, expected %d to %d", at, b.Job, wait, longest/2, longest)
	}
}

// natural says whether a task has run for as long as it does.
func (j *life) natural(at poise.Time) bool {
	runs := j.Took
	if runs == 0 {
		runs = j.Job.RunTime
	}
	return runs > 0 && at == j.started+poise.Time(runs)
}

func (l *lives) finish(id poise.JobID, at poise.Time) {
	l.t.Helper()
	j := l.jobs[id]
	switch {
	case !j.running || j.how != open:
		l.t.Fatalf("at %d ms %s ends: %+v", at, id, j)
	case !j.natural(at):
		if j.how = failed; at != j.Job.FinishBy {
			l.t.Fatalf("at %d ms %s ends before its time: %+v", at, id, j)
		}
	case !j.fails(j.failures):
		j.how = succeeded
	default:
		if j.how = failed; j.Job.Retry != nil && j.failures < j.Job.Retry.Limit && at != j.Job.FinishBy {
			l.t.Fatalf("at %d ms %s has failed %d times and is not tried again", at, id, j.failures)
		}
	}
	j.running = false
}

func (l *lives) withdraw(id poise.JobID, at poise.Time) {
	l.t.Helper()
	j := l.jobs[id]
	if !j.came || j.running || j.how != open {
		l.t.Fatalf("at %d ms %s is withdrawn: %+v", at, id, j)
	}
	due, has := poise.DueBy(true, j.Job.StartBy, j.Job.FinishBy, j.Job.RunTime)
	mate := j.Job.Gang != nil && slices.ContainsFunc(mates(l, j), func(m *life) bool { return m.how != open })
	if !(has && at >= due) && l.unmet(j, false) == "" && !mate {
		l.t.Fatalf("at %d ms %s is withdrawn without a reason: %+v", at, id, j)
	}
	j.how = withdrawn
}

// mates are the other members of a job's gang.
func mates(l *lives, j *life) []*life {
	var all []*life
	for _, m := range l.jobs {
		if m != j && m.Job.Gang != nil && m.Job.Gang.ID == j.Job.Gang.ID {
			all = append(all, m)
		}
	}
	return all
}

// ends counts how the jobs ended.
func (l *lives) ends() (e Ends, waiting int) {
	for _, j := range l.jobs {
		switch {
		case j.how == succeeded:
			e.Succeeded++
		case j.how == failed:
			e.Failed++
		case j.how == withdrawn:
			e.Withdrawn++
		case j.running:
			e.Running++
		default:
			waiting++
		}
	}
	return e, waiting
}

// Over random workloads with gangs, dependencies of all kinds, failures, retries, holds,
// deadlines, priorities, quotas, preemption and reservations, each job goes through
// what its fields say, ends in one way or is reported to run or to wait with a reason,
// and the same input gives the same decisions.
func TestLivesKeepTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, arrivals := drawFleet(t), drawLives(t)
		c := Config{}
		drawQueue(t, &c)
		make := func() Config {
			own := configOf(t, idleBalance, nil)
			own.Tenants, own.Reservations, own.Preempt = c.Tenants, c.Reservations, c.Preempt
			return own
		}
		r, events := logged(t, make(), nodes, arrivals)

		l := newLives(t, arrivals)
		s, err := state.New(state.Settings{})
		if err != nil {
			t.Fatalf("state: %v", err)
		}
		for _, ev := range events {
			l.follow(ev)
			if err := s.Apply(ev); err != nil {
				t.Fatalf("event %d: %v", ev.Index, err)
			}
		}
		if _, err := state.FromImage(s.Image(), state.Settings{}); err != nil {
			t.Fatalf("the state at the end: %v", err)
		}
		ends, waiting := l.ends()
		got := r.Replay
		// Whether one that waited to be tried again has failed or is withdrawn with its gang
		// is a matter of which member's deadline is looked at first.
		if over := got.Ends.Failed - ends.Failed; over > 0 {
			ends.Failed, ends.Withdrawn = ends.Failed+over, ends.Withdrawn-over
		}
		if got.Ends != ends || got.Pending != waiting || r.Jobs != len(arrivals) {
			t.Fatalf("%d jobs, %+v, %d pending; want %d, %+v, %d", r.Jobs, got.Ends, got.Pending, len(arrivals), ends, waiting)
		}
		checkReasons(t, l, r.Replay)
		if again := replayed(t, make(), nodes, rapid.Permutation(arrivals).Draw(t, "order")); again.Digest != r.Digest {
			t.Fatalf("digest %s, in another order %s", r.Digest, again.Digest)
		}
	})
}

// checkReasons: all that wait are told with a reason, and one that holds.
func checkReasons(t fataler, l *lives, r *ReplayResult) {
	t.Helper()
	reasons, kinds := 0, 0
	for _, reason := range r.Reasons {
		reasons += reason.Jobs
	}
	for _, w := range r.Waiting {
		kinds += w.Jobs
		j := l.jobs[poise.JobID(w.Job)]
		wrong := false
		switch w.Reason {
		case WaitsHeld:
			wrong = j.Job.Held == ""
		case WaitsAfter:
			wrong = l.unmet(j, true) == ""
		case WaitsRetry:
			wrong = j.failures+int32(j.displaced) == 0
		case WaitsGang:
			wrong = j.Job.Gang == nil
		default:
			wrong = w.Decision == nil || w.Decision.Verdict == poise.Placed
		}
		if wrong || j.how != open || j.running {
			t.Fatalf("%s waits as it %s: %+v", w.Job, w.Reason, j)
		}
	}
	if reasons != r.Pending || kinds != r.Pending {
		t.Fatalf("reasons of %d jobs and kinds of %d, expected all %d", reasons, kinds, r.Pending)
	}
}
