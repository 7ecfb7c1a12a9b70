package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// These tests are what public bug reports of other schedulers came down to, as
// far as they show in a run; B and a number name the case.

// B18: jobs without devices fill the GPU hosts, and the job that needs a GPU
// finds no core left beside one. With the protection the CPU nodes are filled
// first; without it the spread form, which sees GPUs as one more resource that is
// idle beside the cores, prefers the GPU nodes.
func TestDevicesAreNotStranded(t *testing.T) {
	tr := small(t, `node: gpu
count: 2
capacity: {cpu: 16, memory: 64Gi}
devices: {kind: gpu, count: 1}
---
node: cpu
count: 2
capacity: {cpu: 16, memory: 64Gi}
`, "job: c\ncount: 40\nrequest: {cpu: 1}\n---\njob: g\nsubmit: 1s\nrequest: {cpu: 8, gpu: 1}")
	f := func(policy string, wantOnGPU int, wantPlaced bool, stranded float64) {
		t.Helper()
		c := configOf(t, policy, tr.requests)
		on := map[string]int{}
		c.Record = func(ev poise.Event) {
			if p, ok := ev.Body.(poise.JobPlaced); ok && p.Placement.Job != "g" {
				on[strings.TrimRight(p.Placement.Node, "-0123456789")]++
			}
		}
		r := replayed(t, c, tr.nodes, tr.arrivals)
		if on["gpu"] != wantOnGPU || on["cpu"]+on["gpu"] != 40 || (r.Replay.Pending == 0) != wantPlaced || r.Replay.Stranded != stranded {
			t.Errorf("%s: %v, %d pending, %v devices stranded; want %d on GPU nodes, the GPU job placed %v, %v stranded", policy, on, r.Replay.Pending, r.Replay.Stranded, wantOnGPU, wantPlaced, stranded)
		}
	}
	f(idleBalance, 8, true, 0)
	f(unprotected, 32, false, 2)
}

// B19: of equal nodes always the first in the list is taken. By name the choice
// does not depend on the list; seeded it is even, taken over seeds.
func TestEqualNodes(t *testing.T) {
	tr := small(t, "node: a\ncapacity: {cpu: 8}\n---\nnode: b\ncapacity: {cpu: 8}", "job: j\ncount: 8\nrequest: {cpu: 1}")
	onA := func(ties sched.Ties, seed uint64, nodes []poise.Node) int {
		c := configOf(t, "gpu-packing", nil) // scores jobs without devices 0 on every node
		c.Policy.Ties, c.Policy.Seed = ties, seed
		n := 0
		c.Record = func(ev poise.Event) {
			if p, ok := ev.Body.(poise.JobPlaced); ok && p.Placement.Node == "a" {
				n++
			}
		}
		replayed(t, c, nodes, tr.arrivals)
		return n
	}
	backwards := []poise.Node{tr.nodes[1], tr.nodes[0]}
	const seeds = 500
	sum := 0
	for seed := range uint64(seeds) {
		n := onA(sched.Seeded, seed, tr.nodes)
		if again := onA(sched.Seeded, seed, backwards); again != n {
			t.Errorf("seed %d: %d jobs on a, %d with the nodes in another order", seed, n, again)
		}
		sum += n
	}
	if mean := float64(sum) / seeds; mean < 3.8 || mean > 4.2 {
		t.Errorf("%v of 8 jobs on a in the mean over seeds, want 4", mean)
	}
	if n, again := onA(sched.ByName, 0, tr.nodes), onA(sched.ByName, 0, backwards); n != 8 || again != 8 {
		t.Errorf("by name %d and %d of 8 jobs on a, want all", n, again)
	}
}

// B20: equal candidates chosen by the order of a map.
func TestSameRunAgain(t *testing.T) {
	tr := example(t)
	want := replayed(t, configOf(t, idleBalance, nil), tr.nodes, tr.arrivals).Digest
	for range 20 {
		if got := replayed(t, configOf(t, idleBalance, nil), tr.nodes, tr.arrivals).Digest; got != want {
			t.Fatalf("another run has the digest %s, want %s", got, want)
		}
	}
}

// B24: the first jobs in order cannot run and use up the pass.
func TestUnschedulableJobsDoNotBlock(t *testing.T) {
	f := func(blocked string, want int) {
		t.Helper()
		tr := small(t, "node: a\ncapacity: {cpu: 4}\n---\nnode: b\ncapacity: {cpu: 4}\ndrained: true\nlabels: {only: b}",
			blocked+"\n---\njob: small\ncount: 2\npriority: 1\nrequest: {cpu: 1}")
		r := replayed(t, configOf(t, idleBalance, nil), tr.nodes, tr.arrivals)
		if r.Placed != 2 || r.Replay.Pending != 1000 || r.Attempts != want {
			t.Errorf("%d placed, %d pending after %d attempts, want 2, 1000, %d", r.Placed, r.Replay.Pending, r.Attempts, want)
		}
	}
	f("job: b\ncount: 1000\npriority: 9\nrequest: {cpu: 1}\nselectors: [{key: only, op: In, values: [b]}]", 3)
	var each []string // a shape for each job
	for i := range 1000 {
		each = append(each, fmt.Sprintf("job: b%d\npriority: 9\nrequest: {cpu: %dm}\nselectors: [{key: only, op: In, values: [b]}]", i, i+1))
	}
	f(strings.Join(each, "\n---\n"), 1002)
}

// B25: jobs of equal priority start in the order in which they came, however
// often they were tried before.
func TestEqualJobsKeepTheirOrder(t *testing.T) {
	tr := small(t, "node: n\ncapacity: {cpu: 30}", "job: j\ncount: 100\nrequest: {cpu: 1}\n---\njob: last\nsubmit: 1h\nrequest: {}")
	for i := range tr.arrivals {
		tr.arrivals[i].Job.RunTime = poise.Span(1+i%7) * second
	}
	c := configOf(t, idleBalance, nil)
	var started []string
	c.Record = func(ev poise.Event) {
		if p, ok := ev.Body.(poise.JobPlaced); ok {
			started = append(started, string(p.Placement.Job))
		}
	}
	r := replayed(t, c, tr.nodes, tr.arrivals)
	if !slices.IsSorted(started[:100]) || r.Placed != 101 || r.Replay.Waited != 70 {
		t.Errorf("%d placed, %d of them not at once, in the order %v", r.Placed, r.Replay.Waited, started)
	}
}

// B33: each event tries every waiting job again. Jobs that nothing helps are
// tried when they come and once a sweep, a shape at a time.
func TestEventsThatHelpNobody(t *testing.T) {
	const shapes, busy = 10, 5000
	fleet := "node: a\ncapacity: {cpu: 4, memory: 8Gi}\n---\nnode: b\ncapacity: {cpu: 4, memory: 8Gi}\ndevices: {kind: gpu, count: 1}\ndrained: true"
	var jobs []string
	for i := range shapes {
		jobs = append(jobs, fmt.Sprintf("job: big%d\ncount: 1000\npriority: 9\nrequest: {cpu: %d}", i, 5+i))
	}
	// Each of these starts at once and ends before the next: an event a second.
	jobs = append(jobs, fmt.Sprintf("job: busy\ncount: %d\nevery: 100ms\nrun_time: 50ms\nrequest: {memory: 1Gi}", busy))
	tr := small(t, fleet, strings.Join(jobs, "\n---\n"))
	f := func(q queue.Settings, want int) {
		t.Helper()
		r, err := RunReplay(configOf(t, idleBalance, nil), q, tr.nodes, tr.arrivals, 0)
		if err != nil {
			t.Fatal(err)
		}
		if r.Attempts != want || r.Replay.Pending != 1000*shapes {
			t.Errorf("%d attempts, %d pending, want %d and %d", r.Attempts, r.Replay.Pending, want, 1000*shapes)
		}
	}
	f(patient(), shapes+busy)
	// The run takes 500 s: with a sweep each minute after the first pass, 8.
	f(queue.Defaults(), 9*shapes+busy)
}

// bench is a replay that the test drives event by event.
type bench struct {
	*replay
	t fataler
}

func newBench(t *testing.T, nodes, jobs string) (*bench, []Arrival) {
	t.Helper()
	return benchOf(t, configOf(t, idleBalance, nil), nodes, jobs)
}

func benchOf(t *testing.T, c Config, nodes, jobs string) (*bench, []Arrival) {
	t.Helper()
	tr := small(t, nodes, jobs)
	w, err := NewWorld(&c, patient(), tr.nodes)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, replay: newReplay(w, nil, 0, 1<<40)}, tr.arrivals
}

func (b *bench) do(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("%v", err)
	}
}

// arrive submits a job.
func (b *bench) arrive(a Arrival) *state.Job {
	b.t.Helper()
	j, err := b.submit(&a)
	b.do(err)
	b.replay.t.arrive(j, !j.Blocked())
	return j
}

// started says whether a pass starts the job.
func (b *bench) started(id poise.JobID, now poise.Time) bool {
	b.t.Helper()
	b.now = now
	b.do(b.pass(always))
	return !b.state().Job(id).Waiting()
}

// B34: an event comes between the attempt that fails and the moment at which
// the job is parked. The attempt has not seen it, so the job is tried again.
func TestEventWhileParking(t *testing.T) {
	b, jobs := newBench(t, "node: n\ncapacity: {cpu: 4}", "job: first\nrequest: {cpu: 4}\n---\njob: second\nrequest: {cpu: 4}")
	b.arrive(jobs[0])
	if !b.started("first", 0) {
		t.Fatal("the first job does not start on an idle node")
	}
	b.arrive(jobs[1])
	work := b.loop.Next(1)
	if work == nil {
		t.Fatal("the second job is not tried")
	}
	work.Plan(sched.Brief)
	b.do(b.apply(2, poise.JobFinished{Job: "first"})) // the node is freed, and nobody is parked yet
	settled, err := b.loop.Settle(work, 3, sched.Brief)
	b.do(err)
	if settled.Decision.Verdict != poise.FitsNotNow {
		t.Fatalf("the second job: %s, want %s", settled.Decision.Verdict, poise.FitsNotNow)
	}
	if !b.started("second", 4) {
		t.Error("the second job is parked for good, want it tried again")
	}
}

// B34: what a node says of itself later makes a parked job fit.
func TestNodeChangesLater(t *testing.T) {
	f := func(job string, change poise.Body) {
		t.Helper()
		b, jobs := newBench(t, "node: n\ncapacity: {cpu: 4, memory: 8Gi}\n---\nnode: shut\ncapacity: {cpu: 64}\ndrained: true\ntaints: [{key: k, effect: NoSchedule}]", "job: j\n"+job)
		b.arrive(jobs[0])
		if b.started("j", 0) || b.started("j", 1) {
			t.Fatalf("%s starts before the node changes", job)
		}
		b.do(b.apply(2, change))
		if !b.started("j", 3) {
			t.Errorf("%s does not start after %s", job, change.EventKind())
		}
	}
	n := poise.Node{Name: "n", Capacity: resource.List{{Name: "cpu", Value: 4000}, {Name: "memory", Value: 8 << 30}}}
	labelled := n
	labelled.Labels = []poise.Label{{Key: "zone", Value: "a"}}
	f("request: {cpu: 1}\nselectors: [{key: zone, op: In, values: [a]}]", poise.NodeChanged{Node: labelled})
	larger := n
	larger.Capacity = resource.List{{Name: "cpu", Value: 8000}, {Name: "fpga", Value: 1000}, {Name: "memory", Value: 8 << 30}}
	f("request: {cpu: 5}", poise.NodeChanged{Node: larger})
	f("request: {fpga: 1}", poise.NodeChanged{Node: larger}) // no node had declared it
	equipped := n
	equipped.Devices = poise.Devices{Kind: "npu", Model: "x", Count: 1}
	f("request: {npu: 1}", poise.NodeChanged{Node: equipped})
	f("request: {npu: 1}\ndevices: {models: [x, y]}", poise.NodeChanged{Node: equipped})
	f("request: {cpu: 60}\ntolerations: [{key: k, exists: true}]", poise.NodeMarked{Name: "shut"})
	joined := n
	joined.Name, joined.Capacity = "m", resource.List{{Name: "cpu", Value: 64000}}
	f("request: {cpu: 60}", poise.NodeJoined{Node: joined})
}

// B34: an event was lost. The sweep tries every job again.
func TestLostEvent(t *testing.T) {
	b, jobs := newBench(t, "node: n\ncapacity: {cpu: 4}", "job: first\nrequest: {cpu: 4}\n---\njob: second\nrequest: {cpu: 4}")
	b.arrive(jobs[0])
	b.started("first", 0)
	b.arrive(jobs[1])
	b.started("second", 1)
	b.do(b.state().Apply(poise.Event{Index: b.state().Index() + 1, At: 2, Body: poise.JobFinished{Job: "first"}})) // past the loop
	sweep := poise.Time(patient().Sweep)
	if b.started("second", sweep) {
		t.Error("the second job starts before the sweep")
	}
	if !b.started("second", sweep+1) {
		t.Error("the second job does not start with the sweep")
	}
}

// B37: a job asks for more than any node has, and waits for ever without a word.
// B39: the reason is of the decision itself, so it holds of the nodes as they are.
// What waits behind others does so because it does not fit either, as nothing
// is reserved.
func TestReasonsOfWaitingJobs(t *testing.T) {
	tr := small(t, "node: a\ncapacity: {cpu: 72}\n---\nnode: b\ncapacity: {cpu: 64}\n---\nnode: c\ncapacity: {cpu: 8}\ndevices: {kind: gpu, count: 2}",
		`job: fill
count: 2
priority: 9
request: {cpu: 60}
---
job: never
submit: 1s
request: {cpu: 73}
---
job: now
submit: 2s
request: {cpu: 61}
---
job: front
submit: 3s
priority: 5
request: {cpu: 20}
---
job: behind
submit: 4s
request: {cpu: 20}
---
job: gpus
submit: 5s
request: {gpu: 3}
`)
	r := replayed(t, configOf(t, idleBalance, nil), tr.nodes, tr.arrivals)
	f := func(job string, jobs int, verdict poise.Verdict, nearest poise.Miss) {
		t.Helper()
		i := slices.IndexFunc(r.Replay.Waiting, func(w Waiting) bool { return w.Job == job })
		if i < 0 {
			t.Errorf("%s does not wait", job)
			return
		}
		w := &r.Replay.Waiting[i]
		if w.Jobs != jobs || w.Decision.Verdict != verdict || w.Decision.Nearest == nil || *w.Decision.Nearest != nearest {
			t.Errorf("%s: %d wait, %s, nearest %+v; want %d, %s, %+v", job, w.Jobs, w.Decision.Verdict, w.Decision.Nearest, jobs, verdict, nearest)
		}
	}
	f("never", 1, poise.NeverFits, poise.Miss{Node: "a", Code: poise.CapacityShort, Dim: "cpu", Ask: 73000, Have: 72000, Beyond: 1000})
	f("now", 1, poise.FitsNotNow, poise.Miss{Node: "a", Code: poise.IdleShort, Dim: "cpu", Ask: 61000, Have: 12000, Beyond: 49000})
	f("front", 2, poise.FitsNotNow, poise.Miss{Node: "a", Code: poise.IdleShort, Dim: "cpu", Ask: 20000, Have: 12000, Beyond: 8000})
	f("gpus", 1, poise.NeverFits, poise.Miss{Node: "c", Code: poise.DeviceCapacityShort, Dim: "gpu", Ask: 3000, Have: 2000, Beyond: 1000})
}

// notFirst refuses the job of that name, and says that it goes by the name.
type notFirst struct{}

func (notFirst) Filter(b *state.Batch, reasons []poise.Reason) error {
	for i := range b.Rows {
		if b.Job.Name == "first" {
			reasons[i] = poise.NewPolicyReason(0, 1)
		}
	}
	return nil
}

func (notFirst) Key(j *state.Job) string { return j.Name }

// A job that a policy refuses does not park another of the same shape.
func TestPolicyTellsJobsApart(t *testing.T) {
	c := configOf(t, idleBalance, nil)
	c.Policy.Filters = []sched.Filter{notFirst{}}
	b, jobs := benchOf(t, c, "node: n\ncapacity: {cpu: 4}", "job: first\nrequest: {cpu: 1}\n---\njob: second\nrequest: {cpu: 1}")
	first, second := b.arrive(jobs[0]), b.arrive(jobs[1])
	if first.Shape != second.Shape {
		t.Fatal("two shapes, expected one")
	}
	if b.started("first", 0) || !b.started("second", 0) {
		t.Error("expected the second job alone to start")
	}
}
