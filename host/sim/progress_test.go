package sim

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/preempt"
	"github.com/poise-sched/poise/host/resource"
)

// drawGangs draws nodes with cpu alone, and jobs and gangs that each fit them while they are
// empty: all members ask for the same, so they do if as many of that fit.
func drawGangs(t *rapid.T) (nodes []poise.Node, arrivals []Arrival) {
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		nodes = append(nodes, poise.Node{
			Name: fmt.Sprint("n", i), Capacity: resource.List{{Name: "cpu", Value: rapid.Int64Range(1, 8).Draw(t, "node cpu")}},
		})
	}
	for i := range rapid.IntRange(1, 14).Draw(t, "jobs") {
		cpu := rapid.Int64Range(1, 8).Draw(t, "cpu")
		room := int32(0)
		for _, n := range nodes {
			room += int32(n.Capacity[0].Value / cpu)
		}
		if room == 0 {
			continue
		}
		one := Arrival{At: poise.Time(rapid.IntRange(0, 20).Draw(t, "at")) * second, Job: poise.Job{
			ID: poise.JobID(fmt.Sprint("j", i)), Name: fmt.Sprint("j", i), Tasks: 1,
			Tenant: rapid.SampledFrom([]poise.TenantID{"t", "u", "v"}).Draw(t, "tenant"), Priority: rapid.Int32Range(0, 2).Draw(t, "priority"),
			RunTime: poise.Span(rapid.IntRange(1, 40).Draw(t, "run time")) * second,
			Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: cpu}}},
		}}
		least := rapid.Int32Range(0, min(room, 5)).Draw(t, "start together")
		size := least + rapid.Int32Range(0, 2).Draw(t, "more")
		if least == 0 || size < 2 {
			arrivals = append(arrivals, one)
			continue
		}
		for k := range size {
			member := one
			member.Job.ID, member.Job.Tasks = poise.JobID(fmt.Sprintf("j%d-%d", i, k)), size
			member.Job.Gang = &poise.Gang{ID: one.Job.Name, Size: size, Min: least, Index: k}
			arrivals = append(arrivals, member)
		}
	}
	return nodes, arrivals
}

// Whatever keeps room, whoever gives way: jobs and gangs that fit all run to their end,
// so no two wait for each other for ever; a gang starts with all that start together
// or with none; and no jobs displace each other in a circle.
func TestAllGetOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, arrivals := drawGangs(t)
		if len(arrivals) == 0 {
			t.Skip("nothing fits")
		}
		c := configOf(t, unprotected, nil)
		c.Reservations, c.Patience = rapid.IntRange(0, 4).Draw(t, "reservations"), poise.Span(rapid.IntRange(0, 5).Draw(t, "patience"))*second
		for _, id := range []poise.TenantID{"t", "u", "v"} {
			c.Tenants = append(c.Tenants, poise.Tenant{ID: id, Quotas: []poise.Quota{{Resource: "cpu", Guaranteed: rapid.Int64Range(0, 6).Draw(t, "guaranteed")}}})
		}
		if rapid.Bool().Draw(t, "preemption") {
			c.Preempt = &preempt.Settings{
				Priority: rapid.Bool().Draw(t, "by priority"), Reclaim: rapid.Bool().Draw(t, "by guarantee"),
				Grace: poise.Span(rapid.IntRange(0, 3).Draw(t, "grace")) * second, Cooldown: 5 * second, Patience: c.Patience, Hold: 2 * second,
			}
		}
		waiting, running := map[string]int32{}, map[string]int32{}
		gangs := map[poise.JobID]*poise.Gang{}
		var events []string
		c.Record = func(ev poise.Event) {
			events = append(events, fmt.Sprintf("%d %T %+v", ev.At, ev.Body, ev.Body))
			switch b := ev.Body.(type) {
			case poise.JobSubmitted:
				if b.Job.Gang != nil {
					gangs[b.Job.ID] = b.Job.Gang
					waiting[b.Job.Gang.ID]++
				}
			case poise.GangPlaced:
				g := gangs[b.Placements[0].Job]
				if len(b.Placements) < int(g.Least()) || waiting[g.ID] != g.Size || running[g.ID] != 0 {
					t.Fatalf("gang %s starts with %d of %d, %d wait and %d run", g.ID, len(b.Placements), g.Least(), waiting[g.ID], running[g.ID])
				}
				waiting[g.ID] -= int32(len(b.Placements))
				running[g.ID] += int32(len(b.Placements))
			case poise.JobPlaced:
				if g := gangs[b.Placement.Job]; g != nil {
					if waiting[g.ID] == g.Size {
						t.Fatalf("member %s of gang %s starts by itself", b.Placement.Job, g.ID)
					}
					waiting[g.ID]--
					running[g.ID]++
				}
			case poise.JobRequeued:
				if g := gangs[b.Job]; g != nil {
					waiting[g.ID]++
					running[g.ID]--
				}
			case poise.JobFinished:
				if g := gangs[b.Job]; g != nil {
					running[g.ID]--
				}
			}
		}
		// A replay ends when the last has come: one that nothing can hold, long after.
		end := poise.Span(20 * second)
		for i := range arrivals {
			end += 20 * arrivals[i].Job.RunTime
		}
		last := Arrival{At: poise.Time(end), Job: poise.Job{ID: "last", Name: "last", Tenant: "t", Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "nothing", Value: 1}}}}}
		r := replayed(t, c, nodes, append(arrivals, last))
		if r.Replay.Pending != 1 {
			t.Fatalf("%d wait for ever\n%s", r.Replay.Pending-1, strings.Join(events, "\n"))
		}
		if r.Replay.Circles != 0 {
			t.Fatalf("%d circles of jobs that displaced each other", r.Replay.Circles)
		}
	})
}
