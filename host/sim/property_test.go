package sim

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

const gib = 1 << 30

// drawFleet draws up to six nodes. Amounts are few and small, so that jobs are
// in each other's way and nodes are alike.
func drawFleet(t *rapid.T) []poise.Node {
	nodes := make([]poise.Node, rapid.IntRange(1, 6).Draw(t, "nodes"))
	for i := range nodes {
		n := poise.Node{Name: fmt.Sprint("n", i)}
		capacity := resource.List{
			{Name: "cpu", Value: rapid.SampledFrom([]int64{0, 2000, 4000, 8000}).Draw(t, "node cpu")},
			{Name: "fpga", Value: rapid.SampledFrom([]int64{0, 0, 0, 2000}).Draw(t, "node fpga")},
			{Name: "memory", Value: rapid.SampledFrom([]int64{0, 4 * gib, 8 * gib}).Draw(t, "node memory")},
		}
		n.Capacity = slices.DeleteFunc(capacity, func(a resource.Amount) bool { return a.Value == 0 })
		if count := rapid.SampledFrom([]int32{0, 1, 2, 4}).Draw(t, "node devices"); count > 0 {
			n.Devices = poise.Devices{
				Kind: rapid.SampledFrom([]string{"gpu", "gpu", "npu"}).Draw(t, "node kind"), Count: count,
				Model: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "model"), Exclusive: rapid.IntRange(0, 3).Draw(t, "exclusive") == 0,
			}
		}
		if zone := rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "zone"); zone != "" {
			n.Labels = []poise.Label{{Key: "zone", Value: zone}}
		}
		if rapid.IntRange(0, 4).Draw(t, "tainted") == 0 {
			n.Taints = []poise.Taint{{Key: "k", Value: "v", Effect: poise.NoSchedule}}
		}
		n.Drained = rapid.IntRange(0, 7).Draw(t, "drained") == 0
		n.NotReady = rapid.IntRange(0, 7).Draw(t, "not ready") == 0
		nodes[i] = n
	}
	return nodes
}

// drawShape draws what jobs of one shape have in common.
func drawShape(t *rapid.T) poise.Job {
	j := poise.Job{Tasks: 1}
	amounts := resource.List{
		{Name: "cpu", Value: rapid.SampledFrom([]int64{0, 500, 1000, 2000, 5000}).Draw(t, "cpu")},
		{Name: "fpga", Value: rapid.SampledFrom([]int64{0, 0, 0, 0, 1000}).Draw(t, "fpga")},
		{Name: "memory", Value: rapid.SampledFrom([]int64{0, gib, 3 * gib}).Draw(t, "memory")},
	}
	j.Request.Amounts = slices.DeleteFunc(amounts, func(a resource.Amount) bool { return a.Value == 0 })
	switch rapid.IntRange(0, 3).Draw(t, "ask") {
	case 1:
		j.Request.Device = poise.DeviceRequest{Count: 1, Milli: rapid.SampledFrom([]int32{1, 300, 500, 999}).Draw(t, "milli")}
	case 2:
		j.Request.Device = poise.DeviceRequest{Count: rapid.SampledFrom([]int32{1, 2, 4}).Draw(t, "count"), Milli: poise.WholeDevice}
	}
	if d := &j.Request.Device; d.Count > 0 {
		d.Kind = rapid.SampledFrom([]string{"gpu", "gpu", "npu"}).Draw(t, "kind")
		d.Models = rapid.SampledFrom([][]string{nil, nil, {"a"}, {"a", "b"}}).Draw(t, "models")
	}
	switch rapid.IntRange(0, 5).Draw(t, "selects") {
	case 0:
		j.Selectors = []poise.Selector{{Key: "zone", Op: poise.In, Values: []string{"1"}}}
	case 1:
		j.Selectors = []poise.Selector{{Key: "zone", Op: poise.Gt, Values: []string{"1"}}}
	}
	if rapid.Bool().Draw(t, "tolerates") {
		j.Tolerations = []poise.Toleration{{Key: "k", Exists: true}}
	}
	return j
}

// drawArrivals draws jobs of a few shapes within a minute, many at one moment.
// Run times of 0, which never end, come only where endless is set.
func drawArrivals(t *rapid.T, endless bool) []Arrival {
	shapes := rapid.SliceOfN(rapid.Custom(drawShape), 1, 5).Draw(t, "shapes")
	arrivals := make([]Arrival, rapid.IntRange(1, 40).Draw(t, "jobs"))
	least := 1
	if endless {
		least = 0
	}
	for i := range arrivals {
		j := rapid.SampledFrom(shapes).Draw(t, "shape")
		j.ID = poise.JobID(fmt.Sprintf("j%02d", i))
		j.Name = string(j.ID)
		j.Tenant = rapid.SampledFrom([]poise.TenantID{"t", "u"}).Draw(t, "tenant")
		j.Priority = rapid.Int32Range(-1, 2).Draw(t, "priority")
		j.RunTime = poise.Span(rapid.IntRange(least, 30).Draw(t, "run time")) * second
		arrivals[i] = Arrival{Job: j, At: poise.Time(rapid.IntRange(0, 12).Draw(t, "at")) * 5 * second}
	}
	return arrivals
}

// drawPolicy draws a policy and gives a function that makes it anew, since
// every run needs one of its own.
func drawPolicy(t *rapid.T, arrivals []Arrival) func() Config {
	name := rapid.SampledFrom([]string{idleBalance, idleBalance, unprotected, "best-fit", "fgd", "gpu-clustering", "random", "balanced"}).Draw(t, "policy")
	ties := rapid.SampledFrom([]sched.Ties{sched.ByName, sched.Seeded}).Draw(t, "ties")
	seed := rapid.Uint64().Draw(t, "seed")
	epoch := rapid.SampledFrom([]uint64{0, 3}).Draw(t, "epoch")
	halfLife := rapid.SampledFrom([]float64{0, 5}).Draw(t, "half-life")
	requests := make([]poise.Request, len(arrivals))
	for i := range arrivals {
		requests[i] = arrivals[i].Job.Request
	}
	return func() Config {
		c := configOf(t, name, requests)
		if c.Policy.Ties != sched.Seeded {
			c.Policy.Ties = ties
		}
		c.Policy.Seed, c.Params.Epoch, c.HalfLife = seed, epoch, halfLife
		return c
	}
}

// logged replays and gives the events of the run too.
func logged(t fataler, c Config, nodes []poise.Node, arrivals []Arrival) (*Result, []poise.Event) {
	t.Helper()
	var events []poise.Event
	c.Record = func(ev poise.Event) { events = append(events, ev) }
	return replayed(t, c, nodes, arrivals), events
}

// No job is on a node that may not hold it, what is allocated is the sum over
// the jobs that run, and none waits while it fits: also without the sweep.
func TestReplayKeepsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, arrivals := drawFleet(t), drawArrivals(t, true)
		c := drawPolicy(t, arrivals)
		_, events := logged(t, c(), nodes, arrivals)
		newLedger(t, state.Settings{DemandHalfLife: c().HalfLife}).check(events)
	})
}

// Where every task ends, each job that some node could hold starts, at the
// latest when all others have run one after the other.
func TestFeasibleJobsStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, arrivals := drawFleet(t), drawArrivals(t, false)
		bound, end := poise.Span(0), poise.Time(0)
		for i := range arrivals {
			bound += arrivals[i].Job.RunTime
			end = max(end, arrivals[i].At)
		}
		end += poise.Time(bound)
		last := Arrival{Job: poise.Job{ID: "last", Name: "last", Tenant: "t", Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "nothing", Value: 1}}}}, At: end}
		c := drawPolicy(t, arrivals)()
		r, events := logged(t, c, nodes, append(arrivals, last))

		l := newLedger(t, state.Settings{DemandHalfLife: c.HalfLife})
		l.check(events)
		infeasible := 0
		for i := range arrivals {
			if !slices.ContainsFunc(nodes, func(n poise.Node) bool { return (&ledgerNode{Node: n}).couldHold(&arrivals[i].Job) }) {
				infeasible++
			}
		}
		if r.Replay.Pending != infeasible+1 {
			t.Fatalf("%d pending, want the %d that no node can hold and the last", r.Replay.Pending, infeasible)
		}
		started := map[poise.JobID]poise.Time{}
		for _, ev := range events {
			if p, ok := ev.Body.(poise.JobPlaced); ok {
				started[p.Placement.Job] = ev.At
			}
		}
		for i := range arrivals {
			if at, ok := started[arrivals[i].Job.ID]; ok && poise.Span(at-arrivals[i].At) > bound {
				t.Fatalf("job %q waited %d ms, want at most %d", arrivals[i].Job.ID, at-arrivals[i].At, bound)
			}
		}
	})
}

// variations are ways to run the same thing again.
func variations(t *rapid.T, nodes []poise.Node, arrivals []Arrival, run func(c func(*Config), nodes []poise.Node, arrivals []Arrival) string) {
	want := run(func(*Config) {}, nodes, arrivals)
	f := func(how string, change func(*Config), nodes []poise.Node, arrivals []Arrival) {
		t.Helper()
		if got := run(change, nodes, arrivals); got != want {
			t.Fatalf("%s: digest %s, want %s", how, got, want)
		}
	}
	same := func(*Config) {}
	f("again", same, nodes, arrivals)
	f("in another order", same, rapid.Permutation(nodes).Draw(t, "node order"), rapid.Permutation(arrivals).Draw(t, "job order"))
	f("explained", func(c *Config) { c.Explain = func(*state.Job) bool { return true } }, nodes, arrivals)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f("on one core", same, nodes, arrivals)
	runtime.GOMAXPROCS(4)
	f("on four cores", same, nodes, arrivals)
}

func TestReplayIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, arrivals := drawFleet(t), drawArrivals(t, true)
		c := drawPolicy(t, arrivals)
		whole := rapid.Bool().Draw(t, "profile of the whole workload")
		variations(t, nodes, arrivals, func(change func(*Config), nodes []poise.Node, arrivals []Arrival) string {
			c := c()
			if whole {
				c.Workload = demandOfAll(t, arrivals)
			}
			change(&c)
			return replayed(t, c, nodes, arrivals).Digest
		})
	})
}

func TestInflateIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, arrivals := drawFleet(t), drawArrivals(t, true)
		c := drawPolicy(t, arrivals)
		multiple := rapid.SampledFrom([]float64{0.5, 1.3}).Draw(t, "multiple")
		seed := rapid.Int64Range(0, 1000).Draw(t, "seed of the list")
		whole := rapid.Bool().Draw(t, "profile of the whole workload")
		if first, err := Inflate(nodes, arrivals, multiple, seed); err != nil || len(first.Arrivals) > 500 {
			t.Skip("no devices, nobody asks for one, or for so little that it takes long")
		}
		variations(t, nodes, arrivals, func(change func(*Config), nodes []poise.Node, arrivals []Arrival) string {
			list, err := Inflate(nodes, arrivals, multiple, seed)
			if err != nil {
				t.Fatalf("inflate: %v", err)
			}
			c := c()
			if c.Policy.Ties == sched.ByName {
				c.Policy.Ties = sched.Published
			}
			if whole {
				c.Workload = demandOfAll(t, arrivals)
			}
			change(&c)
			var events []poise.Event
			c.Record = func(ev poise.Event) { events = append(events, ev) }
			r, err := RunInflate(c, nodes, list)
			if err != nil {
				t.Fatalf("run: %v", err)
			}
			newLedger(t, state.Settings{DemandHalfLife: c.HalfLife}).check(events)
			return r.Digest
		})
	})
}

// The profile of a whole workload does not depend on the order of the file, not
// even where equal weights leave the order of arrival to decide which shapes it
// keeps.
func TestWorkloadDemandIsDeterministic(t *testing.T) {
	tr := example(t)
	want := demandOfAll(t, tr.arrivals)
	shuffled := slices.Clone(tr.arrivals)
	slices.Reverse(shuffled)
	if got := demandOfAll(t, shuffled); !reflect.DeepEqual(got, want) {
		t.Errorf("in reverse: %+v, want %+v", got, want)
	}
}

func demandOfAll(t fataler, arrivals []Arrival) []state.Seen {
	t.Helper()
	seen, err := WorkloadDemand(arrivals)
	if err != nil {
		t.Fatalf("demand: %v", err)
	}
	return seen
}
