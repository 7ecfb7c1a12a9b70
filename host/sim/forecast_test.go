package sim

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/preempt"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// start is a task that begins.
type start struct {
	Job     poise.JobID
	At      poise.Time
	Node    string
	Devices []uint16
}

// drawTenants draws who the tenants of drawArrivals are.
func drawTenants(t *rapid.T) []poise.Tenant {
	var all []poise.Tenant
	for _, id := range []poise.TenantID{"t", "u"} {
		tenant := poise.Tenant{ID: id, Weight: rapid.SampledFrom([]float64{0, 1, 3}).Draw(t, "weight")}
		if rapid.Bool().Draw(t, "has a parent") {
			tenant.Parent = "p"
		}
		if limit := rapid.SampledFrom([]int64{0, 0, 2000, 8000}).Draw(t, "limit"); limit > 0 {
			tenant.Quotas = []poise.Quota{{Resource: "cpu", Limit: limit, Guaranteed: limit / 2}}
		}
		all = append(all, tenant)
	}
	return append(all, poise.Tenant{ID: "p"})
}

// drawPreemption draws whose tasks end for others.
func drawPreemption(t *rapid.T) *preempt.Settings {
	s := preempt.Settings{
		Priority: rapid.Bool().Draw(t, "by priority"), Reclaim: rapid.Bool().Draw(t, "reclaims"),
		Grace: poise.Span(rapid.IntRange(0, 4).Draw(t, "grace")) * second, Cooldown: poise.Span(rapid.IntRange(0, 20).Draw(t, "cooldown")) * second,
	}
	if !s.Priority && !s.Reclaim {
		return nil
	}
	return &s
}

// replayOf readies a replay, and gives its events as they come.
func replayOf(t fataler, c *Config, nodes []poise.Node, sorted []Arrival) (*replay, *[]poise.Event) {
	t.Helper()
	var events []poise.Event
	c.Record = func(ev poise.Event) { events = append(events, ev) }
	w, err := NewWorld(c, patient(), sortedNodes(nodes))
	if err != nil {
		t.Fatalf("world: %v", err)
	}
	return newReplay(w, sorted, sorted[0].At, sorted[len(sorted)-1].At), &events
}

// loopOn makes the loop of a copy of a state, ready to go on from where another was,
// nil = from where nothing was tried.
func loopOn(t fataler, c *Config, s *state.Image, from *loop.Progress, now poise.Time) *loop.Loop {
	t.Helper()
	copied, err := state.FromImage(s, state.Settings{DemandHalfLife: c.HalfLife})
	if err != nil {
		t.Fatalf("copy: %v", err)
	}
	w, err := worldOn(c, patient(), copied, newTotals())
	if err != nil {
		t.Fatalf("world: %v", err)
	}
	fill := w.loop.Fill
	if from != nil {
		fill = func() error { return w.loop.Resume(from, now) }
	}
	if err := fill(); err != nil {
		t.Fatalf("fill: %v", err)
	}
	return w.loop
}

// stateAt applies the events up to a time.
func stateAt(t fataler, halfLife float64, events []poise.Event, until poise.Time) (*state.State, []poise.Event) {
	t.Helper()
	s, err := state.New(state.Settings{DemandHalfLife: halfLife})
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	for i, ev := range events {
		if ev.At > until {
			return s, events[i:]
		}
		if err := s.Apply(ev); err != nil {
			t.Fatalf("event %d: %v", ev.Index, err)
		}
	}
	return s, nil
}

// startsOf gives the tasks that begin in events, in order, of jobs that wait before
// them.
func startsOf(before *state.Image, events []poise.Event) []start {
	var all []start
	seen := map[poise.JobID]bool{"last": true}
	for i := range before.Jobs {
		seen[before.Jobs[i].Job.ID] = before.Jobs[i].Task != nil
	}
	for _, ev := range events {
		var placed []poise.Placement
		switch b := ev.Body.(type) {
		case poise.JobPlaced:
			placed = []poise.Placement{b.Placement}
		case poise.GangPlaced:
			placed = b.Placements
		}
		for _, p := range placed {
			if !seen[p.Job] { // one that was preempted starts once more
				all = append(all, start{p.Job, ev.At, p.Node, p.Devices})
			}
			seen[p.Job] = true
		}
	}
	return all
}

func (f *Forecast) startsOf() []start {
	var all []start
	for i := range f.Jobs {
		if e := &f.Jobs[i]; e.Placed {
			all = append(all, start{e.Job, e.Start, e.Node, e.Devices})
		}
	}
	return all
}

func same[T any](t fataler, what string, got, want []T) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("%s: %d is %+v, want %+v", what, i, got, want)
		}
	}
}

// Where run times are exact and nothing more arrives, what a forecast says is what
// the run then does, to the bit.
func TestForecastIsWhatComes(t *testing.T) {
	starts := 0
	rapid.Check(t, func(t *rapid.T) {
		nodes, arrivals := drawFleet(t), drawArrivals(t, rapid.Bool().Draw(t, "endless"))
		c := drawPolicy(t, arrivals)
		tenants := drawTenants(t)
		at := poise.Time(0)
		for i := range arrivals {
			a := &arrivals[i]
			at = max(at, a.At)
			if i > 0 && rapid.IntRange(0, 9).Draw(t, "comes after another") == 0 {
				if before := &arrivals[rapid.IntRange(0, i-1).Draw(t, "which")]; before.At <= a.At {
					a.Job.After = []poise.JobID{before.Job.ID}
				}
			}
		}
		// It comes once all is over, and before the sweep.
		last := Arrival{Job: poise.Job{ID: "last", Name: "last", Tenant: "t", Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "nothing", Value: 1}}}}, At: 20 * 60 * 60 * poise.Time(second)}
		reservations := rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "reservations")
		patience := poise.Span(rapid.SampledFrom([]int{0, 0, 7, 30}).Draw(t, "patience")) * second
		displace := drawPreemption(t)
		config := func() *Config {
			made := c()
			made.Tenants, made.Reservations, made.Patience, made.Preempt = tenants, reservations, patience, displace
			return &made
		}
		sorted := inOrder(append(arrivals, last))
		r, rest := replayOf(t, config(), nodes, sorted)
		if err := r.run(sorted[:len(arrivals)]); err != nil {
			t.Fatalf("run: %v", err)
		}
		if next, ok := r.next(); ok { // whoever asks comes between two events
			at = min(next, at+poise.Time(rapid.IntRange(0, 10).Draw(t, "asked later"))*second/2)
		}
		s, progress := r.state().Image(), r.loop.Progress()
		*rest = nil
		if err := r.run(sorted[len(arrivals):]); err != nil {
			t.Fatalf("run: %v", err)
		}
		f, err := NewForecast(loopOn(t, config(), s, progress, at), at, Bounds{Horizon: 1 << 40, Attempts: 1 << 20})
		if err != nil {
			t.Fatalf("forecast: %v", err)
		}
		want := startsOf(s, *rest)
		same(t, "starts", f.startsOf(), want)
		starts += len(want)
		if f.Cut != Done || f.Overdue > 0 {
			t.Fatalf("%+v, want one that ends by itself", f)
		}

		cut := poise.Span(rapid.IntRange(1, 60).Draw(t, "horizon")) * second
		short, err := NewForecast(loopOn(t, config(), s, progress, at), at, Bounds{Horizon: cut, Attempts: 1 << 20})
		if err != nil {
			t.Fatalf("forecast: %v", err)
		}
		for len(want) > 0 && want[len(want)-1].At > at+poise.Time(cut) {
			want = want[:len(want)-1]
		}
		same(t, "starts up to the horizon", short.startsOf(), want)
		if len(short.Jobs) != len(f.Jobs) || short.Until > at+poise.Time(cut) {
			t.Fatalf("%+v, want all jobs up to the horizon", short)
		}
	})
	if starts == 0 {
		t.Error("nothing started, so this shows nothing")
	}
}

// What a forecast says of jobs that it does not see start.
func TestForecastEnds(t *testing.T) {
	f := func(jobs string, b Bounds, now poise.Time, want string) {
		t.Helper()
		tr := small(t, "node: n\ncapacity: {cpu: 2}", jobs+"\n---\njob: last\nsubmit: 60s\nrequest: {nothing: 1}")
		_, events := logged(t, configOf(t, idleBalance, nil), tr.nodes, tr.arrivals)
		s, _ := stateAt(t, 0, events, now)
		c := configOf(t, idleBalance, nil)
		got, err := NewForecast(loopOn(t, &c, s.Image(), nil, now), now, b)
		if err != nil {
			t.Fatal(err)
		}
		if text := got.text(); text != want {
			t.Errorf("%s\n got %s\nwant %s", jobs, text, want)
		}
		if got.Cut != Done {
			return
		}
		tried := loopOn(t, &c, s.Image(), nil, now)
		if err := (&World{config: &c, loop: tried}).tryAll(now); err != nil {
			t.Fatal(err)
		}
		again, err := NewForecast(loopOn(t, &c, s.Image(), tried.Progress(), now), now, b)
		if err != nil || again.text() != want {
			t.Errorf("%s\nafter all was tried got %s, %v\nwant %s", jobs, again.text(), err, want)
		}
	}
	far := Bounds{Horizon: 1 << 40, Attempts: 1000}
	three := "job: j\ncount: 3\nrun_time: 10s\nrequest: {cpu: 2}"
	f(three, far, 0, "j-1@10000 j-2@20000 until 30000 cut= endless=0 overdue=0")
	f(three, Bounds{Horizon: 15_000, Attempts: 1000}, 0, "j-1@10000 j-2:fits, but not now over=false until 15000 cut=horizon endless=0 overdue=0")
	f(three, Bounds{Horizon: 1 << 40, Attempts: 2}, 0, "j-1@10000 j-2:fits, but not now over=false until 10000 cut=attempts endless=0 overdue=0")
	f(three, Bounds{Horizon: 1 << 40, Attempts: 1000, Stop: func() bool { return true }}, 0, "j-1:none over=false j-2:none over=false until 0 cut=stop endless=0 overdue=0")
	f("job: e\nrequest: {cpu: 2}\n---\njob: w\nsubmit: 1s\nrequest: {cpu: 1}", far, 1000, "w:fits, but not now over=false until 1000 cut= endless=1 overdue=0")
	f("job: w\nrequest: {cpu: 3}", far, 0, "w:never fits the present nodes over=false until 0 cut= endless=0 overdue=0")
	f("job: a\nrequest: {cpu: 1}\n---\njob: b\nafter: [a]\nrequest: {cpu: 1}", far, 0, "b:none over=false until 0 cut= endless=1 overdue=0")
}

// text says what becomes of each job, and of the forecast.
func (f *Forecast) text() string {
	text := ""
	for _, e := range f.Jobs {
		text += string(e.Job)
		if e.Placed {
			text += fmt.Sprint("@", e.Start, " ")
			continue
		}
		verdict := "none"
		if e.Decision != nil {
			verdict = e.Decision.Verdict.String()
		}
		text += fmt.Sprintf(":%s over=%v ", verdict, e.Over)
	}
	return text + fmt.Sprintf("until %d cut=%s endless=%d overdue=%d", f.Until, f.Cut, f.Endless, f.Overdue)
}

// tryAll tries what waits, where nothing can start.
func (w *World) tryAll(now poise.Time) error {
	for {
		if s, err := w.attempt(now); s == nil || err != nil {
			return err
		}
	}
}

// A task that has run longer than it said ends at once, as far as anybody can say.
func TestForecastOverdue(t *testing.T) {
	tr := small(t, "node: n\ncapacity: {cpu: 2}", "job: a\nrun_time: 10s\ntook: 50s\nrequest: {cpu: 2}\n---\njob: b\nrun_time: 10s\nrequest: {cpu: 2}\n---\njob: last\nsubmit: 60s\nrequest: {}")
	_, events := logged(t, configOf(t, idleBalance, nil), tr.nodes, tr.arrivals)
	s, _ := stateAt(t, 0, events, 30_000)
	c := configOf(t, idleBalance, nil)
	f, err := NewForecast(loopOn(t, &c, s.Image(), nil, 30_000), 30_000, Bounds{Horizon: 1 << 40, Attempts: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if f.Overdue != 1 || len(f.Jobs) != 1 || f.Jobs[0].Start != 30_000 {
		t.Errorf("got %+v, want one overdue and b at 30 s", f)
	}
}
