package loop

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
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
