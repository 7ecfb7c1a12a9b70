package sim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
)

func TestReplayRefuses(t *testing.T) {
	tr := small(t, "node: n\ncapacity: {cpu: 1}", "job: a\nrequest: {cpu: 1}")
	f := func(nodes []poise.Node, arrivals []Arrival, q queue.Settings, from poise.Time, want string) {
		t.Helper()
		_, err := RunReplay(configOf(t, idleBalance, nil), q, nodes, arrivals, from)
		if err == nil || poise.KindOf(err) != poise.Invalid && poise.KindOf(err) != poise.Conflict || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f(tr.nodes, nil, patient(), 0, "replay: jobs: none, expected at least one")
	f(nil, tr.arrivals, patient(), 0, "simulate: nodes: none, expected at least one")
	f(tr.nodes, tr.arrivals, queue.Settings{}, 0, "queue settings: step: 0 ms, expected 1 to")
	f(tr.nodes, tr.arrivals, patient(), 1, "from: 1 ms, expected at most the last arrival at 0 ms")
	f(append(tr.nodes, tr.nodes...), tr.arrivals, patient(), 0, `join node "n": a node of that name is present`)
	f(tr.nodes, append(tr.arrivals, tr.arrivals...), patient(), 0, `submit job "a": a job of that id is known`)
}

// A run time so long that it would end after the end of time has no end.
func TestReplayEndlessRunTime(t *testing.T) {
	tr := small(t, "node: n\ncapacity: {cpu: 2}", "job: a\nrequest: {cpu: 1}\n---\njob: b\nrequest: {cpu: 1}\nsubmit: 10s\n---\njob: c\nrequest: {cpu: 1}\nsubmit: 20s")
	tr.arrivals[1].Job.RunTime = math.MaxInt64
	r := replayed(t, configOf(t, idleBalance, nil), tr.nodes, tr.arrivals)
	// a for 20 s, b for 10 s and c for none, of 2 cores for 20 s.
	if r.Replay.Pending != 1 || r.Replay.Alloc != 75 || r.Replay.Load != 75 {
		t.Errorf("%d pending, allocated %v %%, load %v %%, want 1, 75, 75", r.Replay.Pending, r.Replay.Alloc, r.Replay.Load)
	}
}

// One moment has no length: nothing is divided by it.
func TestReplayOfOneMoment(t *testing.T) {
	tr := small(t, "node: n\ncapacity: {cpu: 2}", "job: a\ncount: 3\nrequest: {cpu: 1}\nsubmit: 5s")
	r := replayed(t, configOf(t, idleBalance, nil), tr.nodes, tr.arrivals)
	p := r.Replay
	if p.Load != 0 || p.Alloc != 0 || p.Imbalance != 0 || p.EmptyNodes != 0 || p.MeanWait != 0 || len(p.Series) != 0 {
		t.Errorf("got %+v, want no figure over time", p)
	}
	if r.Placed != 2 || p.Pending != 1 || p.Waited != 0 {
		t.Errorf("%d placed, %d pending, %d waited, want 2, 1, 0", r.Placed, p.Pending, p.Waited)
	}
}

// The curve has a point for each 500th of the time, taken after what happens
// then, and the figures that are sampled are means over them.
func TestReplaySamples(t *testing.T) {
	tr := small(t, "node: a\ncapacity: {cpu: 4, memory: 4Gi}\n---\nnode: b\ncapacity: {cpu: 4, memory: 4Gi}",
		"job: x\nrequest: {cpu: 4}\nrun_time: 30m\n---\njob: y\nrequest: {cpu: 2}\nsubmit: 15m\n---\njob: last\nrequest: {}\nsubmit: 1h")
	r := replayed(t, configOf(t, idleBalance, nil), tr.nodes, tr.arrivals)
	series := r.Replay.Series
	if len(series) != samplesPerRun || len(r.Curve()) != len(series) {
		t.Fatalf("%d points, want %d", len(series), samplesPerRun)
	}
	for i, p := range series {
		want := 50.0
		switch {
		case i >= 250:
			want = 25
		case i >= 125:
			want = 75
		}
		if math.Abs(p.X-float64(i)/500) > 1e-6 || p.Alloc != want {
			t.Fatalf("point %d is %+v, want %v h and %v %%", i, p, float64(i)/500, want)
		}
	}
	// |u_cpu - u_memory|/2, sum over both nodes: 1/2 to 15 min, 3/4 to 30 min, then
	// 1/4. Empty nodes: 1, 0, 1.
	n := float64(samplesPerRun)
	before, both, after := n/4, n/4, n/2
	wantImbalance := (before/2 + both*3/4 + after/4) / 2 / n
	if got := r.Replay.Imbalance; math.Abs(got-wantImbalance) > 1e-9 {
		t.Errorf("imbalance %v, want %v", got, wantImbalance)
	}
	if got, want := r.Replay.EmptyNodes, (before+after)/n; math.Abs(got-want) > 1e-9 {
		t.Errorf("%v nodes empty, want %v", got, want)
	}
}

func TestQuantile(t *testing.T) {
	f := func(n int, want poise.Span) {
		t.Helper()
		waits := make([]poise.Span, n)
		for i := range waits {
			waits[i] = poise.Span(i + 1)
		}
		if got := quantile(waits, 99); got != want {
			t.Errorf("of %d waits: %d, want %d", n, got, want)
		}
	}
	f(0, 0)
	f(1, 1)
	f(99, 99)
	f(100, 99)
	f(101, 100)
	f(1000, 990)
}

// Every n-th node of each make, from the middle of the first n.
func TestThin(t *testing.T) {
	tr := small(t, `node: a
count: 7
capacity: {cpu: 1}
---
node: b
count: 2
capacity: {cpu: 2}
---
node: c
capacity: {cpu: 1}
devices: {kind: gpu, count: 1}
---
node: d
count: 3
capacity: {cpu: 1}
devices: {kind: gpu, model: T4, count: 1}
`, "job: j\nrequest: {}")
	f := func(n int, want ...string) {
		t.Helper()
		nodes := slices.Clone(tr.nodes)
		slices.Reverse(nodes)
		kept, err := Thin(nodes, n)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range kept {
			got = append(got, kept[i].Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("each %dth: %v, want %v", n, got, want)
		}
	}
	f(1, "a-0", "a-1", "a-2", "a-3", "a-4", "a-5", "a-6", "b-0", "b-1", "c", "d-0", "d-1", "d-2")
	f(2, "a-0", "a-2", "a-4", "a-6", "b-0", "c", "d-0", "d-2")
	f(3, "a-1", "a-4", "b-1", "d-1")
	f(4, "a-1", "a-5", "b-1", "d-1")
	f(14, "a-6")
	f(15)
	for _, n := range []int{0, -1} {
		if _, err := Thin(tr.nodes, n); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("thin: %d, expected 1 or more", n)) {
			t.Errorf("each %dth: got %v", n, err)
		}
	}
}

func TestThinOpenb(t *testing.T) {
	tr := openb(t, "default")
	f := func(n, want int) {
		t.Helper()
		kept, err := Thin(tr.nodes, n)
		if err != nil {
			t.Fatal(err)
		}
		if len(kept) != want {
			t.Errorf("each %dth of %d nodes: %d, want %d", n, len(tr.nodes), len(kept), want)
		}
	}
	f(1, 1213)
	f(7, 171)
	f(10, 122)
	f(20, 58)
}

// Each copy is shifted as a whole, by a time of its own, and keeps the names.
func TestCopy(t *testing.T) {
	tr := example(t)
	list, err := Copy(tr.arrivals, 5, 42)
	if err != nil {
		t.Fatal(err)
	}
	n := len(tr.arrivals)
	if len(list) != 5*n {
		t.Fatalf("%d arrivals, want %d", len(list), 5*n)
	}
	ids, shifts := map[poise.JobID]bool{}, map[poise.Time]bool{}
	for c := range 5 {
		shift := list[c*n].At - tr.arrivals[0].At
		shifts[shift] = true
		if shift < 0 || shift >= 24*60*60*second || shift%second != 0 {
			t.Errorf("copy %d is shifted by %d ms, want 0 to 24 h in seconds", c, shift)
		}
		for i := range n {
			a, o := &list[c*n+i], &tr.arrivals[i]
			if a.At-o.At != shift || a.Job.Name != o.Job.Name || a.Job.RunTime != o.Job.RunTime || ids[a.Job.ID] {
				t.Fatalf("copy %d of %q is %q at %d ms for %d ms, want an id of its own, a shift of %d ms and all else the same", c, o.Job.ID, a.Job.ID, a.At, a.Job.RunTime, shift)
			}
			ids[a.Job.ID] = true
		}
	}
	if len(shifts) != 5 {
		t.Errorf("5 copies have the shifts %v, want one for each", slices.Collect(maps.Keys(shifts)))
	}
	same := func(a, b Arrival) bool { return a.Job.ID == b.Job.ID && a.At == b.At }
	again, err := Copy(tr.arrivals, 5, 42)
	if err != nil || !slices.EqualFunc(list, again, same) {
		t.Errorf("the same seed gave other copies, or %v", err)
	}
	other, err := Copy(tr.arrivals, 5, 43)
	if err != nil || slices.EqualFunc(list, other, same) {
		t.Errorf("another seed gave the same copies, or %v", err)
	}
	if once, err := Copy(tr.arrivals, 1, 42); err != nil || !slices.EqualFunc(once, tr.arrivals, same) {
		t.Errorf("one copy is not the arrivals as they were, or %v", err)
	}
	for _, copies := range []int{0, -1, 1001} {
		if _, err := Copy(tr.arrivals, copies, 42); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("copies: %d, expected 1 to 1000", copies)) {
			t.Errorf("%d copies: got %v", copies, err)
		}
	}
}

// What runs and waits in the demonstration adds up.
func TestReplayExample(t *testing.T) {
	tr := example(t)
	r := replayed(t, configOf(t, idleBalance, tr.requests), tr.nodes, tr.arrivals)
	waiting, jobs, placed := 0, 0, 0
	for _, w := range r.Replay.Waiting {
		waiting += w.Jobs
		if w.Decision.Verdict == poise.Placed || w.Decision.Nearest == nil || len(w.Decision.Refused) == 0 {
			t.Errorf("%s waits with the decision %+v, want a reason and the nearest miss", w.Job, w.Decision)
		}
	}
	for _, u := range r.Replay.Tenants {
		jobs, placed = jobs+u.Jobs, placed+u.Placed
	}
	if r.Jobs != len(tr.arrivals) || r.Placed+r.Replay.Pending != r.Jobs || waiting != r.Replay.Pending || jobs != r.Jobs || placed != r.Placed || r.Failed != 0 {
		t.Errorf("%d jobs, %d placed, %d pending; by shape %d wait; by tenant %d and %d placed; %d failed: does not add up", r.Jobs, r.Placed, r.Replay.Pending, waiting, jobs, placed, r.Failed)
	}
	if r.Replay.Pending == 0 {
		t.Error("nothing waits at the end, so this test shows little")
	}
}
