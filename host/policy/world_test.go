package policy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// fataler is a test or a property.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// world is a State that tests drive by events.
type world struct {
	t     fataler
	state *state.State
	index uint64
	now   poise.Time
	jobs  int
}

func newWorld(t fataler) *world {
	t.Helper()
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, state: s}
}

func (w *world) apply(body poise.Body) {
	w.t.Helper()
	w.index++
	if err := w.state.Apply(poise.Event{Index: w.index, At: w.now, Body: body}); err != nil {
		w.t.Fatal(err)
	}
}

// submit makes a waiting job known.
func (w *world) submit(tenant string, r poise.Request, more func(*poise.Job)) *state.Job {
	w.t.Helper()
	w.jobs++
	j := poise.Job{ID: poise.JobID(fmt.Sprint("j", w.jobs)), Name: "j", Tenant: poise.TenantID(tenant), Tasks: 1, Request: r}
	if more != nil {
		more(&j)
	}
	w.apply(poise.JobSubmitted{Job: j})
	return w.state.Job(j.ID)
}

func request(cpu int64, gpus, milli int32) poise.Request {
	r := poise.Request{Amounts: resource.List{{Name: "cpu", Value: cpu}}}
	if gpus > 0 {
		r.Device = poise.DeviceRequest{Kind: "gpu", Count: gpus, Milli: milli}
	}
	return r
}

// rows gives all present rows.
func (w *world) rows() []uint32 {
	var rows []uint32
	for row := range uint32(w.state.View().Rows()) {
		if w.state.View().Present(row) {
			rows = append(rows, row)
		}
	}
	return rows
}

// guestOf loads a module of testdata for plain tests.
func guestOf(t testing.TB, name string, params map[string]string) *Guest {
	t.Helper()
	e, err := NewEngine(context.Background(), Options{Limits: Defaults()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	bin, err := os.ReadFile(filepath.Join("testdata", "guests", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(context.Background(), bin)
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewGuest(m, params)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// randomNode draws a node of a small name space.
func randomNode(t *rapid.T) poise.Node {
	n := poise.Node{
		Name: rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "node"),
		Capacity: resource.List{
			{Name: "cpu", Value: rapid.SampledFrom([]int64{0, 1000, 64000, 9_300_000_000_000_000}).Draw(t, "cpu")},
			{Name: "memory", Value: rapid.SampledFrom([]int64{0, 1 << 30, 7 << 60}).Draw(t, "memory")},
		},
	}
	if count := rapid.Int32Range(0, 9).Draw(t, "devices"); count > 0 {
		n.Devices = poise.Devices{
			Kind: rapid.SampledFrom([]string{"gpu", "npu"}).Draw(t, "kind"), Count: count,
			Model: rapid.SampledFrom([]string{"", "A10", "G2"}).Draw(t, "model"),
		}
	}
	for _, key := range []string{"other", poise.ClassLabel, "zone"} {
		if v := rapid.SampledFrom([]string{"", "east", "west"}).Draw(t, key); v != "" {
			n.Labels = append(n.Labels, poise.Label{Key: key, Value: v})
		}
	}
	slices.SortFunc(n.Labels, func(a, b poise.Label) int { return strings.Compare(a.Key, b.Key) })
	for _, effect := range []poise.Effect{poise.NoSchedule, poise.NoExecute} {
		if rapid.Bool().Draw(t, "tainted") {
			n.Taints = append(n.Taints, poise.Taint{Key: string(effect), Value: "x", Effect: effect})
		}
	}
	return n
}

// step makes one random change. Placements go wherever they fit.
func (w *world) step(t *rapid.T) {
	switch snap := w.state.View(); rapid.IntRange(0, 9).Draw(t, "step") {
	case 0, 1, 2:
		n := randomNode(t)
		if _, ok := w.state.Row(n.Name); ok {
			w.apply(poise.NodeChanged{Node: n})
		} else {
			w.apply(poise.NodeJoined{Node: n})
		}
	case 3:
		name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "leaves")
		if _, ok := w.state.Row(name); ok {
			w.apply(poise.NodeLeft{Name: name})
		}
	case 4:
		if j := w.state.Job(poise.JobID(fmt.Sprint("j", rapid.IntRange(1, max(w.jobs, 1)).Draw(t, "ends")))); j != nil && !j.Waiting() {
			w.apply(poise.JobFinished{Job: j.ID})
		}
	default:
		r := request(rapid.SampledFrom([]int64{0, 500, 1000}).Draw(t, "asks cpu"), 0, 0)
		if rapid.Bool().Draw(t, "asks device") {
			r = request(0, 1, rapid.Int32Range(1, 1000).Draw(t, "milli"))
		}
		j := w.submit(rapid.SampledFrom([]string{"red", "blue"}).Draw(t, "tenant"), r, nil)
		for _, row := range w.rows() {
			p := poise.Placement{Job: j.ID, Node: snap.Name(row)}
			if r.Device.Count > 0 {
				p.Devices = []uint16{0}
			}
			w.index++
			if w.state.Apply(poise.Event{Index: w.index, At: w.now, Body: poise.JobPlaced{Placement: p}}) == nil {
				return
			}
			w.index--
		}
	}
}
