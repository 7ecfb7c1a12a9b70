package loop

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// Jobs that a task's end gives no room are not tried, and what is decided is what
// is decided where every job is tried after every event.
func TestRoomSkipsVainAttemptsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type way struct {
			loop   *Loop
			all    bool // every job is tried
			placed []string
			tried  int
			jobs   []poise.JobID // running
		}
		ways := []*way{{}, {all: true}}
		for _, w := range ways {
			s, err := state.New(state.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			if w.loop, err = New(s, Settings{Queue: queue.Defaults(), Params: balance.Defaults(), LaneOf: func(poise.TenantID) string { return "" }}); err != nil {
				t.Fatal(err)
			}
			w.loop.Open("", sched.Policy{Name: "spread", Scorer: spread(t)}, false)
		}
		now := poise.Time(0)
		do := func(w *way, body poise.Body) {
			if err := w.loop.Apply(poise.Event{Index: w.loop.State().Index() + 1, At: now, Body: body}); err != nil {
				t.Fatal(err)
			}
		}
		decide := func(w *way) {
			if w.all {
				for _, of := range w.loop.lists {
					of.queue.TryAll()
				}
				w.loop.round.valid = false
			}
			for {
				work := w.loop.Next(now)
				if work == nil {
					return
				}
				w.tried++
				work.Plan(sched.Brief)
				settled, err := w.loop.Settle(work, now, sched.Brief)
				if err != nil {
					t.Fatal(err)
				}
				if d := &settled.Decision; d.Verdict == poise.Placed {
					w.placed = append(w.placed, fmt.Sprint(d.Job, d.Node, d.Devices))
					w.jobs = append(w.jobs, d.Job)
					do(w, poise.JobPlaced{Placement: poise.Placement{Job: d.Job, Node: d.Node, Devices: d.Devices}})
				}
			}
		}
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		for i := range nodes {
			node := poise.NodeJoined{Node: poise.Node{
				Name: fmt.Sprint("n", i), Capacity: resource.List{{Name: "cpu", Value: 8}}, Devices: poise.Devices{Kind: "gpu", Count: 2},
			}}
			for _, w := range ways {
				do(w, node)
			}
		}
		for i := range rapid.IntRange(1, 60).Draw(t, "events") {
			now += 100
			var body poise.Body
			running := ways[0].jobs
			switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
			case kind < 5 || len(running) == 0:
				j := poise.Job{ID: poise.JobID(fmt.Sprint("j", i)), Name: "j", Tasks: 1, Tenant: rapid.SampledFrom([]poise.TenantID{"a", "b", "c"}).Draw(t, "tenant")}
				j.Request.Amounts = resource.List{{Name: "cpu", Value: rapid.Int64Range(1, 8).Draw(t, "cpu")}}
				if rapid.Bool().Draw(t, "gpu") {
					j.Request.Device = poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: rapid.SampledFrom([]int32{300, 500, 1000}).Draw(t, "milli")}
				}
				body = poise.JobSubmitted{Job: j}
			case kind < 9:
				at := rapid.IntRange(0, len(running)-1).Draw(t, "ends")
				body = poise.JobFinished{Job: running[at]}
				if kind == 8 {
					body = poise.JobRequeued{Job: running[at]}
				}
				for _, w := range ways {
					w.jobs = slices.Delete(w.jobs, at, at+1)
				}
			default:
				body = poise.NodeMarked{Name: fmt.Sprint("n", rapid.IntRange(0, nodes-1).Draw(t, "node")), Drained: rapid.Bool().Draw(t, "drained")}
			}
			for _, w := range ways {
				do(w, body)
			}
			if rapid.Bool().Draw(t, "decide now") {
				for _, w := range ways {
					decide(w)
				}
				if !slices.Equal(ways[0].placed, ways[1].placed) {
					t.Fatalf("at event %d placed %v, expected %v", i, ways[0].placed, ways[1].placed)
				}
			}
		}
		for _, w := range ways {
			decide(w)
		}
		if !slices.Equal(ways[0].placed, ways[1].placed) {
			t.Fatalf("placed %v, expected %v", ways[0].placed, ways[1].placed)
		}
		if ways[0].tried > ways[1].tried {
			t.Fatalf("%d attempts, %d where every job is tried", ways[0].tried, ways[1].tried)
		}
	})
}
