package sim

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
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

// loopOn makes the loop of a copy of a state, ready to go on.
func loopOn(t fataler, c *Config, s *state.State) *loop.Loop {
	t.Helper()
	copied, err := state.FromImage(s.Image(), state.Settings{DemandHalfLife: c.HalfLife})
	if err != nil {
		t.Fatalf("copy: %v", err)
	}
	w, err := worldOn(c, patient(), copied, newTotals())
	if err != nil {
		t.Fatalf("world: %v", err)
	}
	if err := w.loop.Fill(); err != nil {
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

// startsOf gives the tasks that begin in events, in order.
func startsOf(events []poise.Event) []start {
	var all []start
	seen := map[poise.JobID]bool{"last": true}
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
		at, end, bound := poise.Time(0), poise.Time(0), poise.Span(0)
		for i := range arrivals {
			a := &arrivals[i]
			end, bound = max(end, a.At), bound+a.Job.RunTime
			if i > 0 && rapid.IntRange(0, 9).Draw(t, "comes after another") == 0 {
				if before := &arrivals[rapid.IntRange(0, i-1).Draw(t, "which")]; before.At <= a.At {
					a.Job.After = []poise.JobID{before.Job.ID}
				}
			}
		}
		at, end = end, end+poise.Time(bound)+1
		last := Arrival{Job: poise.Job{ID: "last", Name: "last", Tenant: "t", Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "nothing", Value: 1}}}}, At: end}
		run := c()
		run.Tenants = tenants
		_, events := logged(t, run, nodes, append(arrivals, last))

		again := c()
		s, rest := stateAt(t, again.HalfLife, events, at)
		f, err := NewForecast(loopOn(t, &again, s), at, Bounds{Horizon: 1 << 40, Attempts: 1 << 20})
		if err != nil {
			t.Fatalf("forecast: %v", err)
		}
		want := startsOf(rest)
		same(t, "starts", f.startsOf(), want)
		starts += len(want)
		if f.Cut != Done || f.Overdue > 0 {
			t.Fatalf("%+v, want one that ends by itself", f)
		}

		other := c()
		cut := poise.Span(rapid.IntRange(1, 60).Draw(t, "horizon")) * second
		short, err := NewForecast(loopOn(t, &other, s), at, Bounds{Horizon: cut, Attempts: 1 << 20})
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
		got, err := NewForecast(loopOn(t, &c, s), now, b)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, e := range got.Jobs {
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
		if text += fmt.Sprintf("until %d cut=%s endless=%d overdue=%d", got.Until, got.Cut, got.Endless, got.Overdue); text != want {
			t.Errorf("%s\n got %s\nwant %s", jobs, text, want)
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

// A task that has run longer than it said ends at once, as far as anybody can say.
func TestForecastOverdue(t *testing.T) {
	tr := small(t, "node: n\ncapacity: {cpu: 2}", "job: a\nrun_time: 10s\ntook: 50s\nrequest: {cpu: 2}\n---\njob: b\nrun_time: 10s\nrequest: {cpu: 2}\n---\njob: last\nsubmit: 60s\nrequest: {}")
	_, events := logged(t, configOf(t, idleBalance, nil), tr.nodes, tr.arrivals)
	s, _ := stateAt(t, 0, events, 30_000)
	c := configOf(t, idleBalance, nil)
	f, err := NewForecast(loopOn(t, &c, s), 30_000, Bounds{Horizon: 1 << 40, Attempts: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if f.Overdue != 1 || len(f.Jobs) != 1 || f.Jobs[0].Start != 30_000 {
		t.Errorf("got %+v, want one overdue and b at 30 s", f)
	}
}
