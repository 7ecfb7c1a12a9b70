package loop

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
)

// gang submits the members of a gang, and gives their ids.
func (d *driver) gang(tenant string, size, least int32, cpu int64, topology *poise.Topology) []poise.JobID {
	ids := make([]poise.JobID, size)
	for i := range ids {
		d.jobs++
		ids[i] = poise.JobID(fmt.Sprint("j", d.jobs))
	}
	for i, id := range ids {
		d.apply(poise.JobSubmitted{Job: poise.Job{
			ID: id, Name: "g", Tenant: poise.TenantID(tenant), Tasks: size, Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: cpu}}},
			Gang: &poise.Gang{ID: string(ids[0]), Size: size, Min: least, Index: int32(i), Topology: topology},
		}})
	}
	return ids
}

// running counts those that run.
func (d *driver) running(ids []poise.JobID) int {
	n := 0
	for _, id := range ids {
		if j := d.loop.State().Job(id); j != nil && !j.Waiting() {
			n++
		}
	}
	return n
}

// What was kept for a gang is for others once it starts, wherever it does: those that
// waited for nothing else are tried at once.
func TestGangGivesUpWhatWasKept(t *testing.T) {
	d := newDriver(t)
	d.join(2000)
	d.apply(poise.NodeMarked{Name: d.join(2000), Drained: true})
	waits := d.submit("here", 2000)
	members := d.gang("here", 2, 0, 1000, nil)
	d.apply(poise.ReservationMade{Job: members[0], Nodes: []string{"n1", "n1"}})
	if d.next(); d.running([]poise.JobID{waits}) != 0 {
		t.Fatal("a job takes what is kept for a gang")
	}
	d.apply(poise.GangPlaced{Placements: []poise.Placement{{Job: members[0], Node: "n2"}, {Job: members[1], Node: "n2"}}})
	if d.quiet(); d.running([]poise.JobID{waits}) != 1 {
		t.Error("a job waits for what is kept for a gang that runs")
	}
}

func (d *driver) allocated() (sum int64) {
	v := d.loop.State().View()
	for row := range uint32(v.Rows()) {
		if v.Present(row) {
			sum += v.Allocated(row, 0)
		}
	}
	return sum
}

// Field case B32: two gangs of 12 on 16 slots. The first runs, the second waits and
// holds nothing; once the first has ended, the second starts as a whole.
func TestTwoGangs(t *testing.T) {
	for _, tenant := range []string{"here", "away"} {
		d := newDriver(t)
		for range 4 {
			d.join(4000)
		}
		first, second := d.gang(tenant, 12, 0, 1000, nil), d.gang(tenant, 12, 0, 1000, nil)
		d.quiet()
		if d.running(first) != 12 || d.running(second) != 0 || d.allocated() != 12_000 {
			t.Fatalf("%s: %d and %d run, %d allocated, expected 12, 0 and 12000", tenant, d.running(first), d.running(second), d.allocated())
		}
		for _, id := range first {
			if d.running(second) != 0 && d.running(second) != 12 {
				t.Fatalf("%s: %d of the second gang run", tenant, d.running(second))
			}
			d.apply(poise.JobFinished{Job: id})
			d.quiet()
		}
		if d.running(second) != 12 || d.allocated() != 12_000 {
			t.Fatalf("%s: %d of the second gang run, expected 12", tenant, d.running(second))
		}
	}
}

// What is beyond the least of a gang comes after every other job of its tenant.
func TestExtrasComeLast(t *testing.T) {
	d := newDriver(t)
	d.join(4000)
	members := d.gang("here", 4, 2, 1000, nil)
	single := d.submit("here", 2000)
	d.quiet()
	if d.running(members[:2]) != 2 || d.running(members[2:]) != 0 || d.running([]poise.JobID{single}) != 1 {
		t.Fatalf("%d, %d and %d run, expected the first two members and the other job", d.running(members[:2]), d.running(members[2:]), d.running([]poise.JobID{single}))
	}
	d.apply(poise.JobFinished{Job: single})
	d.quiet()
	if d.running(members) != 4 {
		t.Fatalf("%d members run, expected 4", d.running(members))
	}
}

// A member that lost its node comes back by itself, into the domain of the others;
// a gang of which none runs any more starts as a whole.
func TestRequeuedMember(t *testing.T) {
	d := newDriver(t)
	rack := func(name, value string, cpu int64) {
		d.apply(poise.NodeJoined{Node: poise.Node{Name: name, Capacity: resource.List{{Name: "cpu", Value: cpu}}, Labels: []poise.Label{{Key: "rack", Value: value}}}})
	}
	rack("a1", "a", 1000)
	rack("a2", "a", 1000)
	rack("b1", "b", 1000)
	members := d.gang("here", 2, 0, 1000, &poise.Topology{Key: "rack", Mode: poise.TopologyPack})
	d.quiet()
	if d.running(members) != 2 {
		t.Fatalf("%d run, expected 2 in rack a", d.running(members))
	}
	lost := d.loop.State().Job(members[1]).Task().Node(d.loop.State().View())
	d.apply(poise.NodeMarked{Name: lost, Drained: true})
	d.apply(poise.JobRequeued{Job: members[1]})
	d.quiet()
	if d.running(members) != 1 {
		t.Fatal("the member went to another rack")
	}
	rack("a3", "a", 1000)
	d.quiet()
	if d.running(members) != 2 {
		t.Fatal("the member did not come back into the rack of the other")
	}
	d.apply(poise.JobRequeued{Job: members[0]})
	d.apply(poise.JobRequeued{Job: members[1]})
	d.apply(poise.NodeMarked{Name: "a3", Drained: true})
	d.quiet()
	if d.running(members) != 0 {
		t.Fatalf("%d of a gang run that has to start as a whole", d.running(members))
	}
}

// A gang never holds a part of what it asks for, none waits that fits, and what is
// allocated is what members and jobs hold, whatever happens in whatever order.
func TestGangs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t)
		d.join(4000)
		started := map[string]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			d.now += poise.Time(rapid.IntRange(0, 20_000).Draw(t, "passes"))
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				d.join(rapid.Int64Range(0, 4000).Draw(t, "cpu"))
			case 1:
				name := fmt.Sprint("n", rapid.IntRange(1, d.nodes).Draw(t, "marked"))
				if _, ok := d.loop.State().Row(name); ok {
					d.apply(poise.NodeMarked{Name: name, Drained: rapid.Bool().Draw(t, "drained")})
				}
			case 2, 3:
				id := poise.JobID(fmt.Sprint("j", rapid.IntRange(1, max(d.jobs, 1)).Draw(t, "job")))
				switch j := d.loop.State().Job(id); {
				case j == nil:
				case j.Waiting():
					d.apply(poise.JobWithdrawn{Job: id})
				case rapid.Bool().Draw(t, "requeued"):
					d.apply(poise.JobRequeued{Job: id})
				default:
					d.apply(poise.JobFinished{Job: id})
				}
			case 4:
				d.submit(rapid.SampledFrom([]string{"here", "away"}).Draw(t, "tenant"), rapid.Int64Range(0, 3000).Draw(t, "asks"))
			case 5, 6:
				size := rapid.Int32Range(2, 6).Draw(t, "size")
				d.gang(rapid.SampledFrom([]string{"here", "away"}).Draw(t, "tenant"), size, rapid.Int32Range(0, size).Draw(t, "least"), rapid.Int64Range(0, 2000).Draw(t, "each"), nil)
			case 7:
				d.land()
			default:
				d.next()
			}
			d.checkGangs(t, started)
		}
		d.quiet()
		d.checkGangs(t, started)
		s := d.loop.State()
		for _, g := range s.Gangs() {
			if !g.Ready() {
				continue
			}
			lane := d.loop.lanes[d.laneOf(string(g.Tenant))]
			plan, err := lane.pipeline.PlanGang(s.View(), g.Core(), sched.Pass{Detail: sched.Brief})
			if err != nil || plan.Members != nil {
				t.Fatalf("gang %s waits and fits (%v)", g.Spec.ID, err)
			}
		}
	})
}

// checkGangs checks that no gang holds anything before it has started, that one that
// starts does so with all that have to, and the sums.
func (d *driver) checkGangs(t *rapid.T, started map[string]bool) {
	s := d.loop.State()
	sum := int64(0)
	for _, j := range s.All() {
		if !j.Waiting() {
			cpu, _ := j.Shape.Request.Amounts.Find("cpu")
			sum += cpu
		}
	}
	if got := d.allocated(); got != sum {
		t.Fatalf("%d allocated, expected %d", got, sum)
	}
	for _, g := range s.Gangs() {
		running := g.Running()
		if !g.Started && len(running) > 0 {
			t.Fatalf("gang %s has not started, and %d run", g.Spec.ID, len(running))
		}
		if g.Started && !started[g.Spec.ID] && len(running) < int(g.Spec.Least()) {
			t.Fatalf("gang %s started with %d of %d", g.Spec.ID, len(running), g.Spec.Least())
		}
		started[g.Spec.ID] = g.Started
	}
}
