package baseline

import (
	"fmt"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

const mib = 1 << 20

// fataler is a *testing.T or a *rapid.T.
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

// join adds a node with cpu milli-cores, so much memory, and devices.
func (w *world) join(name string, cpu, memory int64, devices int32, model string) {
	w.t.Helper()
	n := poise.Node{Name: name, Capacity: amounts(cpu, memory)}
	if devices > 0 {
		n.Devices = poise.Devices{Kind: "gpu", Model: model, Count: devices}
	}
	w.apply(poise.NodeJoined{Node: n})
}

// submit adds a job that waits.
func (w *world) submit(r poise.Request) *state.Job {
	w.t.Helper()
	w.jobs++
	id := poise.JobID(fmt.Sprint("j", w.jobs))
	w.apply(poise.JobSubmitted{Job: poise.Job{ID: id, Name: string(id), Tenant: "t", Tasks: 1, Request: r}})
	return w.state.Job(id)
}

// run adds a job that runs.
func (w *world) run(node string, r poise.Request, devices ...uint16) {
	w.t.Helper()
	j := w.submit(r)
	w.apply(poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: node, Devices: devices}})
}

func (w *world) row(node string) uint32 {
	w.t.Helper()
	row, ok := w.state.Row(node)
	if !ok {
		w.t.Fatalf("node %q is not there", node)
	}
	return row
}

func amounts(cpu, memory int64) resource.List {
	return resource.List{{Name: "cpu", Value: cpu}, {Name: "memory", Value: memory}}
}

// request asks for cpu, and for devices of so many milli, without memory.
func request(cpu int64, milli, count int32, models ...string) poise.Request {
	r := poise.Request{Amounts: amounts(cpu, 0)}
	if count > 0 {
		r.Device = poise.DeviceRequest{Kind: "gpu", Count: count, Milli: milli, Models: models}
	}
	return r
}

// repeat gives n equal requests.
func repeat(n int, r poise.Request) []poise.Request {
	list := make([]poise.Request, n)
	for i := range list {
		list[i] = r
	}
	return list
}

// twoNodes are the nodes A and B of the worked values of the published
// policies: A with devices 1000, 1000, 900, 850, 190, 0, 0, 0 free and tasks of
// two kinds on it, B with two devices and nothing on it.
func twoNodes(t fataler) *world {
	w := newWorld(t)
	w.join("A", 20000, 1<<40, 8, "")
	w.join("B", 64000, 1<<40, 2, "")
	w.run("A", request(0, 100, 1), 2)
	w.run("A", request(0, 150, 1), 3)
	w.run("A", request(0, 810, 1), 4)
	for d := uint16(5); d < 8; d++ {
		w.run("A", request(0, 1000, 1), d)
	}
	return w
}

// twoNodesWorkload has the typical tasks of the worked values.
func twoNodesWorkload() []poise.Request {
	list := repeat(5, request(3152, 810, 1))
	list = append(list, repeat(3, request(11300, 1000, 1))...)
	return append(list, repeat(2, request(12500, 0, 0))...)
}

// score asks a baseline about one node: its published score, and the mask of
// the devices that it chose.
func score(t *testing.T, w *world, name string, workload []poise.Request, job *state.Job, node string) (float64, uint32) {
	t.Helper()
	p, err := New(name, workload)
	if err != nil {
		t.Fatal(err)
	}
	loss, devices := []float64{-1}, []uint32{99}
	b := state.Batch{Snap: w.state.View(), Job: job, Rows: []uint32{w.row(node)}}
	if err := p.Scorer.Score(&b, loss, devices); err != nil {
		t.Fatal(err)
	}
	return maxScore - loss[0], devices[0]
}
