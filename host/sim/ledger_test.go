package sim

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// ledger keeps a fleet and its jobs as simply as can be, to check the events of
// a run against: what a job may use is written here a second time, from the
// meaning of the nouns and without the filters of package sched.
type ledger struct {
	t     fataler
	state *state.State // the same events applied
	nodes map[string]*ledgerNode
	jobs  map[poise.JobID]*ledgerJob
	now   poise.Time
}

type ledgerNode struct {
	poise.Node
	allocated map[string]int64
	free      []int32
}

type ledgerJob struct {
	poise.Job
	node    *ledgerNode // nil while it waits
	devices []uint16
}

func newLedger(t fataler, s state.Settings) *ledger {
	t.Helper()
	st, err := state.New(s)
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	return &ledger{t: t, state: st, nodes: map[string]*ledgerNode{}, jobs: map[poise.JobID]*ledgerJob{}}
}

// check applies the events one by one. After each, what is allocated is the sum
// over the jobs that run; each placement is on a node that may hold the job;
// and before time goes on, no job waits that fits somewhere.
func (l *ledger) check(events []poise.Event) {
	l.t.Helper()
	for _, ev := range events {
		if ev.At > l.now {
			l.nobodyFits()
		}
		l.now = ev.At
		l.apply(ev.Body)
		if err := l.state.Apply(ev); err != nil {
			l.t.Fatalf("event %d: %v", ev.Index, err)
		}
		l.compare()
	}
	l.nobodyFits()
}

func (l *ledger) apply(body poise.Body) {
	l.t.Helper()
	switch b := body.(type) {
	case poise.NodeJoined:
		n := &ledgerNode{Node: b.Node, allocated: map[string]int64{}}
		for range b.Node.Devices.Count {
			n.free = append(n.free, poise.WholeDevice)
		}
		l.nodes[b.Node.Name] = n
	case poise.JobSubmitted:
		l.jobs[b.Job.ID] = &ledgerJob{Job: b.Job}
	case poise.JobPlaced:
		j, n := l.jobs[b.Placement.Job], l.nodes[b.Placement.Node]
		if j == nil || n == nil || j.node != nil || !n.holds(&j.Job) || !n.gives(&j.Job, b.Placement.Devices) {
			l.t.Fatalf("%+v: job %+v does not fit on node %+v", b.Placement, j, n)
		}
		j.node, j.devices = n, b.Placement.Devices
		j.use(1)
	case poise.JobFinished:
		l.jobs[b.Job].use(-1)
		delete(l.jobs, b.Job)
	case poise.JobWithdrawn:
		delete(l.jobs, b.Job)
	case poise.ProfileBuilt:
	default:
		l.t.Fatalf("event %s: not of a run", body.EventKind())
	}
}

func (j *ledgerJob) use(sign int64) {
	for _, a := range j.Request.Amounts {
		j.node.allocated[a.Name] += sign * a.Value
	}
	for _, d := range j.devices {
		j.node.free[d] -= int32(sign) * j.Request.Device.Milli
	}
}

// couldHold says whether the node could hold the job when it is empty.
func (n *ledgerNode) couldHold(j *poise.Job) bool {
	empty := &ledgerNode{Node: n.Node}
	for range n.Devices.Count {
		empty.free = append(empty.free, poise.WholeDevice)
	}
	return empty.holds(j)
}

// holds says whether the node may hold the job now.
func (n *ledgerNode) holds(j *poise.Job) bool {
	if n.Drained || n.NotReady {
		return false
	}
	for i := range j.Selectors {
		if !j.Selectors[i].Matches(n.Labels) {
			return false
		}
	}
	for i := range n.Taints {
		if !poise.Tolerates(j.Tolerations, &n.Taints[i]) {
			return false
		}
	}
	for _, a := range j.Request.Amounts {
		capacity, _ := n.Capacity.Find(a.Name)
		if a.Value > capacity-n.allocated[a.Name] && a.Value > 0 {
			return false
		}
	}
	d := &j.Request.Device
	if d.Count == 0 {
		return true
	}
	if d.Kind != n.Devices.Kind || len(d.Models) > 0 && !slices.Contains(d.Models, n.Devices.Model) || d.Milli < poise.WholeDevice && n.Devices.Exclusive {
		return false
	}
	enough := int32(0)
	for _, free := range n.free {
		if free >= d.Milli {
			enough++
		}
	}
	return enough >= d.Count
}

// gives says whether these devices are as many as the job asks for, are
// different ones and have enough free.
func (n *ledgerNode) gives(j *poise.Job, devices []uint16) bool {
	for i, d := range devices {
		if int(d) >= len(n.free) || n.free[d] < j.Request.Device.Milli || i > 0 && devices[i-1] >= d {
			return false
		}
	}
	return len(devices) == int(j.Request.Device.Count)
}

// compare checks the sums of the state.
func (l *ledger) compare() {
	l.t.Helper()
	snap := l.state.View()
	for name, n := range l.nodes {
		row, ok := l.state.Row(name)
		if !ok {
			l.t.Fatalf("node %q is not in the state", name)
		}
		for dim, resource := range snap.Dims() {
			if got := snap.Allocated(row, dim); got != n.allocated[resource] {
				l.t.Fatalf("node %q has %d of %s allocated, its jobs request %d", name, got, resource, n.allocated[resource])
			}
		}
		for d, free := range snap.Free(row) {
			if int32(free) != n.free[d] {
				l.t.Fatalf("device %d of node %q has %d free, its jobs leave %d", d, name, free, n.free[d])
			}
		}
	}
}

func (l *ledger) nobodyFits() {
	l.t.Helper()
	for id, j := range l.jobs {
		if j.node != nil {
			continue
		}
		for name, n := range l.nodes {
			if n.holds(&j.Job) {
				l.t.Fatalf("at %d ms job %q waits, though it fits on node %q: request %+v, node %+v", l.now, id, name, j.Request, n)
			}
		}
	}
}
