package sched

import (
	"fmt"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// roles submits a gang of different requests.
func (w *world) roles(topology *poise.Topology, jobs ...poise.Job) []*state.Job {
	w.t.Helper()
	members := make([]*state.Job, len(jobs))
	for i, j := range jobs {
		j.ID = poise.JobID(fmt.Sprint("r", i))
		j.Name, j.Tenant, j.Tasks = string(j.ID), "t", int32(len(jobs))
		j.Gang = &poise.Gang{ID: "r", Size: int32(len(jobs)), Index: int32(i), Topology: topology}
		w.apply(poise.JobSubmitted{Job: j})
		members[i] = w.state.Job(j.ID)
	}
	return members
}

// A gang of roles never fits only where that is certain: not where first fit in the
// order of planning fails and another order fits.
func TestRolesNeverFit(t *testing.T) {
	racked := func(n poise.Node, rack string) poise.Node {
		n.Labels = []poise.Label{{Key: "rack", Value: rack}}
		return n
	}
	on := func(j poise.Job, rack string) poise.Job {
		j.Selectors = []poise.Selector{{Key: "rack", Op: poise.In, Values: []string{rack}}}
		return j
	}
	f := func(want poise.Verdict, topology *poise.Topology, nodes []poise.Node, jobs ...poise.Job) {
		t.Helper()
		w := newWorld(t)
		w.join(nodes...)
		w.run(nodes[0].Name, job(1, 0)) // so that nothing fits now
		members := w.roles(topology, jobs...)
		plan, err := NewPipeline(idleBalance(t)).PlanGang(w.state.View(), members, Pass{Detail: Brief})
		if err != nil || plan.Decision.Verdict != want {
			t.Errorf("%v (%v), expected %v", plan.Decision.Verdict, err, want)
		}
	}
	two := []poise.Node{racked(node("a", 4, 8), "a"), racked(node("b", 4, 8), "b")}
	// First fit puts the first on a, which the second needs.
	f(poise.FitsNotNow, nil, two, job(4, 1), on(job(3, 1), "a"), job(1, 1))
	f(poise.NeverFits, nil, two, job(5, 1), job(1, 1))                   // one fits no node
	f(poise.NeverFits, nil, two, job(4, 1), job(4, 1), job(1, 1))        // 9 of 8 cores
	f(poise.NeverFits, nil, two, on(job(4, 1), "a"), on(job(1, 2), "c")) // no such rack
	f(poise.NeverFits, nil, two, ask(job(1, 1), "gpu", 1, poise.WholeDevice), job(1, 1))
	gpus := []poise.Node{withDevices(node("a", 4, 8), "gpu", "", 2), node("b", 4, 8)}
	f(poise.NeverFits, nil, gpus, ask(job(1, 1), "gpu", 2, poise.WholeDevice), ask(job(1, 1), "gpu", 1, 500))
	f(poise.FitsNotNow, nil, gpus, ask(job(2, 1), "gpu", 1, poise.WholeDevice), ask(job(2, 1), "gpu", 1, 500))
	pack := &poise.Topology{Key: "rack", Mode: poise.TopologyPack}
	f(poise.NeverFits, pack, two, job(3, 1), job(2, 1)) // 5 of the 4 cores of a rack
	f(poise.FitsNotNow, pack, two[:1], job(3, 1), job(1, 1))
	f(poise.NeverFits, nil, two, job(4, 1), job(4, 1), job(4, 1)) // equal ones, as ever
}
