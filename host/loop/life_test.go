package loop

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
)

// lived submits a job with a life.
func (d *driver) lived(tenant string, cpu int64, change func(*poise.Job)) poise.JobID {
	d.t.Helper()
	d.jobs++
	j := poise.Job{
		ID: poise.JobID(fmt.Sprint("j", d.jobs)), Name: "j", Tenant: poise.TenantID(tenant), Tasks: 1,
		Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: cpu}}},
	}
	change(&j)
	d.apply(poise.JobSubmitted{Job: j})
	return j.ID
}

func (d *driver) waits(id poise.JobID, want bool) {
	d.t.Helper()
	d.quiet()
	if got := d.loop.State().Job(id).Waiting(); got != want {
		d.t.Fatalf("at %d job %s waits: %v, expected %v", d.now, id, got, want)
	}
}

// A held job is not tried, and goes before those that came after it once it is
// released.
func TestHeldJobKeepsItsAge(t *testing.T) {
	d := newDriver(t)
	d.join(1000)
	first := d.lived("here", 1000, func(j *poise.Job) { j.Held = "ann" })
	second := d.submit("here", 1000)
	d.apply(poise.JobHeld{Job: second, By: "bob"})
	third := d.submit("here", 1000)
	d.waits(third, false)
	d.waits(first, true)
	d.apply(poise.JobReleased{Job: second})
	d.apply(poise.JobReleased{Job: first})
	d.apply(poise.JobFinished{Job: third})
	d.waits(first, false)
	d.waits(second, true)
}

// A job that is held, or gets another priority, while it is planned is not placed
// by that answer; one that is held and released is not lost.
func TestChangedWhilePlanned(t *testing.T) {
	f := func(waits bool, bodies ...func(poise.JobID) poise.Body) {
		t.Helper()
		d := newDriver(t)
		d.join(1000)
		id := d.submit("away", 1000)
		d.next()
		w := d.away[0]
		d.away = nil
		for _, body := range bodies {
			d.apply(body(id))
		}
		s, err := d.loop.Settle(w, d.now, sched.Brief)
		if err != nil || !s.Dropped {
			t.Fatalf("%+v, %v, expected the answer to be dropped", s, err)
		}
		d.waits(id, waits)
	}
	held := func(id poise.JobID) poise.Body { return poise.JobHeld{Job: id, By: "ann"} }
	released := func(id poise.JobID) poise.Body { return poise.JobReleased{Job: id} }
	urgent := func(id poise.JobID) poise.Body { return poise.JobPrioritySet{Job: id, Priority: 9} }
	f(true, held)
	f(false, urgent)
	f(false, held, released, urgent)
	f(true, held, released, held)
}

// Another priority counts at once.
func TestPrioritySet(t *testing.T) {
	d := newDriver(t)
	d.join(1000)
	blocker := d.submit("here", 1000)
	d.quiet()
	first, second := d.submit("here", 1000), d.submit("here", 1000)
	d.quiet() // both are parked
	d.apply(poise.JobPrioritySet{Job: second, Priority: 1})
	d.apply(poise.JobFinished{Job: blocker})
	d.waits(second, false)
	d.waits(first, true)
}

// A job whose task failed is tried again when it is time, and the loop says when.
func TestNotBefore(t *testing.T) {
	d := newDriver(t)
	d.join(1000)
	id := d.lived("here", 1000, func(j *poise.Job) { j.Retry = &poise.Retry{Limit: 2, Backoff: 5000, MaxBackoff: 10_000} })
	d.waits(id, false)
	d.apply(poise.JobRequeued{Job: id, Failed: true, NotBefore: d.now + 5000})
	d.waits(id, true)
	if at, ok := d.loop.NextWake(d.now); !ok || at != d.now+5000 {
		t.Fatalf("wakes at %d %v, expected in 5 s", at, ok)
	}
	if got := d.loop.State().Job(id).Failures; got != 1 {
		t.Fatalf("%d failures, expected 1", got)
	}
	// Held and released, it is no earlier.
	d.apply(poise.JobHeld{Job: id, By: "ann"})
	d.apply(poise.JobReleased{Job: id})
	d.now += 4999
	d.waits(id, true)
	d.now++
	d.waits(id, false)
}

// The loop says when the next job is over, and which are.
func TestOver(t *testing.T) {
	d := newDriver(t)
	d.join(1000)
	running := d.lived("here", 1000, func(j *poise.Job) { j.StartBy, j.FinishBy = 100, 900 })
	d.waits(running, false)
	waiting := d.lived("here", 1000, func(j *poise.Job) { j.StartBy = 500 })
	hopeless := d.lived("here", 1000, func(j *poise.Job) { j.FinishBy, j.RunTime = 900, 500 })
	gone := d.lived("here", 1000, func(j *poise.Job) { j.StartBy = 100 })
	d.apply(poise.JobWithdrawn{Job: gone})
	at := func(now poise.Time, next poise.Time, want ...poise.JobID) {
		t.Helper()
		d.now = now
		d.quiet()
		if got := d.loop.Over(now); !slices.Equal(got, want) {
			t.Fatalf("at %d: %v are over, expected %v", now, got, want)
		}
		if got, ok := d.loop.NextDue(now); got != next || ok != (next > 0) {
			t.Fatalf("at %d: the next is due at %d %v, expected %d", now, got, ok, next)
		}
	}
	at(0, 400)
	at(399, 400)
	d.now = 450
	if got, ok := d.loop.NextDue(450); !ok || got != 400 {
		t.Fatalf("due at %d %v, expected the time that has come", got, ok)
	}
	at(450, 500, hopeless)
	d.apply(poise.JobWithdrawn{Job: hopeless})
	at(500, 900, waiting)
	d.apply(poise.JobRequeued{Job: running, Failed: true}) // it has started once
	d.apply(poise.JobHeld{Job: running, By: "ann"})
	at(600, 900)
	at(1000, 0, running)
}

// However a job lives, it is in exactly one place: held, behind others, waiting for
// its time, waiting for its turn, planned or placed. None is tried that is not to
// be, and at rest none waits that may be tried and fits.
func TestLife(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t)
		d.join(4000)
		tenants := rapid.SampledFrom([]string{"here", "away"})
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			d.live(t, tenants)
			d.checkLives(t)
		}
		d.land()
		for d.tryNext(t) {
			d.land()
		}
		d.checkLives(t)
		for _, j := range d.loop.State().Waiting() {
			if j.Blocked() || j.NotBefore > d.now {
				continue
			}
			decision, err := d.loop.lanes[string(j.Tenant)].pipeline.Plan(d.loop.State().View(), j, sched.Pass{Detail: sched.Brief})
			if err != nil || decision.Verdict == poise.Placed {
				t.Fatalf("job %s waits and fits on %s (%v)", j.ID, decision.Node, err)
			}
		}
	})
}

// live takes one step in the life of some job.
func (d *driver) live(t *rapid.T, tenants *rapid.Generator[string]) {
	s := d.loop.State()
	id := poise.JobID(fmt.Sprint("j", rapid.IntRange(1, max(d.jobs, 1)).Draw(t, "job")))
	j := s.Job(id)
	switch step := rapid.IntRange(0, 12).Draw(t, "step"); {
	case step < 2:
		d.lived(tenants.Draw(t, "tenant"), rapid.Int64Range(0, 3000).Draw(t, "asks"), func(j *poise.Job) {
			j.Held = rapid.SampledFrom([]string{"", "", "bob"}).Draw(t, "held")
			j.Priority = rapid.Int32Range(-2, 2).Draw(t, "priority")
			if start := rapid.IntRange(0, 3).Draw(t, "start by"); start > 0 {
				j.StartBy = d.now + poise.Time(start*1000)
			}
			if finish := rapid.IntRange(0, 3).Draw(t, "finish by"); finish > 0 {
				j.FinishBy, j.StartBy, j.RunTime = d.now+poise.Time(finish*3000), 0, 2000
			}
			if rapid.Bool().Draw(t, "retried") {
				j.Retry = &poise.Retry{Limit: 3, Backoff: 1000, MaxBackoff: 4000}
			}
			if before := s.Job(id); before != nil && rapid.Bool().Draw(t, "after") {
				j.After = []poise.JobID{id}
			}
		})
	case step < 4:
		d.tryNext(t)
	case step == 4:
		d.land()
	case step == 5:
		d.now += poise.Time(rapid.IntRange(0, 2000).Draw(t, "passes"))
		d.expire(t)
	case j == nil:
	case step < 8 && j.Waiting() && j.Held == "":
		d.apply(poise.JobHeld{Job: id, By: "ann"})
	case step < 8 && j.Waiting():
		d.apply(poise.JobReleased{Job: id})
	case step == 8:
		d.apply(poise.JobPrioritySet{Job: id, Priority: rapid.Int32Range(-2, 2).Draw(t, "priority")})
	case j.Waiting():
		if step == 9 {
			d.apply(poise.JobWithdrawn{Job: id})
		}
	case j.Retry != nil && j.Failures < j.Retry.Limit && rapid.Bool().Draw(t, "fails"):
		d.apply(poise.JobRequeued{Job: id, Failed: true, NotBefore: d.now + poise.Time(rapid.Int64Range(1, 4000).Draw(t, "backoff"))})
	default:
		d.apply(poise.JobFinished{Job: id})
	}
}

// tryNext is next, with a look at what is tried.
func (d *driver) tryNext(t *rapid.T) bool {
	w := d.loop.Next(d.now)
	if w == nil {
		return false
	}
	if j := d.loop.State().Job(w.Job.ID); j == nil || !j.Waiting() || j.Blocked() || j.NotBefore > d.now {
		t.Fatalf("at %d job %s is tried: %+v", d.now, w.Job.ID, j)
	}
	w.Plan(sched.Brief)
	if d.away = append(d.away, w); !w.Away {
		d.away = d.away[:len(d.away)-1]
		d.settle(w)
	}
	return true
}

// expire ends the jobs that are over, and checks that they are all those that a
// look at each job finds.
func (d *driver) expire(t *rapid.T) {
	want := map[poise.JobID]bool{}
	for _, j := range d.loop.State().All() {
		if due, ok := j.Due(); ok && due <= d.now {
			want[j.ID] = true
		}
	}
	over := d.loop.Over(d.now)
	if len(over) != len(want) {
		t.Fatalf("at %d: %v are over, expected %v", d.now, over, want)
	}
	for _, id := range over {
		if !want[id] {
			t.Fatalf("at %d: %s is over, expected %v", d.now, id, want)
		}
		if d.loop.State().Job(id).Waiting() {
			d.apply(poise.JobWithdrawn{Job: id})
		} else {
			d.apply(poise.JobFinished{Job: id})
		}
	}
}

// checkLives checks that each waiting job is in one place, and that the loop knows
// when the next is over.
func (d *driver) checkLives(t *rapid.T) {
	queued, away := map[poise.JobID]int{}, map[poise.JobID]bool{}
	for _, item := range d.loop.Queued() {
		queued[item.Job]++
		if j := d.loop.State().Job(item.Job); j == nil || !j.Waiting() || item.Priority != j.Priority || item.Submitted != j.Submitted {
			t.Fatalf("%+v is queued, expected %+v", item, j)
		}
	}
	for _, w := range d.away {
		away[w.Job.ID] = true
	}
	for _, j := range d.loop.State().Waiting() {
		want := 1
		if j.Blocked() || away[j.ID] {
			want = 0
		}
		if queued[j.ID] != want {
			t.Fatalf("job %s (after %v, held by %q, planned %v) is %d times in the queue, expected %d", j.ID, j.After, j.Held, away[j.ID], queued[j.ID], want)
		}
	}
	first, any := poise.Time(0), false
	for _, j := range d.loop.State().All() {
		if due, ok := j.Due(); ok && (!any || due < first) {
			first, any = due, true
		}
	}
	if len(d.loop.deadlines.order) > 0 != any || any && d.loop.deadlines.order[0].due != first {
		t.Fatalf("the first deadline is %+v, expected %d %v", d.loop.deadlines.order, first, any)
	}
	if at, ok := d.loop.NextWake(d.now); any && (!ok || at > first) {
		t.Fatalf("wakes at %d %v, expected by %d", at, ok, first)
	}
}

// B25: equal jobs go in the order in which they came, though some were held and
// released, or tried again. B27: priorities at both ends keep a total order.
func TestOrderOutlivesChanges(t *testing.T) {
	d := newDriver(t)
	var want []poise.JobID
	for range 100 {
		want = append(want, d.submit("here", 1000))
	}
	for i := 0; i < 100; i += 3 {
		d.apply(poise.JobHeld{Job: want[99-i], By: "ann"})
		d.apply(poise.JobPrioritySet{Job: want[i], Priority: 7})
	}
	for i := 0; i < 100; i += 3 {
		d.apply(poise.JobReleased{Job: want[99-i]})
		d.apply(poise.JobPrioritySet{Job: want[i]})
	}
	order := func() []poise.JobID {
		var ids []poise.JobID
		for _, item := range d.loop.Queued() {
			ids = append(ids, item.Job)
		}
		return ids
	}
	if got := order(); !slices.Equal(got, want) {
		t.Fatalf("%v, expected %v", got, want)
	}
	for i, p := range []int32{math.MinInt32, math.MaxInt32, -1, math.MaxInt32} {
		d.apply(poise.JobPrioritySet{Job: want[i], Priority: p})
	}
	ends := append([]poise.JobID{want[1], want[3]}, want[4:]...)
	if got, want := order(), append(ends, want[2], want[0]); !slices.Equal(got, want) {
		t.Fatalf("%v, expected %v", got, want)
	}
}
