package sched

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
	"pgregory.net/rapid"
)

// Nodes and jobs come in few kinds, so that many nodes are in the same state
// and many losses are equal.
func drawNode(t *rapid.T, name string) poise.Node {
	var n poise.Node
	switch rapid.IntRange(0, 6).Draw(t, "node kind") {
	case 0, 1:
		n = node(name, 4, 8)
	case 2:
		n = withDevices(node(name, 8, 16), "gpu", "V100", 2)
	case 3:
		n = withDevices(node(name, 8, 16), "gpu", "T4", 3)
		n.Devices.Exclusive = rapid.Bool().Draw(t, "exclusive")
	case 4:
		n = withDevices(node(name, 4, 4), "npu", "", 4)
	case 5:
		n = node(name, 4, 8)
		n.Capacity = slices.Insert(n.Capacity, 1, resource.Amount{Name: "fpga", Value: 2000})
	case 6:
		n = node(name, 0, 0) // B15
	}
	if zone := rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "zone"); zone != "" {
		n.Labels = []poise.Label{{Key: "zone", Value: zone}}
	}
	if rapid.IntRange(0, 7).Draw(t, "taint") == 0 {
		n.Taints = []poise.Taint{{Key: "spot", Effect: poise.NoSchedule}}
	}
	return n
}

func drawJob(t *rapid.T) poise.Job {
	fpga := job(1, 0)
	fpga.Request.Amounts = append(fpga.Request.Amounts, resource.Amount{Name: "fpga", Value: 1000})
	qpu := job(0, 0)
	qpu.Request.Amounts = resource.List{{Name: "fpga", Value: 0}, {Name: "qpu", Value: 1}}
	zone := job(1, 1)
	zone.Selectors = []poise.Selector{{Key: "zone", Op: poise.In, Values: []string{"a"}}}
	away := ask(job(1, 0), "gpu", 1, 250)
	away.Selectors = []poise.Selector{{Key: "zone", Op: poise.NotIn, Values: []string{"a"}}}
	away.Tolerations = []poise.Toleration{{Key: "spot", Exists: true}}
	return rapid.SampledFrom([]poise.Job{
		job(0, 0), job(1, 0), job(1, 1), job(2, 4), job(9, 1), fpga, qpu, zone, away,
		ask(job(1, 1), "gpu", 1, 300), ask(job(1, 0), "gpu", 1, 500, "T4"), ask(job(2, 1), "gpu", 1, 1000),
		ask(job(2, 2), "gpu", 2, 1000, "T4", "V100"), ask(job(0, 0), "gpu", 4, 1000), ask(job(1, 1), "npu", 1, 250),
	}).Draw(t, "job")
}

// drawIndex may give the pipeline an index of classes. Any grouping must do.
func drawIndex(t *rapid.T, p *Pipeline) *Pipeline {
	classes := rapid.Uint32Range(0, 3).Draw(t, "classes")
	if classes > 0 {
		p.UseIndex(model.NewIndex(func(snap *state.Snapshot, row uint32) uint32 {
			return uint32(snap.Described(row)) % classes
		}, func(class uint32) string { return fmt.Sprint("class-", class) }))
	}
	return p
}

// machine drives a state and a pipeline at random.
type machine struct {
	*world
	pipeline *Pipeline
	fresh    func() Scorer // a scorer like the pipeline's that has seen nothing
	waiting  []poise.JobID
	running  []poise.JobID
	kept     *state.Snapshot // an older one
}

// check fails unless the pipeline, with all that it remembers, decides on the
// snapshot as the naive planner does.
func (m *machine) check(t *rapid.T, snap *state.Snapshot, j *state.Job) poise.Decision {
	t.Helper()
	brief, err := m.pipeline.Plan(snap, j, Pass{Detail: Brief}) // what the index left out has no reason yet
	if err != nil {
		t.Fatal(err)
	}
	got := mustPlan(t, m.pipeline, snap, j)
	if brief.Node != got.Node || brief.Verdict != got.Verdict || !slices.Equal(brief.Devices, got.Devices) || brief.Fitting != got.Fitting {
		t.Fatalf("in brief %+v, in full %+v", brief, got)
	}
	policy := *m.pipeline.Policy()
	policy.Scorer = m.fresh()
	want := naive(t, &policy, snap, j)
	if got.Looked > snap.Rows() {
		t.Fatalf("looked at %d rows of %d", got.Looked, snap.Rows())
	}
	checkReasons(t, snap, &got)
	checkExplained(t, &got)
	checkHelps(t, snap, j, &got)
	plain := got
	plain.Helps, plain.Misses = nil, nil
	plain.Looked, plain.Reasons, plain.LeftOut, plain.Ranked = 0, nil, nil, slices.Clone(got.Ranked)
	for i := range plain.Ranked {
		plain.Ranked[i].Formula, plain.Ranked[i].Columns = policy.Name, nil
	}
	if !reflect.DeepEqual(plain, want) {
		t.Fatalf("decided\n%+v\nnearest %+v\nexpected\n%+v\nnearest %+v", plain, plain.Nearest, want, want.Nearest)
	}
	return got
}

// checkReasons fails unless Reasons, for whoever waits for a cause, names the
// same as Refused, for people.
func checkReasons(t fataler, snap *state.Snapshot, d *poise.Decision) {
	t.Helper()
	if d.Verdict == poise.Placed {
		if len(d.Reasons) > 0 {
			t.Fatalf("placed with reasons %v", d.Reasons)
		}
		return
	}
	named := map[poise.ReasonCount]bool{}
	for _, r := range d.Reasons {
		c := poise.ReasonCount{Code: r.Code()}
		if c.Code == poise.CapacityShort || c.Code == poise.IdleShort {
			c.Dim = "?"
			if r.Dim() != poise.Undeclared {
				c.Dim = snap.Dims()[r.Dim()]
			}
		}
		if named[c] {
			t.Fatalf("reason %v comes twice", c)
		}
		named[c] = true
	}
	if len(named) != len(d.Refused) {
		t.Fatalf("reasons %v, expected those of %v", named, d.Refused)
	}
	for _, c := range d.Refused {
		c.Nodes = 0
		if c.Code >= poise.DeviceKindMissing && c.Code <= poise.DeviceExclusive || c.Code == poise.DeviceCapacityShort || c.Code == poise.DeviceIdleShort {
			c.Dim = ""
		}
		if !named[c] && !named[poise.ReasonCount{Code: c.Code, Dim: "?"}] {
			t.Fatalf("reasons %v, expected %v among them", named, c)
		}
	}
}

func (m *machine) present(t *rapid.T) string {
	snap := m.state.View()
	var names []string
	for row := range uint32(snap.Rows()) {
		if snap.Present(row) {
			names = append(names, snap.Name(row))
		}
	}
	if len(names) == 0 {
		t.Skip("no node")
	}
	return rapid.SampledFrom(names).Draw(t, "node")
}

func (m *machine) take(t *rapid.T, ids *[]poise.JobID) poise.JobID {
	if len(*ids) == 0 {
		t.Skip("no such job")
	}
	i := rapid.IntRange(0, len(*ids)-1).Draw(t, "job")
	id := (*ids)[i]
	*ids = slices.Delete(*ids, i, i+1)
	return id
}

// try plans a waiting job, and commits the decision more often than not.
func (m *machine) try(t *rapid.T, id poise.JobID) {
	d := m.check(t, m.state.View(), m.state.Job(id))
	switch {
	case d.Verdict != poise.Placed || rapid.IntRange(0, 3).Draw(t, "commit") == 0:
		m.waiting = append(m.waiting, id)
	default:
		m.commit(&d)
		m.running = append(m.running, id)
	}
}

// arrive submits a job. With a real profile, an epoch begins where one is due.
func (m *machine) arrive(t *rapid.T) poise.JobID {
	id := m.submit(drawJob(t)).ID
	if params := balance.Defaults(); m.profiled() && balance.Due(m.state.View(), &params) {
		m.newEpoch()
	}
	return id
}

func (m *machine) profiled() bool {
	_, ok := m.pipeline.Policy().Scorer.(*balance.Auto)
	return ok
}

func (m *machine) newEpoch() {
	if !m.profiled() {
		m.epoch()
		return
	}
	params := balance.Defaults()
	m.apply(poise.ProfileBuilt{Profiles: balance.BuildProfiles(m.state.View(), m.state.Demand(), &params)})
}

func (m *machine) newNode(t *rapid.T) {
	name := fmt.Sprint("n", rapid.IntRange(0, 60).Draw(t, "name"))
	if _, ok := m.state.Row(name); ok {
		t.Skip("the node is there")
	}
	m.join(drawNode(t, name))
}

func (m *machine) actions() map[string]func(*rapid.T) {
	plan := func(t *rapid.T) { m.try(t, m.arrive(t)) }
	return map[string]func(*rapid.T){
		"plan": plan, "plan 2": plan, "plan 3": plan,
		"try again": func(t *rapid.T) { m.try(t, m.take(t, &m.waiting)) },
		"finish":    func(t *rapid.T) { m.apply(poise.JobFinished{Job: m.take(t, &m.running)}) },
		"withdraw":  func(t *rapid.T) { m.apply(poise.JobWithdrawn{Job: m.take(t, &m.waiting)}) },
		"requeue": func(t *rapid.T) {
			id := m.take(t, &m.running)
			m.apply(poise.JobRequeued{Job: id})
			m.waiting = append(m.waiting, id)
		},
		"join":   m.newNode,
		"leave":  func(t *rapid.T) { m.apply(poise.NodeLeft{Name: m.present(t)}) },
		"change": func(t *rapid.T) { m.apply(poise.NodeChanged{Node: drawNode(t, m.present(t))}) },
		"mark": func(t *rapid.T) {
			m.apply(poise.NodeMarked{
				Name: m.present(t), Drained: rapid.Bool().Draw(t, "drained"), NotReady: rapid.IntRange(0, 3).Draw(t, "not ready") == 0,
			})
		},
		"epoch": func(*rapid.T) { m.newEpoch() },
		"keep":  func(*rapid.T) { m.kept = m.state.Snapshot() },
		"plan on an older snapshot": func(t *rapid.T) {
			if m.kept == nil {
				t.Skip("none was kept")
			}
			id := m.arrive(t)
			m.check(t, m.kept, m.state.Job(id))
			m.apply(poise.JobWithdrawn{Job: id})
		},
		"flap": func(t *rapid.T) { // the change log is cut
			name := m.present(t)
			if rapid.IntRange(0, 9).Draw(t, "long") > 0 {
				t.Skip("not this time")
			}
			for i := range 3 * 4096 {
				m.apply(poise.NodeMarked{Name: name, Drained: i%2 == 0})
			}
		},
	}
}

func drawPolicy(t *rapid.T) Policy {
	p := Policy{
		Name: "test", Scorer: leastIdle{}, ProtectDevices: rapid.Bool().Draw(t, "protect devices"),
		Ties: Ties(rapid.IntRange(0, 2).Draw(t, "ties")), Seed: rapid.Uint64().Draw(t, "seed"),
		SeededDevices: rapid.Bool().Draw(t, "seeded devices"),
	}
	if rapid.IntRange(0, 3).Draw(t, "filter") == 0 {
		p.Filters = []Filter{notBusy{}, notBusy{}}
	}
	if p.Ties == Published {
		p.Order = map[string]uint64{}
		for i := range 50 { // some have one number, some none
			p.Order[fmt.Sprint("n", i)] = uint64(i * 7 % 10)
		}
	}
	return p
}

// Whatever happened before, the pipeline with its cache and tree decides as one
// that filters, scores and sorts every row anew: the same node and devices, the
// same counts, the same nearest miss and the same short list.
func TestPlanIsTheNaivePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{world: newWorld(t), fresh: func() Scorer { return leastIdle{} }}
		m.pipeline = drawIndex(t, NewPipeline(drawPolicy(t)))
		if rapid.Bool().Draw(t, "small cache") {
			m.pipeline.cache.bound = 300
		}
		for range rapid.IntRange(0, 40).Draw(t, "nodes") {
			name := fmt.Sprint("n", rapid.IntRange(0, 60).Draw(t, "name"))
			if _, ok := m.state.Row(name); !ok {
				m.join(drawNode(t, name))
			}
		}
		t.Repeat(m.actions())
	})
}

// The same with the default policy and real profiles.
func TestPlanIsTheNaivePlanWithIdleBalance(t *testing.T) {
	auto := func(tiered bool) Scorer {
		spread, err := balance.NewSpread(nil)
		if err != nil {
			t.Fatal(err)
		}
		demand, err := balance.NewDemand(balance.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		return balance.NewAuto(spread, demand, tiered)
	}
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{world: newWorld(t)}
		p := drawPolicy(t)
		m.fresh = func() Scorer { return auto(p.ProtectDevices) }
		p.Scorer = m.fresh()
		m.pipeline = drawIndex(t, NewPipeline(p))
		for i := range rapid.IntRange(0, 20).Draw(t, "nodes") {
			m.join(drawNode(t, fmt.Sprint("n", i*3)))
		}
		t.Repeat(m.actions())
	})
}
