package loop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// gangTasks makes a gang of so many jobs as one, least of which start together, 0 = all.
func gangTasks(one task, size, least int32, topology *poise.Topology) []task {
	all := make([]task, size)
	for i := range all {
		all[i] = one
		all[i].job.ID = memberOf(one.job.ID, i)
		all[i].job.Name, all[i].job.Tasks = string(all[i].job.ID), size
		all[i].job.Gang = &poise.Gang{ID: string(one.job.ID), Size: size, Min: least, Index: int32(i), Topology: topology}
	}
	return all
}

func memberOf(gang poise.JobID, i int) poise.JobID { return poise.JobID(fmt.Sprint(gang, "/", i)) }

// With one reservation and exact run times, gangs of tasks of one core on one node
// start when EASY starts jobs of as many processors.
func TestGangsUnderEASY(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		processors := rapid.Int64Range(1, 10).Draw(t, "processors")
		jobs := workload(t, processors, 40)
		var arrivals []task
		for i := range jobs {
			j := jobs[i]
			cores := j.job.Request.Amounts[0].Value / 1000
			if cores == 1 {
				arrivals = append(arrivals, j)
				continue
			}
			one := cpuTask(string(j.job.ID), j.at, 1, j.job.RunTime, j.runs)
			arrivals = append(arrivals, gangTasks(one, int32(cores), 0, nil)...)
		}
		p := newPlant(t, 1, cpuNode("n", processors))
		p.run(arrivals, 1<<40)
		want := easy(processors, slices.Clone(jobs), true)
		for i := range jobs {
			id := jobs[i].job.ID
			first := id
			if jobs[i].job.Request.Amounts[0].Value > 1000 {
				first = memberOf(id, 0)
			}
			if got, ok := p.started[first]; !ok || got != want[id] {
				t.Fatalf("%s started at %d (%v), expected at %d\n%v", id, got, ok, want[id], p.log)
			}
		}
	})
}

// drawRacks draws nodes in racks.
func drawRacks(t *rapid.T) []poise.Node {
	nodes := drawFleet(t)
	for i := range rapid.IntRange(0, 3).Draw(t, "more nodes") {
		nodes = append(nodes, cpuNode(fmt.Sprint("c", i), rapid.SampledFrom([]int64{2, 4, 8}).Draw(t, "cores")))
	}
	for i := range nodes {
		if rack := rapid.SampledFrom([]string{"", "x", "y", "y"}).Draw(t, "rack"); rack != "" {
			nodes[i].Labels = []poise.Label{{Key: "rack", Value: rack}}
		}
	}
	return nodes
}

// drawGang draws a gang that the empty nodes can hold, or a single job where the one
// that was drawn is too large for them.
func drawGang(t *rapid.T, nodes []poise.Node, id string, at poise.Time, declares bool) []task {
	one := drawTask(t, id, at, declares, true)
	size := rapid.Int32Range(2, 5).Draw(t, "size")
	topology := rapid.SampledFrom([]*poise.Topology{
		nil, nil, {Key: "rack", Mode: poise.TopologyPack}, {Key: "rack", Mode: poise.TopologySpread, MaxSkew: 1},
	}).Draw(t, "topology")
	gang := gangTasks(one, size, rapid.SampledFrom([]int32{0, 0, size - 1, 1}).Draw(t, "min"), topology)
	if rapid.Bool().Draw(t, "roles") {
		other := drawTask(t, id, at, declares, true)
		for i := range rapid.IntRange(1, int(size)-1).Draw(t, "others") {
			gang[i].job.Request, gang[i].job.RunTime, gang[i].runs = other.job.Request, other.job.RunTime, other.runs
		}
	}
	empty := newPlant(t, 0, nodes...)
	empty.run(gang, at+1)
	if len(empty.started) == 0 {
		return []task{one}
	}
	return gang
}

// core gives the jobs of some tasks that start together.
func core(tasks []task) (ids []poise.JobID) {
	for i := range tasks {
		if g := tasks[i].job.Gang; g == nil || !g.Extra() {
			ids = append(ids, tasks[i].job.ID)
		}
	}
	return ids
}

// Every gang that fits on the empty nodes starts, as a whole, while others keep
// arriving and keep the fleet full, as TestWaitsAreBounded has it for single jobs. What
// waits already of another tenant may go before it.
func TestWaitsOfGangsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawRacks(t)
		p := newPlant(t, rapid.IntRange(1, 4).Draw(t, "reservations"), nodes...)
		tenants, backlog := []poise.TenantID{"t"}, poise.Time(0)
		if rapid.Bool().Draw(t, "two tenants") {
			tenants, backlog = append(tenants, "u"), 100_000
		}
		var arrivals []task
		for i := range 600 {
			small := cpuTask(fmt.Sprint("s", i), poise.Time(i)*500, 1, 0, 20_000)
			if rapid.IntRange(0, 9).Draw(t, "declares") > 4 {
				small.job.RunTime = 20_000
			}
			small.job.Tenant = rapid.SampledFrom(tenants).Draw(t, "tenant")
			arrivals = append(arrivals, small)
		}
		var watched [][]poise.JobID
		for i := range rapid.IntRange(1, 3).Draw(t, "watched") {
			gang := drawGang(t, nodes, fmt.Sprint("w", i), 10_000, false)
			for k := range gang {
				gang[k].job.Tenant, gang[k].job.Priority = "t", 10
			}
			arrivals, watched = append(arrivals, gang...), append(watched, core(gang))
		}
		p.run(byTime(arrivals), 300_000)
		for _, ids := range watched {
			limit := 10_000 + poise.Time(len(watched)*2*41_000) + backlog
			for _, id := range ids {
				if started, ok := p.started[id]; !ok || started > limit || started != p.started[ids[0]] {
					t.Fatalf("%s started at %d (%v), expected by %d and with %s\n%v", id, started, ok, limit, ids[0], p.log)
				}
			}
		}
	})
}

// With exact run times and nothing lost, no gang and no job starts later than it was
// ever told while something was kept for it, however many reservations there are, and
// all of them start.
func TestPromisesToGangsAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawRacks(t)
		p := newPlant(t, rapid.IntRange(1, 6).Draw(t, "reservations"), nodes...)
		var arrivals []task
		at := poise.Time(0)
		for i := range rapid.IntRange(1, 30).Draw(t, "jobs") {
			at += poise.Time(rapid.IntRange(0, 6000).Draw(t, "gap"))
			if rapid.Bool().Draw(t, "gang") {
				arrivals = append(arrivals, drawGang(t, nodes, fmt.Sprint("g", i), at, true)...)
			} else {
				arrivals = append(arrivals, drawTask(t, fmt.Sprint("j", i), at, true, true))
			}
		}
		p.run(slices.Clone(arrivals), 1<<40)
		for id, told := range p.told {
			if started, ok := p.started[id]; !ok || started > told {
				t.Fatalf("%s started at %d (%v), told %d\n%v", id, started, ok, told, p.log)
			}
		}
		for _, id := range core(arrivals) {
			if _, ok := p.started[id]; !ok {
				t.Fatalf("%s never started\n%v", id, p.log)
			}
		}
	})
}

// Where tasks end earlier than they declare, the first job or gang that waits for its
// time is told of it at once: it could not start earlier than it is told, wherever that
// is.
func TestEarlyEndsAreTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawRacks(t)
		p := newPlant(t, rapid.IntRange(1, 3).Draw(t, "reservations"), nodes...)
		var arrivals []task
		at := poise.Time(0)
		for i := range rapid.IntRange(1, 30).Draw(t, "jobs") {
			at += poise.Time(rapid.IntRange(0, 3000).Draw(t, "gap"))
			var more []task
			if rapid.IntRange(0, 3).Draw(t, "gang") == 0 {
				more = drawGang(t, nodes, fmt.Sprint("g", i), at, true)
			} else {
				more = []task{drawTask(t, fmt.Sprint("j", i), at, true, true)}
			}
			for k := range more {
				if r := &more[k].job.Request; r.Device.Count > 0 && more[k].job.Gang == nil && rapid.Bool().Draw(t, "no cpu") {
					r.Amounts = nil // its end frees no cpu, of which a node may have too little first
				}
				more[k].runs -= poise.Span(rapid.IntRange(0, int(more[k].runs/1000)-1).Draw(t, "earlier")) * 1000
			}
			arrivals = append(arrivals, more...)
		}
		p.passed = func() {
			view := p.loop.State().View()
			all := view.Reservations()
			if len(all) == 0 || all[0].Start <= p.now {
				return
			}
			j, w := p.loop.State().Job(all[0].Job), &Work{snap: view}
			if g := p.loop.waitsWith(j); g != nil {
				w.members = g.Core()
			}
			fresh := p.loop.reserved.clone()
			fresh.horizon = sched.NewHorizon()
			was := p.loop.reserved
			p.loop.reserved = fresh
			best, ok := p.loop.earliest(w, j, p.now, all[1:])
			p.loop.reserved = was
			if ok && best.At != 0 && best.At < all[0].Start {
				t.Fatalf("%d: %s is told %d and could start at %d on %v\n%v", p.now, j.ID, all[0].Start, best.At, best.nodes, p.log)
			}
		}
		p.run(arrivals, 1<<40)
	})
}

// keepsOff is a policy that refuses a node.
type keepsOff struct{ node string }

func (k keepsOff) Filter(b *state.Batch, reasons []poise.Reason) error {
	for i, row := range b.Rows {
		if reasons[i] = 0; b.Snap.Name(row) == k.node {
			reasons[i] = poise.NewPolicyReason(0, 1)
		}
	}
	return nil
}

// A gang that its policy keeps off a node that was kept for it has another one, and is
// not kept that one again; one that is not full is not kept for it at all.
func TestPolicyKeepsGangOffANode(t *testing.T) {
	f := func(fill bool, want ...string) {
		t.Helper()
		p := newPlant(t, 1, cpuNode("a", 2), cpuNode("b", 2), cpuNode("c", 2))
		var arrivals []task
		for i, name := range []string{"a", "b", "c"} {
			if name != "a" || fill {
				p.lasts[poise.JobID(name)] = poise.Span(1000 * (i + 1))
				p.apply(poise.JobSubmitted{Job: cpuTask(name, 0, 2, poise.Span(1000*(i+1)), 0).job})
				p.apply(poise.JobPlaced{Placement: poise.Placement{Job: poise.JobID(name), Node: name}})
				p.begun(poise.Placement{Job: poise.JobID(name), Node: name})
			}
		}
		p.loop.Open("", sched.Policy{Name: "picky", Scorer: spread(t), Filters: []sched.Filter{keepsOff{"a"}}, OnFailure: sched.Reject}, false)
		arrivals = gangTasks(cpuTask("g", 1, 2, 1000, 1000), 2, 0, nil)
		p.run(arrivals, 1<<40)
		if got := p.log[len(p.log)-len(want):]; !slices.Equal(got, want) {
			t.Errorf("%v, expected to end with %v", p.log, want)
		}
	}
	f(true, "1 g/0 has b a from 2000", "1000 g/0 has c b from 3000", "3000 g/0 on b", "3000 g/1 on c")
	f(false, "1 g/0 has c b from 3000", "3000 g/0 on b", "3000 g/1 on c")
}

// roles makes a gang of tasks that ask for so many cores each and all start together.
func roles(id string, at poise.Time, runs poise.Span, cores ...int64) []task {
	gang := gangTasks(cpuTask(id, at, cores[0], runs, runs), int32(len(cores)), 0, nil)
	for i := range gang {
		gang[i].job.Request = cpuTask(id, at, cores[i], runs, runs).job.Request
	}
	return gang
}

// B30, for a gang of which one task has room now where another, that asks for more, has
// its only place, and for one that fits on the empty nodes in one way only: endless
// small jobs that do not say how long they run starve neither.
func TestStreamStarvesNoRole(t *testing.T) {
	const sec = 1000
	f := func(nodes, cores []int64, want ...string) {
		t.Helper()
		var fleet []poise.Node
		for i, n := range nodes {
			fleet = append(fleet, cpuNode(string(rune('a'+i)), n))
		}
		p := newPlant(t, 1, fleet...)
		var arrivals []task
		for i := range 100 {
			arrivals = append(arrivals, cpuTask(fmt.Sprint("s", i), poise.Time(i*sec), 1, 0, 6*sec))
		}
		gang := roles("g", 10*sec, sec, cores...)
		for i := range gang {
			gang[i].job.Priority = 10
		}
		p.run(byTime(append(arrivals, gang...)), 100*sec)
		var got []string
		for _, line := range p.log {
			if strings.Contains(line, " g/") {
				got = append(got, line)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("nodes %d, tasks %d: %q, expected %q\n%v", nodes, cores, got, want, p.log)
		}
	}
	f([]int64{8, 2}, []int64{8, 1, 1}, "10000 g/0 has a b b from 0", "15000 g/0 on a", "15000 g/1 on b", "15000 g/2 on b")
	f([]int64{8, 2, 8}, []int64{8, 8, 1, 1}, "10000 g/0 has c a b b from 0", "15000 g/0 on a", "15000 g/1 on c", "15000 g/2 on b", "15000 g/3 on b")
	f([]int64{4, 6}, []int64{4, 3, 3}, "10000 g/0 has a b b from 0", "15000 g/0 on a", "15000 g/1 on b", "15000 g/2 on b")
	f([]int64{6, 4}, []int64{4, 3, 3}, "10000 g/0 has b a a from 0", "15000 g/0 on b", "15000 g/1 on a", "15000 g/2 on a")
}
