package sched

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

func nowhere(uint32) bool { return false }

// What a Horizon has kept changes no answer: it is that of one that knows nothing,
// whatever happened on the rows and however much time has passed.
func TestHorizonIsAFreshOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for i := range rapid.IntRange(1, 12).Draw(t, "nodes") {
			w.join(drawNode(t, fmt.Sprint("n", i)))
		}
		h, p := NewHorizon(), NewPipeline(drawPolicy(t))
		now := poise.Time(1)
		at := func(body poise.Body) {
			if err := w.state.Apply(poise.Event{Index: w.state.Index() + 1, At: now, Body: body}); err != nil {
				t.Fatal(err)
			}
		}
		var running, waiting []poise.JobID
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				j := drawJob(t)
				j.RunTime = poise.Span(rapid.SampledFrom([]int{0, 10, 1000, 60_000}).Draw(t, "run time"))
				id := w.submit(j).ID
				d := mustPlan(t, p, w.state.View(), w.state.Job(id))
				if d.Verdict != poise.Placed {
					waiting = append(waiting, id)
					return
				}
				at(poise.JobPlaced{Placement: poise.Placement{Job: id, Node: d.Node, Devices: d.Devices}})
				running = append(running, id)
			},
			"end": func(t *rapid.T) {
				if len(running) == 0 {
					t.Skip("none runs")
				}
				at(poise.JobFinished{Job: running[0]})
				running = running[1:]
			},
			"reserve": func(t *rapid.T) {
				if len(waiting) == 0 {
					t.Skip("none waits")
				}
				id := rapid.SampledFrom(waiting).Draw(t, "job")
				if s, ok := h.Earliest(w.state.View(), w.state.Job(id), now, nil, nowhere); ok {
					at(poise.ReservationMade{Job: id, Nodes: []string{w.state.View().Name(s.Row)}, Start: s.At})
				}
			},
			"wait": func(t *rapid.T) { now += poise.Time(rapid.SampledFrom([]int{1, 9, 1000, 30_000}).Draw(t, "wait")) },
			"": func(t *rapid.T) {
				for _, id := range waiting {
					view, j := w.state.View(), w.state.Job(id)
					got, ok := h.Earliest(view, j, now, view.Reservations(), nowhere)
					want, known := NewHorizon().Earliest(view, j, now, view.Reservations(), nowhere)
					if got != want || ok != known {
						t.Fatalf("%s at %d: %+v %v, expected %+v %v", id, now, got, ok, want, known)
					}
				}
			},
		})
	})
}

// BenchmarkHorizon asks where a large job could start on a full fleet, after a
// task has ended and another begun.
func BenchmarkHorizon(b *testing.B) {
	for _, nodes := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			w := newWorld(b)
			small := job(4, 8)
			var ids []poise.JobID
			for i := range nodes {
				w.join(node(fmt.Sprintf("n%06d", i), 8, 16))
				small.ID, small.RunTime = "", poise.Span(1_000_000+i)
				ids = append(ids, w.run(fmt.Sprintf("n%06d", i), small).ID)
			}
			large := w.submit(job(8, 16))
			h := NewHorizon()
			ask := func(view *state.Snapshot) {
				if _, ok := h.Earliest(view, large, 1, nil, nowhere); !ok {
					b.Fatal("no node")
				}
			}
			ask(w.state.View())
			b.ResetTimer()
			for i := range b.N {
				b.StopTimer()
				n := i % nodes
				w.apply(poise.JobFinished{Job: ids[n]})
				small.ID = ""
				ids[n] = w.run(fmt.Sprintf("n%06d", n), small).ID
				view := w.state.View()
				b.StartTimer()
				ask(view)
			}
		})
	}
}
