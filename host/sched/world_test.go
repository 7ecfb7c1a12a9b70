package sched

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

const gi = 1 << 30

// fataler is a *testing.T, a *testing.B or a *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is a state and what is needed to fill it.
type world struct {
	t     fataler
	state *state.State
	jobs  int
}

func newWorld(t fataler) *world {
	t.Helper()
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatalf("new state: %v", err)
	}
	return &world{t: t, state: s}
}

func (w *world) apply(body poise.Body) {
	w.t.Helper()
	if err := w.state.Apply(poise.Event{Index: w.state.Index() + 1, Body: body}); err != nil {
		w.t.Fatalf("apply %s: %v", body.EventKind(), err)
	}
}

func (w *world) join(nodes ...poise.Node) {
	w.t.Helper()
	for i := range nodes {
		w.apply(poise.NodeJoined{Node: nodes[i]})
	}
}

// submit adds a job that waits. Its id is j1, j2, … where it has none.
func (w *world) submit(j poise.Job) *state.Job {
	w.t.Helper()
	if w.jobs++; j.ID == "" {
		j.ID = poise.JobID(fmt.Sprint("j", w.jobs))
	}
	j.Name, j.Tenant, j.Tasks = string(j.ID), "t", 1
	w.apply(poise.JobSubmitted{Job: j})
	return w.state.Job(j.ID)
}

// run adds a job that runs.
func (w *world) run(node string, j poise.Job, devices ...uint16) *state.Job {
	w.t.Helper()
	job := w.submit(j)
	w.apply(poise.JobPlaced{Placement: poise.Placement{Job: job.ID, Node: node, Devices: devices}})
	return job
}

// commit places the job as decided.
func (w *world) commit(d *poise.Decision) {
	w.t.Helper()
	w.apply(poise.JobPlaced{Placement: poise.Placement{Job: d.Job, Node: d.Node, Devices: d.Devices}})
}

// epoch puts a new profile in force that says nothing.
func (w *world) epoch() {
	w.t.Helper()
	w.apply(poise.ProfileBuilt{Profiles: []*poise.Profile{{Epoch: w.state.View().Epoch() + 1, Kind: "gpu", LargestDevices: 1}}})
}

func mustPlan(t fataler, p *Pipeline, snap *state.Snapshot, j *state.Job) poise.Decision {
	t.Helper()
	d, err := p.Plan(snap, j, Pass{Detail: Full})
	if err != nil {
		t.Fatalf("plan job %q: %v", j.ID, err)
	}
	return d
}

// node has cpu in cores and memory in GiB.
func node(name string, cpu, memory int64) poise.Node {
	return poise.Node{Name: name, Capacity: amounts(cpu*1000, memory*gi)}
}

func withDevices(n poise.Node, kind, model string, count int32) poise.Node {
	n.Devices = poise.Devices{Kind: kind, Model: model, Count: count}
	return n
}

// job asks for cpu in cores and memory in GiB.
func job(cpu, memory int64) poise.Job {
	return poise.Job{Request: poise.Request{Amounts: amounts(cpu*1000, memory*gi)}}
}

// ask adds devices to a job: count whole ones, or a share of one.
func ask(j poise.Job, kind string, count, milli int32, models ...string) poise.Job {
	j.Request.Device = poise.DeviceRequest{Kind: kind, Count: count, Milli: milli, Models: models}
	return j
}

// amounts gives cpu and memory, leaving out what is 0.
func amounts(cpu, memory int64) resource.List {
	l := resource.List{{Name: "cpu", Value: cpu}, {Name: "memory", Value: memory}}
	return slices.DeleteFunc(l, func(a resource.Amount) bool { return a.Value == 0 })
}

// leastIdle is a scorer with many ties: the loss is the whole cores that are
// idle, and every other epoch less the idle devices. In odd epochs it chooses
// the device of a share itself: the last one that fits.
type leastIdle struct{}

func (leastIdle) Epoch(snap *state.Snapshot) uint64 { return snap.Epoch() }

func (leastIdle) Score(b *state.Batch, loss []float64, devices []uint32) error {
	odd := b.Snap.Epoch()%2 == 1
	ask := &b.Job.Shape.Request.Device
	for i, row := range b.Rows {
		loss[i], devices[i] = float64(b.Snap.Idle(row, 0)/1000)/3, 0
		for k, f := range b.Snap.Free(row) {
			if f == poise.WholeDevice && odd {
				loss[i]--
			}
			if odd && ask.Shared() && int32(f) >= ask.Milli {
				devices[i] = 1 << k
			}
		}
	}
	return nil
}

// constant gives every row one loss.
type constant float64

func (c constant) Score(b *state.Batch, loss []float64, devices []uint32) error {
	for i := range b.Rows {
		loss[i], devices[i] = float64(c), 0
	}
	return nil
}

// notBusy is a filter that keeps nodes with fewer than three tasks, and every
// other epoch with fewer than two.
type notBusy struct{}

var busy = poise.NewReason(poise.NodeDrained, 0)

func (notBusy) Filter(b *state.Batch, reasons []poise.Reason) error {
	for i, row := range b.Rows {
		if b.Snap.Running(row) >= 3-int(b.Snap.Epoch()%2) {
			reasons[i] = busy
		}
	}
	return nil
}

// refusedByRule says why the row cannot hold the job, from the meaning of the
// codes and not from the filter's code: the first that applies, and the
// dimension or device kind. Fits and "" if it can.
func refusedByRule(snap *state.Snapshot, row uint32, shape *state.Shape) (poise.ReasonCode, string) {
	labels := map[string]string{}
	for _, l := range snap.Labels(row) {
		labels[l.Key] = l.Value
	}
	for _, s := range shape.Selectors {
		if !selected(&s, labels) {
			return poise.SelectorMismatch, ""
		}
	}
	for _, taint := range snap.Taints(row) {
		if !slices.ContainsFunc(shape.Tolerations, func(o poise.Toleration) bool { return tolerates(&o, &taint) }) {
			return poise.TaintNotTolerated, ""
		}
	}
	d := shape.Request.Device
	whole, free := snap.Free(row), 0
	for _, f := range whole {
		if int(f) >= int(d.Milli) {
			free++
		}
	}
	if d.Count > 0 {
		switch {
		case snap.Kinds()[snap.Kind(row)] != d.Kind:
			return poise.DeviceKindMissing, d.Kind
		case len(d.Models) > 0 && !slices.Contains(d.Models, snap.Models()[snap.Model(row)]):
			return poise.DeviceModelMismatch, d.Kind
		case d.Count == 1 && d.Milli < 1000 && snap.Exclusive(row):
			return poise.DeviceExclusive, d.Kind
		}
	}
	for _, a := range shape.Request.Amounts {
		if capacity, _ := has(snap, row, a.Name); a.Value > capacity {
			return poise.CapacityShort, a.Name
		}
	}
	switch {
	case int(d.Count) > len(whole):
		return poise.DeviceCapacityShort, d.Kind
	case snap.NotReady(row):
		return poise.NodeNotReady, ""
	case snap.Drained(row):
		return poise.NodeDrained, ""
	}
	for _, a := range shape.Request.Amounts {
		if _, idle := has(snap, row, a.Name); a.Value > idle {
			return poise.IdleShort, a.Name
		}
	}
	if int(d.Count) > free {
		return poise.DeviceIdleShort, d.Kind
	}
	return poise.Fits, ""
}

// has gives capacity and idle amount of a dimension by name.
func has(snap *state.Snapshot, row uint32, name string) (capacity, idle int64) {
	for dim, known := range snap.Dims() {
		if known == name {
			capacity, used := snap.Capacity(row, dim), snap.Allocated(row, dim)
			if used > capacity {
				used = capacity
			}
			return capacity, capacity - used
		}
	}
	return 0, 0
}

func selected(s *poise.Selector, labels map[string]string) bool {
	value, ok := labels[s.Key]
	in := ok && slices.Contains(s.Values, value)
	switch s.Op {
	case poise.In:
		return in
	case poise.NotIn:
		return !in
	case poise.Exists:
		return ok
	case poise.DoesNotExist:
		return !ok
	}
	n, err := strconv.Atoi(value)
	bound, _ := strconv.Atoi(s.Values[0])
	return err == nil && (s.Op == poise.Gt && n > bound || s.Op == poise.Lt && n < bound)
}

func tolerates(o *poise.Toleration, t *poise.Taint) bool {
	key := o.Key == "" || o.Key == t.Key
	effect := o.Effect == "" || o.Effect == t.Effect
	return key && effect && (o.Exists || o.Value == t.Value)
}
