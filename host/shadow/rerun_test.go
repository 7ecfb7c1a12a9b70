package shadow

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// toward ranks nodes by name, the last one first if down.
type toward struct{ down bool }

func (p toward) Score(b *state.Batch, loss []float64, devices []uint32) error {
	for i, row := range b.Rows {
		loss[i], devices[i] = float64(b.Snap.Name(row)[1]-'0'), 0
		if p.down {
			loss[i] = -loss[i]
		}
	}
	return nil
}

// pipes plans as a daemon does, without quotas.
type pipes struct{ p *sched.Pipeline }

func (p pipes) pass(s *state.State, j *state.Job) sched.Pass {
	if s.Alone(j) && j.Gang != nil && j.Gang.Topology != nil {
		return sched.Pass{Bars: []sched.Bar{sched.Beside(s.View(), j, s.Beside(j))}}
	}
	return sched.Pass{}
}

func (p pipes) Plan(s *state.State, j *state.Job) (poise.Decision, error) {
	return p.p.Plan(s.View(), j, p.pass(s, j))
}

func (p pipes) PlanGang(s *state.State, members []*state.Job) (sched.GangPlan, error) {
	return p.p.PlanGang(s.View(), members, p.pass(s, members[0]))
}

func planner(down bool) Planner {
	return pipes{sched.NewPipeline(sched.Policy{Name: "toward", Scorer: toward{down}})}
}

func fresh(t interface{ Fatal(...any) }) *state.State {
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func follow(r *Rerun, live *state.State, ev poise.Event) error {
	if err := live.Apply(ev); err != nil {
		return err
	}
	return r.Follow(ev)
}

func submitted(id string, tenant poise.TenantID, cpu int64) poise.JobSubmitted {
	return poise.JobSubmitted{Job: poise.Job{
		ID: poise.JobID(id), Name: id, Tenant: tenant, Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: cpu}}},
	}}
}

func joined(i, cpu int) poise.NodeJoined {
	return poise.NodeJoined{Node: poise.Node{Name: fmt.Sprint("n", i), Cluster: "c", Capacity: resource.List{{Name: "cpu", Value: int64(cpu)}}}}
}

// A tenant's jobs move, the others' stay where they can, and who was in the way
// goes elsewhere.
func TestRerun(t *testing.T) {
	fact := fresh(t)
	r := NewRerun(fact, fresh(t), func(id poise.TenantID) bool { return id == "mine" }, planner(true), planner(false))
	index := uint64(0)
	apply := func(body poise.Body) {
		t.Helper()
		index++
		if err := follow(r, fact, poise.Event{Index: index, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	place := func(id, node string) {
		t.Helper()
		apply(poise.JobPlaced{Placement: poise.Placement{Job: poise.JobID(id), Node: node}})
	}
	for i := range 3 {
		apply(joined(i, 1000))
	}
	apply(submitted("a", "mine", 1000))
	apply(submitted("b", "other", 600))
	apply(submitted("c", "mine", 600))
	apply(submitted("d", "mine", 900)) // waits in fact
	place("a", "n0")                   // n2 here
	place("b", "n2")                   // in its way: n0
	place("c", "n1")                   // the same
	live, would, moves, err := r.Finish(0)
	if err != nil {
		t.Fatal(err)
	}
	if moves != (Moves{Decided: 2, Moved: 1, Displaced: 1}) {
		t.Errorf("%+v", moves)
	}
	if live.Fill["cpu"] != 2200.0/3000 || would.Fill["cpu"] != live.Fill["cpu"] || live.Balance != 1 {
		t.Errorf("%+v and %+v", live, would)
	}
	// The end of a job is the end of it here too, and what waited gets its place.
	apply(poise.JobFinished{Job: "a"})
	if _, would, moves, err = r.Finish(0); err != nil || moves.Placed != 1 || would.Fill["cpu"] != 2100.0/3000 {
		t.Errorf("%+v, %+v, %v", would, moves, err)
	}
	apply(poise.NodeLeft{Name: "n1"})
	if _, _, moves, err = r.Finish(0); err != nil || moves.Waiting != 1 {
		t.Errorf("%+v, %v, expected c to wait", moves, err)
	}
}

// Whatever happens, both states hold together: a rerun never fails on events
// that are in order, and a shadow that decides alike leads to the same fleet.
func TestRerunProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		same := rapid.Bool().Draw(t, "same")
		live := fresh(t)
		decide := planner(false)
		r := NewRerun(live, fresh(t), func(id poise.TenantID) bool { return id == "mine" }, planner(!same), planner(false))
		index := uint64(0)
		apply := func(body poise.Body) {
			index++
			if err := follow(r, live, poise.Event{Index: index, Body: body}); err != nil {
				t.Fatal(err)
			}
		}
		nodes := map[string]bool{}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			waiting := live.Waiting()
			placed := live.All()
			for k := 0; k < len(placed); k++ {
				if placed[k].Waiting() {
					placed = append(placed[:k], placed[k+1:]...)
					k--
				}
			}
			switch n := rapid.IntRange(0, 9).Draw(t, "step"); {
			case n < 2 && len(nodes) < 9:
				name := fmt.Sprint("n", i%9)
				if !nodes[name] {
					nodes[name] = true
					apply(joined(i%9, 1000*rapid.IntRange(1, 4).Draw(t, "cpu")))
				}
			case n < 5:
				tenant := rapid.SampledFrom([]poise.TenantID{"mine", "other"}).Draw(t, "tenant")
				s := submitted(fmt.Sprint("j", i), tenant, int64(500*rapid.IntRange(1, 4).Draw(t, "ask")))
				if len(waiting) > 0 && rapid.IntRange(0, 3).Draw(t, "after") == 0 {
					s.Job.After = []poise.JobID{waiting[0].ID}
				}
				apply(s)
			case n == 5 && len(waiting) > 0:
				j := rapid.SampledFrom(waiting).Draw(t, "held")
				if j.Held == "" {
					apply(poise.JobHeld{Job: j.ID, By: "ann"})
				} else {
					apply(poise.JobReleased{Job: j.ID})
				}
			case n < 8 && len(waiting) > 0 && !waiting[0].Blocked():
				d, err := decide.Plan(live, waiting[0])
				if err != nil {
					t.Fatal(err)
				}
				if d.Verdict == poise.Placed {
					apply(poise.JobPlaced{Placement: poise.Placement{Job: d.Job, Node: d.Node}})
				}
			case n == 8 && len(placed) > 0:
				if rapid.Bool().Draw(t, "requeue") {
					apply(poise.JobRequeued{Job: placed[0].ID})
				} else {
					apply(poise.JobFinished{Job: placed[0].ID})
				}
			case n == 9 && len(nodes) > 1 && len(placed) > 0:
				row, _ := live.Row(fmt.Sprint("n", i%9))
				if !nodes[fmt.Sprint("n", i%9)] {
					continue
				}
				for l := live.View().Tasks(row); l != nil; l = l.Next {
					apply(poise.JobRequeued{Job: l.Task.Job})
				}
				delete(nodes, fmt.Sprint("n", i%9))
				apply(poise.NodeLeft{Name: fmt.Sprint("n", i%9)})
			}
			if same {
				a, b := live.View(), r.would.View()
				for row := range uint32(a.Rows()) {
					if a.Present(row) && a.Allocated(row, 0) != b.Allocated(row, 0) {
						t.Fatalf("node %s: %d, and %d in fact", a.Name(row), b.Allocated(row, 0), a.Allocated(row, 0))
					}
				}
			}
		}
		if _, _, _, err := r.Finish(0); err != nil {
			t.Fatal(err)
		}
	})
}

// Devices are stranded where no request of the time fits beside them.
func TestMeasure(t *testing.T) {
	s := fresh(t)
	node := joined(0, 4000)
	node.Node.Devices = poise.Devices{Kind: "gpu", Count: 4}
	job := submitted("a", "mine", 3500)
	job.Job.Request.Device = poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: poise.WholeDevice}
	for i, body := range []poise.Body{node, job, poise.JobPlaced{Placement: poise.Placement{Job: "a", Node: "n0", Devices: []uint16{0}}}} {
		if err := s.Apply(poise.Event{Index: uint64(i + 1), Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Measure(s.View(), []poise.Request{job.Job.Request})
	if err != nil || f.Stranded != 3 || f.Fill["gpu"] != 0.25 || f.Fill["cpu"] != 0.875 || f.Balance >= 1 {
		t.Errorf("%+v, %v", f, err)
	}
	small := job.Job.Request
	small.Amounts = resource.List{{Name: "cpu", Value: 500}}
	if f, _ = Measure(s.View(), []poise.Request{small}); f.Stranded != 0 {
		t.Errorf("%+v, expected none stranded", f)
	}
}
