package shadow

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// gangPlan is one by which the members of a gang go to the nodes, in the order in
// which they are placed; "" is none for that member and so for all.
func gangPlan(nodes ...string) *sched.GangPlan {
	plan := &sched.GangPlan{Members: make([]poise.Decision, len(nodes))}
	for i, n := range nodes {
		d := decision([]string{n, "z"}, 1, 2)
		d.Job = poise.JobID(fmt.Sprint("g", i))
		d.Gang = &poise.GangPart{ID: "g", Index: int32(i), Size: int32(len(nodes)), Min: int32(len(nodes)), Fitted: int32(len(nodes) - 1 - i)}
		if n == "" {
			d.Verdict, d.Node, d.Ranked, d.Job = poise.FitsNotNow, "", nil, "g0"
			d.Refused = []poise.ReasonCount{{Code: poise.IdleShort, Dim: "cpu", Nodes: 3}}
			return &sched.GangPlan{Decision: *d}
		}
		plan.Members[i] = *d
	}
	plan.Decision = plan.Members[0]
	return plan
}

// A gang that differs is one difference, with the members that go elsewhere, and the
// losses are of the first in the order of placing.
func TestGangDifference(t *testing.T) {
	f := func(live, would *sched.GangPlan, job poise.JobID, differ int32, first string) *Tally {
		t.Helper()
		tally := &Tally{}
		tally.Add(&Compared{Index: 3, Name: "g", Live: live, Would: would})
		if differ == 0 {
			if tally.Agreed != 1 || len(tally.Latest) != 0 {
				t.Errorf("%+v, expected the same", tally)
			}
			return tally
		}
		if tally.Decisions != 1 || tally.Agreed != 0 || len(tally.Latest) != 1 || len(tally.Cases) != 0 {
			t.Fatalf("%+v, expected one difference, and no case", tally)
		}
		d := tally.Latest[0]
		if d.Gang == nil || d.Job != job || d.Gang.Differ != differ || len(d.Gang.Members) != int(min(differ, maxMembers)) {
			t.Fatalf("%+v %+v, expected %d members to differ, and to be compared by %s", d, d.Gang, differ, job)
		}
		if m := d.Gang.Members[0]; fmt.Sprint(m.Job, " ", m.Live.Node, "/", m.Would.Node, m.Would.Reason) != first {
			t.Errorf("%+v, expected %s first", m, first)
		}
		return tally
	}
	f(gangPlan("a", "b", "c"), gangPlan("a", "b", "c"), "", 0, "")
	f(gangPlan("a", "b", "c"), gangPlan("a", "c", "b"), "g2", 2, "g1 b/c")
	f(gangPlan("a", "b", "c"), gangPlan("x", "b", "c"), "g0", 1, "g0 a/x")
	// Who starts it is compared by the member that has no place, and all differ.
	tally := f(gangPlan("a", "b", "c"), gangPlan("a", ""), "g1", 3, "g0 a/not enough idle: cpu; gang of 2: 0 of the 2 that start together fit, then task 1 did not")
	if tally.SameVerdict != 0 || tally.Latest[0].LiveOnLive.Loss == nil {
		t.Errorf("%+v", tally.Latest[0])
	}
	f(gangPlan("a", ""), gangPlan("a", "b"), "g1", 2, "g0 /a")
	f(gangPlan("a", ""), gangPlan("a", ""), "", 0, "")
	many, others := make([]string, 100), make([]string, 100)
	for i := range many {
		many[i], others[i] = "a", "b"
	}
	f(gangPlan(many...), gangPlan(others...), "g99", 100, "g0 a/b")
}

// gangOf submits the members of a gang.
func gangOf(id string, tenant poise.TenantID, size, least int32, cpu int64, topology *poise.Topology) []poise.JobSubmitted {
	var all []poise.JobSubmitted
	for i := range size {
		s := submitted(fmt.Sprintf("%s-%d", id, i), tenant, cpu)
		s.Job.Tasks, s.Job.Gang = size, &poise.Gang{ID: id, Size: size, Min: least, Index: i, Topology: topology}
		all = append(all, s)
	}
	return all
}

func racked(i, cpu int, rack string) poise.NodeJoined {
	n := joined(i, cpu)
	n.Node.Labels = []poise.Label{{Key: "rack", Value: rack}}
	return n
}

// A rerun keeps a gang together where its topology says so, and starts all or none.
func TestRerunTopology(t *testing.T) {
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
	// The shadow likes the last node best, which stands alone in its rack: without the
	// topology one member would go there.
	apply(racked(0, 2000, "r1"))
	apply(racked(1, 2000, "r2"))
	apply(racked(2, 2000, "r2"))
	apply(racked(3, 2000, "r3"))
	for _, s := range gangOf("g", "mine", 3, 2, 2000, &poise.Topology{Key: "rack", Mode: poise.TopologyPack}) {
		apply(s)
	}
	for _, s := range gangOf("s", "mine", 2, 2, 500, &poise.Topology{Key: "rack", Mode: poise.TopologySpread, MaxSkew: 1}) {
		apply(s)
	}
	apply(poise.GangPlaced{Placements: []poise.Placement{{Job: "g-0", Node: "n1"}, {Job: "g-1", Node: "n2"}}})
	on := func(id string) string { return r.nodeOf(poise.JobID(id)) }
	if on("g-0") != "n2" || on("g-1") != "n1" {
		t.Errorf("on %q and %q, expected rack r2", on("g-0"), on("g-1"))
	}
	apply(poise.GangPlaced{Placements: []poise.Placement{{Job: "s-0", Node: "n0"}, {Job: "s-1", Node: "n3"}}})
	if on("s-0") != "n3" || on("s-1") != "n0" {
		t.Errorf("on %q and %q, expected two racks", on("s-0"), on("s-1"))
	}
	if r.moves != (Moves{Decided: 4, Moved: 4}) {
		t.Errorf("%+v", r.moves)
	}
	// The extra member waits: its rack is full here as in fact.
	if _, _, moves, err := r.Finish(0); err != nil || moves.Placed != 0 {
		t.Errorf("%+v, %v", moves, err)
	}
	apply(poise.JobFinished{Job: "g-0"})
	if _, _, moves, err := r.Finish(0); err != nil || moves.Placed != 1 || on("g-2") != "n2" {
		t.Errorf("%+v, %v, expected the extra member on n2: %q", moves, err, on("g-2"))
	}
	// A gang that waits in fact is all of its members here.
	for _, s := range gangOf("w", "mine", 2, 2, 1000, nil) {
		apply(s)
	}
	if _, _, moves, err := r.Finish(0); err != nil || moves.Placed != 3 {
		t.Errorf("%+v, %v, expected two more", moves, err)
	}
}

// Whatever gangs come, start, end, and lose members, a rerun never fails, keeps every
// packed gang in one domain, and leads to the fleet as it is where the shadow
// decides alike.
func TestRerunGangsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alike := rapid.Bool().Draw(t, "alike")
		live := fresh(t)
		decide := planner(false)
		r := NewRerun(live, fresh(t), func(id poise.TenantID) bool { return id == "mine" }, planner(!alike), planner(false))
		index := uint64(0)
		apply := func(body poise.Body) {
			index++
			if err := follow(r, live, poise.Event{Index: index, Body: body}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 6 {
			apply(racked(i, 1000*rapid.IntRange(1, 4).Draw(t, "cpu"), fmt.Sprint("r", i%3)))
		}
		pack := &poise.Topology{Key: "rack", Mode: poise.TopologyPack}
		spread := &poise.Topology{Key: "rack", Mode: poise.TopologySpread, MaxSkew: 2}
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				size := int32(rapid.IntRange(2, 4).Draw(t, "size"))
				for _, s := range gangOf(fmt.Sprint("g", i), rapid.SampledFrom([]poise.TenantID{"mine", "other"}).Draw(t, "tenant"),
					size, int32(rapid.IntRange(1, int(size)).Draw(t, "least")), int64(500*rapid.IntRange(1, 3).Draw(t, "ask")),
					rapid.SampledFrom([]*poise.Topology{nil, pack, spread}).Draw(t, "topology")) {
					apply(s)
				}
			case 2, 3: // whoever waits is tried
				waiting := live.Waiting()
				if len(waiting) == 0 {
					continue
				}
				j := rapid.SampledFrom(waiting).Draw(t, "tried")
				if live.Alone(j) {
					d, err := decide.Plan(live, j)
					if err != nil {
						t.Fatal(err)
					}
					if d.Verdict == poise.Placed {
						apply(poise.JobPlaced{Placement: poise.Placement{Job: d.Job, Node: d.Node}})
					}
					continue
				}
				plan, err := decide.PlanGang(live, live.GangOf(j).Core())
				if err != nil {
					t.Fatal(err)
				}
				var body poise.GangPlaced
				for k := range plan.Members {
					body.Placements = append(body.Placements, poise.Placement{Job: plan.Members[k].Job, Node: plan.Members[k].Node})
				}
				if body.Placements != nil {
					apply(body)
				}
			case 4:
				var running []*state.Job
				for _, j := range live.All() {
					if !j.Waiting() {
						running = append(running, j)
					}
				}
				if len(running) == 0 {
					continue
				}
				j := rapid.SampledFrom(running).Draw(t, "ended")
				if rapid.Bool().Draw(t, "requeue") {
					apply(poise.JobRequeued{Job: j.ID})
				} else {
					apply(poise.JobFinished{Job: j.ID})
				}
			}
			a, b := live.View(), r.would.View()
			for row := range uint32(a.Rows()) {
				if alike && a.Allocated(row, 0) != b.Allocated(row, 0) {
					t.Fatalf("node %s: %d, and %d in fact", a.Name(row), b.Allocated(row, 0), a.Allocated(row, 0))
				}
			}
			for _, g := range r.would.Gangs() {
				if g.Spec.Topology != pack {
					continue
				}
				racks := map[string]bool{}
				for _, m := range g.Running() {
					row, _ := m.Task().Row(b)
					racks[b.Labels(row)[0].Value] = true
				}
				if len(racks) > 1 {
					t.Fatalf("gang %s is in racks %v", g.Spec.ID, racks)
				}
			}
		}
		if _, _, _, err := r.Finish(0); err != nil {
			t.Fatal(err)
		}
	})
}
