package preempt

import (
	"fmt"
	"strings"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// world is a state that a test writes down in a few words.
type world struct {
	*state.State
	t   fataler
	now poise.Time
}

func newWorld(t fataler) *world {
	t.Helper()
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return &world{State: s, t: t}
}

func (w *world) do(bodies ...poise.Body) {
	w.t.Helper()
	for _, b := range bodies {
		if err := w.Apply(poise.Event{Index: w.Index() + 1, At: w.now, Body: b}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// node joins with cpu, and devices where there are any.
func (w *world) node(name string, cpu int64, devices int32, labels ...poise.Label) {
	w.t.Helper()
	n := poise.Node{Name: name, Capacity: resource.List{{Name: "cpu", Value: cpu}}, Labels: labels}
	if devices > 0 {
		n.Devices = poise.Devices{Kind: "gpu", Model: "A100", Count: devices}
	}
	w.do(poise.NodeJoined{Node: n})
}

// guarantee makes a tenant known, with a guarantee of each resource as name=amount.
func (w *world) guarantee(id, parent string, quotas ...string) {
	w.t.Helper()
	t := poise.Tenant{ID: poise.TenantID(id), Parent: poise.TenantID(parent)}
	for _, q := range quotas {
		name, amount, _ := strings.Cut(q, "=")
		var v int64
		fmt.Sscan(amount, &v)
		t.Quotas = append(t.Quotas, poise.Quota{Resource: name, Guaranteed: v})
	}
	w.do(poise.TenantSet{Tenant: t})
}

// job is one of cpu and milli-devices, of TENANT or TENANT!PRIORITY.
func job(id, whose string, cpu int64, milli int32) poise.Job {
	tenant, p, _ := strings.Cut(whose, "!")
	j := poise.Job{ID: poise.JobID(id), Name: id, Tenant: poise.TenantID(tenant), Tasks: 1}
	fmt.Sscan(p, &j.Priority)
	if cpu > 0 {
		j.Request.Amounts = resource.List{{Name: "cpu", Value: cpu}}
	}
	switch {
	case milli > poise.WholeDevice:
		j.Request.Device = poise.DeviceRequest{Kind: "gpu", Count: milli / poise.WholeDevice, Milli: poise.WholeDevice}
	case milli > 0:
		j.Request.Device = poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: milli}
	}
	return j
}

func (w *world) waits(j poise.Job) { w.t.Helper(); w.do(poise.JobSubmitted{Job: j}) }

// place puts a job that waits on a node, on the lowest devices that are free.
func (w *world) place(id, node string) {
	w.t.Helper()
	row, _ := w.Row(node)
	p := poise.Placement{Job: poise.JobID(id), Node: node}
	d := &w.Job(p.Job).Shape.Request.Device
	for i, free := range w.View().Free(row) {
		if len(p.Devices) < int(d.Count) && int32(free) >= d.Milli {
			p.Devices = append(p.Devices, uint16(i))
		}
	}
	w.do(poise.JobPlaced{Placement: p})
}

func (w *world) runs(node string, j poise.Job) {
	w.t.Helper()
	w.waits(j)
	w.place(string(j.ID), node)
}

// gang submits a gang of which the first min start together.
func (w *world) gang(id, whose string, size, least int32, cpu int64, topology *poise.Topology) {
	w.t.Helper()
	for i := range size {
		j := job(fmt.Sprint(id, i), whose, cpu, 0)
		j.Tasks, j.Gang = size, &poise.Gang{ID: id, Size: size, Min: least, Index: i, Topology: topology}
		w.waits(j)
	}
}

// starts places the members of a gang on nodes, the first of them together.
func (w *world) starts(id string, nodes ...string) {
	w.t.Helper()
	g := w.GangOf(w.Job(poise.JobID(id + "0")))
	var b poise.GangPlaced
	for i, node := range nodes {
		p := poise.Placement{Job: poise.JobID(fmt.Sprint(id, i)), Node: node}
		if i < int(g.Spec.Least()) {
			b.Placements = append(b.Placements, p)
			if i == int(g.Spec.Least())-1 {
				w.do(b)
			}
		} else {
			w.do(poise.JobPlaced{Placement: p})
		}
	}
}

// find tells which jobs end for one, and where it is to go.
func (w *world) find(s Settings, id string, bars ...sched.Bar) string {
	w.t.Helper()
	j := w.Job(poise.JobID(id))
	members := []*state.Job{j}
	if !w.Alone(j) {
		members = w.GangOf(j).Core()
	}
	found := Find(w.State, &s, members, bars, w.now)
	text := "none"
	if c := found.Claim; c != nil {
		var ids []string
		for _, v := range c.Victims {
			ids = append(ids, string(v.ID))
		}
		text = fmt.Sprintf("%s on %s", strings.Join(ids, " "), strings.Join(c.Nodes, " "))
	}
	if found.Again > 0 {
		text += fmt.Sprintf(", again at %d", found.Again)
	}
	return text
}
