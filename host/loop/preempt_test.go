package loop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/preempt"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// ender is a driver whose tasks end when they are told to make room, at the end of
// their grace or before.
type ender struct {
	*driver
	told    []poise.JobPreempted
	check   func([]poise.JobPreempted) // before the events of a claim are applied; may be nil
	history strings.Builder
}

func newEnder(t fataler, s preempt.Settings) *ender {
	d := newDriver(t)
	d.loop.UsePreempt(s)
	return &ender{driver: d}
}

// settle lets everything happen that happens at this time.
func (e *ender) settled() {
	e.t.Helper()
	for range 1000 {
		events := e.loop.Due(e.now)
		var claim []poise.JobPreempted
		for _, body := range events {
			if b, ok := body.(poise.JobPreempted); ok {
				claim = append(claim, b)
				fmt.Fprintf(&e.history, "%d: %s for %s\n", e.now, b.Job, b.By)
			}
		}
		if e.check != nil && len(claim) > 0 {
			e.check(claim)
		}
		for _, body := range events {
			e.apply(body)
		}
		e.told = append(e.told, claim...)
		if len(events) == 0 && !e.next() && len(e.away) == 0 {
			e.started()
			return
		}
		e.land()
	}
	e.t.Fatal("it does not come to rest")
}

// started checks that a job starts once those have ended that made room for it.
func (e *ender) started() {
	e.t.Helper()
	st := e.loop.State()
	for _, j := range st.Waiting() {
		if len(j.Yield.Took) > 0 && len(st.Yielding(j.ID)) == 0 && st.View().Reservation(j.ID) != nil && !j.Blocked() {
			d, err := e.loop.Try(j, e.now, sched.Full)
			for _, r := range st.View().Reservations() {
				for i := range r.Holds {
					fmt.Fprintf(&e.history, "%s has %s reserved from %d on\n", r.Job, r.Holds[i].Node, r.Start)
				}
			}
			for _, o := range st.All() {
				fmt.Fprintf(&e.history, "%s %s waits %v asks %v\n", o.ID, o.Tenant, o.Waiting(), o.Shape.Request.Amounts)
			}
			e.t.Fatalf("%v made room for job %s, which waits: %s, %+v, %v\n%s", j.Yield.Took, j.ID, d.Verdict, d.Refused, err, e.history.String())
		}
	}
}

// until lets time pass: tasks that were told end when their grace does.
func (e *ender) until(at poise.Time) {
	e.t.Helper()
	for e.now < at {
		next := at
		if due, ok := e.loop.NextDue(e.now); ok && due > e.now {
			next = min(next, due)
		}
		for _, b := range e.told {
			next = min(next, max(b.Until, e.now))
		}
		e.now = next
		e.endTold(func(b poise.JobPreempted) bool { return b.Until <= e.now })
		e.settled()
	}
}

// endTold ends the tasks that were told and that are named.
func (e *ender) endTold(now func(poise.JobPreempted) bool) {
	e.t.Helper()
	for _, b := range slices.Clone(e.told) {
		if !now(b) {
			continue
		}
		e.told = slices.DeleteFunc(e.told, func(o poise.JobPreempted) bool { return o == b })
		if j := e.loop.State().Job(b.Job); j != nil && j.Yielding() {
			e.apply(e.loop.Requeue(j, e.now))
		}
	}
}

// ask submits a job with a priority.
func (e *ender) ask(id string, tenant string, priority int32, cpu int64) {
	e.t.Helper()
	e.apply(poise.JobSubmitted{Job: poise.Job{
		ID: poise.JobID(id), Name: id, Tenant: poise.TenantID(tenant), Priority: priority, Tasks: 1,
		Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: cpu}}},
	}})
	e.settled()
}

// runs tells who runs.
func (e *ender) runs() string {
	var ids []string
	for _, j := range e.loop.State().All() {
		if !j.Waiting() {
			ids = append(ids, string(j.ID))
		}
	}
	return strings.Join(ids, " ")
}

// With preemption off nobody ends for others.
func TestPreemptionIsOff(t *testing.T) {
	e := newEnder(t, preempt.Defaults())
	e.join(4)
	e.ask("low", "here", 0, 4)
	e.ask("high", "here", 9, 4)
	e.until(1_000_000)
	if got := e.runs(); got != "low" || e.history.Len() > 0 {
		t.Errorf("%s runs, %s", got, e.history.String())
	}
}

func TestPriorityDisplaces(t *testing.T) {
	for _, lane := range []string{"here", "away"} {
		e := newEnder(t, preempt.Settings{Priority: true, Grace: 500})
		f := func(want string) {
			t.Helper()
			if got := e.runs(); got != want {
				t.Errorf("at %d: %s runs, expected %s", e.now, got, want)
			}
		}
		e.join(4)
		e.ask("low1", lane, 0, 2)
		e.ask("low2", lane, 0, 2)
		e.ask("same", lane, 0, 2)
		e.ask("high", lane, 9, 2)
		f("low1 low2") // one of them ends
		if e.until(400); len(e.told) != 1 {
			t.Errorf("%v end, expected one", e.told)
		}
		e.until(600)
		f("low2 high")
		e.apply(poise.JobFinished{Job: "high"})
		e.settled()
		f("low1 low2")
		// A job of the same shape, but of a higher priority, does not wait behind one
		// that may displace nobody.
		e.ask("low3", lane, -1, 2)
		e.ask("urgent", lane, 5, 2)
		e.until(3000)
		f("low2 urgent")
	}
}

// B31: the three workloads of kueue #6947. A queue that is guaranteed 3 holds 1 more
// that it has borrowed; jobs of 1, 4 and 3 displaced each other without end.
func TestThreeWorkloads(t *testing.T) {
	e := newEnder(t, preempt.Settings{Priority: true, Reclaim: true, Grace: 100, Cooldown: 5000})
	e.apply(poise.TenantSet{Tenant: poise.Tenant{ID: "here", Quotas: []poise.Quota{{Resource: "cpu", Guaranteed: 3, Limit: 4}}}})
	e.apply(poise.TenantSet{Tenant: poise.Tenant{ID: "away", Quotas: []poise.Quota{{Resource: "cpu", Guaranteed: 1}}}})
	e.join(4)
	e.ask("one", "away", 0, 1)
	e.ask("four", "here", 0, 4)
	e.ask("three", "here", 1, 3)
	e.until(60_000)
	if got := e.runs(); got != "one three" {
		t.Errorf("%s run, expected one three", got)
	}
	if n := strings.Count(e.history.String(), "\n"); n > 1 {
		t.Errorf("%d were displaced, expected one at most:\n%s", n, e.history.String())
	}
	e.apply(poise.JobFinished{Job: "one"})
	e.apply(poise.JobFinished{Job: "three"})
	e.settled()
	if got := e.runs(); got != "four" {
		t.Errorf("%s runs, expected four, which borrows 1", got)
	}
	// Without it, here would hold nothing of the 3 that it is guaranteed.
	e.ask("again", "away", 0, 1)
	e.until(120_000)
	if got := e.runs(); got != "four" {
		t.Errorf("%s runs, expected four", got)
	}
}

// Extra members of gangs make room, whatever is set, and come back once there is
// some; none of them does so at once.
func TestExtrasMakeRoom(t *testing.T) {
	e := newEnder(t, preempt.Settings{Grace: 100, Patience: 2000, Hold: 3000})
	f := func(at poise.Time, want string) {
		t.Helper()
		if e.until(at); e.runs() != want {
			t.Errorf("at %d: %s run, expected %s", e.now, e.runs(), want)
		}
	}
	e.join(4)
	for i := range int32(4) {
		e.apply(poise.JobSubmitted{Job: poise.Job{
			ID: poise.JobID(fmt.Sprint("g", i)), Name: "g", Tenant: "here", Tasks: 4, Gang: &poise.Gang{ID: "g", Size: 4, Min: 2, Index: i},
			Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: 1}}},
		}})
	}
	e.settled()
	f(10, "g0 g1 g2 g3")
	e.ask("j", "away", -9, 2)
	f(2900, "g0 g1 g2 g3") // it waits 2 s, and they have run 3 s
	f(3050, "g0 g1 g2 g3") // their grace
	f(3200, "g0 g1 j")
	e.apply(poise.JobFinished{Job: "j"})
	e.settled()
	f(6000, "g0 g1") // they come back 3 s after they ended
	f(6200, "g0 g1 g2 g3")
	e.ask("k", "away", 0, 3)
	f(20_000, "g0 g1 g2 g3") // never fewer than start together
}

// Whatever happens: with preemption off nothing but extra members ends; nobody
// falls below a guarantee but by a task of his own with a higher priority; what
// ends makes room for the one it ends for, once; who waits for room that others
// make has no more made; what was displaced runs for a while before it is again.
func TestPreemption(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := preempt.Settings{
			Priority: rapid.Bool().Draw(t, "priority"), Reclaim: rapid.Bool().Draw(t, "reclaim"),
			Grace: 300, Cooldown: 5000, Patience: 1000, Hold: 2000,
		}
		e := newEnder(t, s)
		e.check = func(claim []poise.JobPreempted) { checkClaim(t, e.loop, &s, claim, e.now) }
		for range rapid.IntRange(1, 3).Draw(t, "nodes") {
			e.join(rapid.Int64Range(2, 8).Draw(t, "cpu"))
		}
		e.loop.settings.Reservations, e.loop.settings.Patience = rapid.IntRange(0, 4).Draw(t, "reservations"), 500
		tenants := []string{"here", "away", "third"}
		e.loop.Open("third", sched.Policy{Name: "third", Scorer: spread(t)}, false)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			tenant := rapid.SampledFrom(tenants).Draw(t, "tenant")
			switch rapid.IntRange(0, 7).Draw(t, "step") {
			case 0:
				set := poise.Tenant{ID: poise.TenantID(tenant), Quotas: []poise.Quota{{Resource: "cpu", Guaranteed: rapid.Int64Range(0, 6).Draw(t, "guaranteed")}}}
				if tenant == "third" && e.loop.State().Policies().Tenant("here") != nil {
					set.Parent = "here"
				}
				e.apply(poise.TenantSet{Tenant: set})
			case 1:
				if all := e.loop.State().All(); len(all) > 0 {
					if j := rapid.SampledFrom(all).Draw(t, "job"); !j.Waiting() {
						e.apply(poise.JobFinished{Job: j.ID})
					}
				}
			case 2:
				e.gang(tenant, rapid.Int32Range(2, 4).Draw(t, "size"), rapid.Int32Range(1, 2).Draw(t, "min"), rapid.Int64Range(1, 3).Draw(t, "cpu"))
			case 3, 4:
				e.until(e.now + poise.Time(rapid.Int64Range(1, 4000).Draw(t, "time")))
			case 5:
				e.endTold(func(poise.JobPreempted) bool { return rapid.Bool().Draw(t, "ends") })
			default:
				e.jobs++
				e.ask(fmt.Sprint("j", e.jobs), tenant, rapid.Int32Range(0, 3).Draw(t, "priority"), rapid.Int64Range(1, 6).Draw(t, "asks"))
			}
			e.settled()
		}
	})
}

func (e *ender) gang(tenant string, size, least int32, cpu int64) {
	e.t.Helper()
	e.jobs++
	e.namedGang(fmt.Sprint("g", e.jobs), tenant, size, least, cpu)
}

func (e *ender) namedGang(name, tenant string, size, least int32, cpu int64) {
	e.t.Helper()
	for i := range size {
		e.apply(poise.JobSubmitted{Job: poise.Job{
			ID: poise.JobID(fmt.Sprintf("%s-%d", name, i)), Name: "g", Tenant: poise.TenantID(tenant), Tasks: size,
			Gang:    &poise.Gang{ID: name, Size: size, Min: least, Index: i},
			Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: cpu}}},
		}})
	}
}

// checkClaim checks a claim of cpu against the rules, as the state is before it.
func checkClaim(t *rapid.T, l *Loop, s *preempt.Settings, claim []poise.JobPreempted, now poise.Time) {
	st := l.State()
	by := st.Job(claim[0].By)
	if len(st.Yielding(by.ID)) > 0 {
		t.Fatalf("job %s has room made, and more", by.ID)
	}
	path := func(id poise.TenantID) (ids []poise.TenantID) {
		for ; id != ""; id = parent(st, id) {
			ids = append(ids, id)
		}
		return ids
	}
	above, taken, leaving := path(by.Tenant), map[poise.TenantID]int64{}, map[poise.TenantID]int64{}
	for _, j := range st.Leaving() {
		cpu, _ := j.Shape.Request.Amounts.Find("cpu")
		for _, id := range path(j.Tenant) {
			leaving[id] += cpu
		}
	}
	rooms, victims := map[uint32]int64{}, map[poise.JobID]bool{}
	for _, b := range claim {
		v := st.Job(b.Job)
		victims[b.Job] = true
		cpu, _ := v.Shape.Request.Amounts.Find("cpu")
		row, _ := v.Task().Row(st.View())
		rooms[row] += cpu
		ran := poise.Span(now - v.Task().Placed)
		switch {
		case slices.Contains(by.Yield.Took, b.Job):
			t.Fatalf("job %s ends a second time for %s, which has not started", b.Job, by.ID)
		case v.Extra() && l.state.GangOf(v).Running()[0].Extra():
			continue
		case v.Extra() && ran >= s.Hold && poise.Span(now-by.Submitted) >= s.Patience:
			continue
		case v.Yield.Times > 0 && ran < s.Cooldown:
			t.Fatalf("job %s was displaced before and runs for %d ms only", b.Job, ran)
		}
		for _, id := range path(v.Tenant) {
			if slices.Contains(above, id) {
				break
			}
			taken[id] += cpu
		}
		ours := slices.Contains(path(v.Tenant), by.Tenant) && v.Priority < by.Priority
		reclaims := slices.ContainsFunc(above, func(id poise.TenantID) bool {
			return st.Within(id, Asks(st, by)) && !slices.Contains(path(v.Tenant), id)
		})
		if !(s.Priority && ours || s.Reclaim && reclaims) {
			t.Fatalf("job %s of %s, priority %d, ends for %s of %s, priority %d: %+v", b.Job, v.Tenant, v.Priority, by.ID, by.Tenant, by.Priority, *s)
		}
	}
	for id, cpu := range taken {
		if known := st.Policies().Tenant(id); known != nil && known.Quota("cpu") != nil {
			if q := known.Quota("cpu"); q.Guaranteed > 0 && st.Used(id, "cpu")-leaving[id]-cpu < q.Guaranteed {
				t.Fatalf("%s holds %d, of which %d end, and is guaranteed %d", id, st.Used(id, "cpu"), cpu, q.Guaranteed)
			}
		}
	}
	// A gang ends as a whole, or its extra members do.
	for id := range victims {
		v := st.Job(id)
		if g := st.GangOf(v); g != nil && !v.Extra() {
			for _, m := range g.Running() {
				if !victims[m.ID] {
					t.Fatalf("job %s ends, and %s of its gang goes on", id, m.ID)
				}
			}
		}
	}
	// There is room then.
	for row := range uint32(st.View().Rows()) {
		rooms[row] += st.View().Idle(row, 0)
	}
	for _, m := range l.together(by) {
		cpu, _ := m.Shape.Request.Amounts.Find("cpu")
		fits := false
		for row := range uint32(st.View().Rows()) {
			if !fits && rooms[row] >= cpu {
				fits = true
				rooms[row] -= cpu
			}
		}
		if !fits {
			t.Fatalf("%v end for %s, and there is no room for its %d", claim, by.ID, cpu)
		}
	}
}

func parent(s *state.State, id poise.TenantID) poise.TenantID {
	if t := s.Policies().Tenant(id); t != nil {
		return t.Parent
	}
	return ""
}

// Where a task must not be ended, another one is, and nothing stays reserved for
// whom nobody makes room; a pod that says so has nobody end.
func TestSpared(t *testing.T) {
	e := newEnder(t, preempt.Settings{Priority: true, Grace: 500})
	e.join(4)
	e.join(4)
	e.ask("a", "here", 0, 4)
	e.ask("b", "here", 1, 4)
	e.apply(poise.JobSubmitted{Job: poise.Job{
		ID: "never", Name: "never", Tenant: "here", Priority: 20, Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: 4}}},
		Pod: &poise.Pod{Cluster: "k", Space: "here", NoPreemption: true},
	}})
	e.until(5000)
	if e.history.Len() > 0 {
		t.Errorf("%s, expected nobody to end for it", e.history.String())
	}
	e.apply(poise.JobWithdrawn{Job: "never"})
	e.ask("high", "here", 9, 4)
	spare := func(id poise.JobID, until poise.Time) {
		t.Helper()
		if j := e.loop.State().Job(id); !j.Yielding() {
			t.Fatalf("%s makes no room\n%s", id, e.history.String())
		}
		e.told = nil
		for _, body := range e.loop.Spare(e.loop.State().Job(id), until) {
			e.apply(body)
		}
		if n := len(e.loop.State().View().Reservations()); n != 0 {
			t.Errorf("%d reservations, expected none", n)
		}
		e.settled()
	}
	spare("a", e.now+60_000)
	e.until(e.now + 1000)
	spare("b", e.now+90_000)
	e.until(e.now + 50_000)
	if got := e.runs(); got != "a b" {
		t.Errorf("%s runs", got)
	}
	e.until(e.now + 20_000)
	if got := e.runs(); got != "b high" {
		t.Errorf("%s runs, expected high in the place of a\n%s", got, e.history.String())
	}
}
