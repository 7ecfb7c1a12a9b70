package baseline

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
	"pgregory.net/rapid"
)

// fitting gives the rows on which the job fits.
func (w *world) fitting(j *state.Job) []uint32 {
	snap, r := w.state.View(), &j.Shape.Request
	cpu, _ := r.Amounts.Find("cpu")
	memory, _ := r.Amounts.Find("memory")
	var rows []uint32
	for row := range uint32(snap.Rows()) {
		enough := int32(0)
		for _, f := range snap.Free(row) {
			if int32(f) >= r.Device.Milli {
				enough++
			}
		}
		model := snap.Models()[snap.Model(row)]
		if snap.Idle(row, 0) >= cpu && snap.Idle(row, 1) >= memory && enough >= r.Device.Count &&
			(len(r.Device.Models) == 0 || slices.Contains(r.Device.Models, model)) {
			rows = append(rows, row)
		}
	}
	return rows
}

// randomRequest draws a request of the published kind: cpu alone, a share of a
// device, or whole devices.
func randomRequest(t *rapid.T) poise.Request {
	cpu := rapid.OneOf(rapid.SampledFrom([]int64{0, 1000, 3152, 11300}), rapid.Int64Range(0, 128000)).Draw(t, "cpu")
	r := poise.Request{Amounts: amounts(cpu, rapid.Int64Range(0, 1<<34).Draw(t, "memory"))}
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 1:
		r.Device = poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: rapid.OneOf(rapid.SampledFrom([]int32{50, 460, 810}), rapid.Int32Range(1, 999)).Draw(t, "milli")}
	case 2:
		r.Device = poise.DeviceRequest{Kind: "gpu", Count: rapid.Int32Range(1, 8).Draw(t, "count"), Milli: poise.WholeDevice}
	}
	if r.Device.Count > 0 {
		r.Device.Models = rapid.SampledFrom([][]string{nil, nil, {"a"}, {"a", "b"}}).Draw(t, "models")
	}
	return r
}

// randomWorld draws a few nodes with tasks on them. The published limits are
// 128000 milli-cores and 8 devices.
func randomWorld(t *rapid.T, published bool) *world {
	cpu, devices := int64(128000), int32(8)
	if !published {
		cpu, devices = math.MaxInt64, poise.MaxDevices
	}
	w := newWorld(t)
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		w.join(
			fmt.Sprint("n", i), rapid.Int64Range(0, cpu).Draw(t, "node cpu"), rapid.Int64Range(0, math.MaxInt64).Draw(t, "node memory"),
			rapid.Int32Range(0, devices).Draw(t, "node devices"), rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "model"),
		)
	}
	for range rapid.IntRange(0, 20).Draw(t, "running") {
		w.place(t, randomRequest(t))
	}
	return w
}

// place runs a job on some node with some devices, where it fits at all.
func (w *world) place(t *rapid.T, r poise.Request) {
	j := w.submit(r)
	rows := w.fitting(j)
	if len(rows) == 0 {
		return
	}
	row := rapid.SampledFrom(rows).Draw(t, "row")
	snap := w.state.View()
	var may []uint16
	for d, f := range snap.Free(row) {
		if r.Device.Count > 0 && int32(f) >= r.Device.Milli {
			may = append(may, uint16(d))
		}
	}
	if len(may) > 0 {
		may = rapid.Permutation(may).Draw(t, "devices")[:r.Device.Count]
		slices.Sort(may)
	}
	w.apply(poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: snap.Name(row), Devices: may}})
}

// Every loss is a whole number, on nodes of the published sizes one of 0 to
// 100; a device that is chosen fits; and the same question has the same answer
// whatever was asked in between and whichever rows are asked about together.
func TestLosses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		published := rapid.Bool().Draw(t, "published sizes")
		w := randomWorld(t, published)
		workload := []poise.Request{randomRequest(t), randomRequest(t), randomRequest(t)}
		j, other := w.submit(randomRequest(t)), w.submit(randomRequest(t))
		snap := w.state.View()
		rows := w.fitting(j)
		for _, name := range Names() {
			p, err := New(name, workload)
			if err != nil {
				t.Fatal(err)
			}
			ask := func(j *state.Job, rows []uint32) ([]float64, []uint32) {
				loss, devices := make([]float64, len(rows)), make([]uint32, len(rows))
				if err := p.Scorer.Score(&state.Batch{Snap: snap, Job: j, Rows: rows}, loss, devices); err != nil {
					t.Fatal(err)
				}
				return loss, devices
			}
			loss, devices := ask(j, rows)
			ask(other, w.fitting(other))
			for i, row := range rows {
				if l := loss[i]; l != math.Trunc(l) || math.IsInf(l, 0) || published && (l < 0 || l > 100) {
					t.Fatalf("%s: loss %v of %s", name, l, snap.Name(row))
				}
				for d, f := range snap.Free(row) {
					if devices[i]>>d&1 == 1 && int32(f) < j.Shape.Request.Device.Milli {
						t.Fatalf("%s: device %d of %s has %d milli free", name, d, snap.Name(row), f)
					}
				}
				l, d := ask(j, rows[i:i+1])
				if l[0] != loss[i] || d[0] != devices[i] {
					t.Fatalf("%s: %v, %b for %s alone, %v, %b before", name, l[0], d[0], snap.Name(row), loss[i], devices[i])
				}
			}
		}
	})
}
