package balance

import (
	"fmt"
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
	"pgregory.net/rapid"
)

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
	w.apply(poise.JobPlaced{Placement: poise.Placement{Job: w.submit(r).ID, Node: node, Devices: devices}})
}

// build puts a new demand profile in force.
func (w *world) build(p *Params) {
	w.t.Helper()
	view, seen := w.state.View(), w.state.Demand()
	w.apply(poise.ProfileBuilt{Profiles: BuildProfiles(view, seen, p), Demand: BuildDemand(view, seen)})
}

func (w *world) row(node string) uint32 {
	w.t.Helper()
	row, ok := w.state.Row(node)
	if !ok {
		w.t.Fatalf("node %q is not there", node)
	}
	return row
}

// fitting gives the rows on which the job fits now.
func (w *world) fitting(j *state.Job) []uint32 {
	snap, r := w.state.View(), &j.Shape.Request
	var rows []uint32
	for row := range uint32(snap.Rows()) {
		fits := snap.Present(row)
		for _, a := range r.Amounts {
			dim := slices.Index(snap.Dims(), a.Name)
			fits = fits && (a.Value == 0 || dim >= 0 && snap.Idle(row, dim) >= a.Value)
		}
		if !fits || len(devicesFor(snap, row, &r.Device)) < int(r.Device.Count) {
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// devicesFor gives the devices of the row that have enough free for the ask.
func devicesFor(snap *state.Snapshot, row uint32, ask *poise.DeviceRequest) []uint16 {
	if ask.Count == 0 || snap.Kinds()[snap.Kind(row)] != ask.Kind ||
		len(ask.Models) > 0 && !slices.Contains(ask.Models, snap.Models()[snap.Model(row)]) {
		return nil
	}
	var may []uint16
	for d, f := range snap.Free(row) {
		if int32(f) >= ask.Milli {
			may = append(may, uint16(d))
		}
	}
	return may
}

// place runs a job where it fits, if it fits anywhere.
func (w *world) place(t *rapid.T, r poise.Request) {
	j := w.submit(r)
	rows := w.fitting(j)
	if len(rows) == 0 {
		return
	}
	row := rapid.SampledFrom(rows).Draw(t, "row")
	may := devicesFor(w.state.View(), row, &r.Device)
	from := 0
	if n := int(r.Device.Count); n > 0 {
		from = rapid.IntRange(0, len(may)-n).Draw(t, "device")
		may = may[from : from+n]
	}
	w.apply(poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: w.state.View().Name(row), Devices: may}})
}

func amounts(cpu, memory int64) resource.List {
	return resource.List{{Name: "cpu", Value: cpu}, {Name: "memory", Value: memory}}
}

// request asks for cpu and memory, and for devices of so many milli.
func request(cpu, memory int64, count, milli int32, models ...string) poise.Request {
	r := poise.Request{Amounts: amounts(cpu, memory)}
	if count > 0 {
		r.Device = poise.DeviceRequest{Kind: "gpu", Count: count, Milli: milli, Models: models}
	}
	return r
}

func node(name string, cpu, memory int64, devices int32, model string) poise.Node {
	n := poise.Node{Name: name, Capacity: amounts(cpu, memory)}
	if devices > 0 {
		n.Devices = poise.Devices{Kind: "gpu", Model: model, Count: devices}
	}
	return n
}

// scales bound the amounts that are drawn. Beyond maxIdle copies are only
// bounded, not exact.
type scale struct{ cpu, memory int64 }

var (
	everyday = scale{cpu: 128_000, memory: 1 << 40}
	exactly  = scale{cpu: maxIdle, memory: math.MaxInt64}
	extreme  = scale{cpu: math.MaxInt64, memory: math.MaxInt64}
)

// drawAmount draws up to most, and often a value at which arithmetic breaks.
func drawAmount(t *rapid.T, label string, most int64) int64 {
	edges := []int64{0, 0, 1, 999, 1000, 1<<20 - 1, 1 << 20, 1 << 30, 1<<50 - 1, 1 << 50, 9_300_000_000_000_000, 7 << 60, math.MaxInt64}
	edges = slices.DeleteFunc(edges, func(e int64) bool { return e > most })
	return rapid.OneOf(
		rapid.SampledFrom(edges), rapid.Map(rapid.Int64Range(0, 16), func(n int64) int64 { return most / 16 * n }), rapid.Int64Range(0, most),
	).Draw(t, label)
}

var kinds = []string{"gpu", "npu"}

func drawNode(t *rapid.T, name string, s scale) poise.Node {
	n := poise.Node{Name: name, Capacity: amounts(drawAmount(t, "node cpu", s.cpu), drawAmount(t, "node memory", s.memory))}
	if rapid.IntRange(0, 3).Draw(t, "fpga") == 0 {
		n.Capacity = slices.Insert(n.Capacity, 1, resource.Amount{Name: "fpga", Value: drawAmount(t, "node fpga", s.cpu)})
	}
	if count := rapid.SampledFrom([]int32{0, 1, 2, 8, 32}).Draw(t, "node devices"); count > 0 {
		n.Devices = poise.Devices{
			Kind: rapid.SampledFrom(kinds).Draw(t, "node kind"), Count: count,
			Model: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "model"),
		}
	}
	return n
}

func drawRequest(t *rapid.T, s scale) poise.Request {
	r := poise.Request{Amounts: amounts(drawAmount(t, "cpu", s.cpu), drawAmount(t, "memory", s.memory))}
	switch rapid.IntRange(0, 3).Draw(t, "ask") {
	case 1, 2:
		milli := rapid.OneOf(rapid.SampledFrom([]int32{1, 50, 460, 500, 810, 999}), rapid.Int32Range(1, 999)).Draw(t, "milli")
		r.Device = poise.DeviceRequest{Count: 1, Milli: milli}
	case 3:
		r.Device = poise.DeviceRequest{Count: rapid.SampledFrom([]int32{1, 2, 8}).Draw(t, "count"), Milli: poise.WholeDevice}
	}
	if r.Device.Count > 0 {
		r.Device.Kind = rapid.SampledFrom(kinds).Draw(t, "kind")
		r.Device.Models = rapid.SampledFrom([][]string{nil, nil, {"a"}, {"a", "b"}}).Draw(t, "models")
	}
	return r
}

// drawWorld draws a few nodes with tasks on them; some nodes shrink below what
// runs on them.
func drawWorld(t *rapid.T, s scale) *world {
	w := newWorld(t)
	n := rapid.IntRange(1, 5).Draw(t, "nodes")
	for i := range n {
		w.apply(poise.NodeJoined{Node: drawNode(t, fmt.Sprint("n", i), s)})
	}
	for range rapid.IntRange(0, 12).Draw(t, "running") {
		w.place(t, drawRequest(t, s))
	}
	for i := range n {
		if rapid.IntRange(0, 4).Draw(t, "shrink") == 0 {
			w.apply(poise.NodeChanged{Node: drawNode(t, fmt.Sprint("n", i), s)})
		}
	}
	return w
}

// drawParams draws constants of form Demand, the defaults among them.
func drawParams(t *rapid.T) Params {
	p := Defaults()
	if rapid.Bool().Draw(t, "defaults") {
		return p
	}
	p.Beta = rapid.OneOf(rapid.SampledFrom([]float64{0.01, 0.375, 0.4, 1, 4}), rapid.Float64Range(0.01, 4)).Draw(t, "beta")
	p.Lambda = rapid.OneOf(rapid.SampledFrom([]float64{0, 0.15, 1e3}), rapid.Float64Range(0, 1e3)).Draw(t, "lambda")
	p.Gamma = rapid.OneOf(rapid.SampledFrom([]float64{0, 1, 2, 8}), rapid.Float64Range(0, 8)).Draw(t, "gamma")
	p.Epsilon = rapid.OneOf(rapid.SampledFrom([]float64{0, 0.1, 10}), rapid.Float64Range(0, 10)).Draw(t, "epsilon")
	p.Cover = rapid.OneOf(rapid.SampledFrom([]float64{0.01, 0.97, 1}), rapid.Float64Range(0.01, 1)).Draw(t, "cover")
	p.Shapes = rapid.SampledFrom([]int{1, 2, 64, 4096}).Draw(t, "shapes")
	return p
}

// scorer is what the three forms have in common.
type scorer interface {
	Score(b *state.Batch, loss []float64, devices []uint32) error
}

// score asks a scorer about rows.
func (w *world) score(s scorer, j *state.Job, rows []uint32) ([]float64, []uint32) {
	w.t.Helper()
	loss, devices := make([]float64, len(rows)), make([]uint32, len(rows))
	if err := s.Score(&state.Batch{Snap: w.state.View(), Job: j, Rows: rows}, loss, devices); err != nil {
		w.t.Fatalf("score: %v", err)
	}
	return loss, devices
}

func newDemand(t fataler, p Params) *Demand {
	t.Helper()
	d, err := NewDemand(p)
	if err != nil {
		t.Fatalf("new demand: %v", err)
	}
	return d
}

func newSpread(t fataler, weights Weights) *Spread {
	t.Helper()
	s, err := NewSpread(weights)
	if err != nil {
		t.Fatalf("new spread: %v", err)
	}
	return s
}
