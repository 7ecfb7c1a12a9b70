package policy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// element is what a column of echo must hold for a row, straight from the
// snapshot.
func element(snap *state.Snapshot, job *state.Job, row uint32, c abi.Column) float64 {
	symbol := func(text string) float64 { return float64(slices.Index(snap.Symbols(), text)) }
	label := func(key string) float64 {
		for _, l := range snap.Labels(row) {
			if l.Key == key {
				return symbol(l.Value)
			}
		}
		return 0
	}
	capacity, allocated := int64(0), int64(0)
	if d := slices.Index(snap.Dims(), c.Name); d >= 0 {
		capacity, allocated = snap.Capacity(row, d), snap.Allocated(row, d)
	}
	hasKind := snap.Kinds()[snap.Kind(row)] == "gpu"
	if c.Name == "gpu" && hasKind {
		for _, free := range snap.Free(row) {
			capacity, allocated = capacity+1000, allocated+1000-int64(free)
		}
	}
	n := 0.0
	switch c.Kind {
	case abi.Capacity:
		return float64(capacity)
	case abi.Allocated:
		return float64(allocated)
	case abi.Class:
		return label(poise.ClassLabel)
	case abi.Label:
		return label(c.Name)
	case abi.Taints:
		for i := range snap.Taints(row) {
			taint := &snap.Taints(row)[i]
			n = float64(uint64(n) | map[poise.Effect]uint64{poise.NoSchedule: 1, poise.NoExecute: 2}[taint.Effect])
			if !poise.Tolerates(job.Shape.Tolerations, taint) {
				n = float64(uint64(n) | 4)
			}
		}
	case abi.Selectors:
		for i := range job.Shape.Selectors {
			if job.Shape.Selectors[i].Matches(snap.Labels(row)) {
				n += float64(uint64(1) << i)
			}
		}
	case abi.Devices:
		if hasKind {
			for d, free := range snap.Free(row) {
				n += float64(d+1) * float64(free)
			}
		}
	case abi.DeviceModel:
		if hasKind {
			n = symbol(snap.Models()[snap.Model(row)])
		}
	case abi.RunningTasks:
		n = float64(snap.Running(row))
	case abi.TenantTasks:
		for l := snap.Tasks(row); l != nil; l = l.Next {
			if l.Task.Tenant == job.Tenant {
				n++
			}
		}
	}
	return n
}

// Whatever happened since the last call, a guest sees of every row what the
// snapshot says, in blocks and in picked rows.
func TestGuestSeesTheSnapshot(t *testing.T) {
	columns := guestOf(t, "echo", nil).module.Manifest.AllColumns()
	guests := make([]*Guest, len(columns))
	for i := range columns {
		guests[i] = guestOf(t, "echo", map[string]string{"column": fmt.Sprint(i)})
	}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.apply(guests[0].Symbols())
		for i := range guests {
			guests[i].mirror = newMirror(guests[i].module.Manifest) // of another State
		}
		for range rapid.IntRange(1, 25).Draw(t, "rounds") {
			w.step(t)
			job := w.submit("red", request(1, 0, 0), func(j *poise.Job) {
				j.Selectors = []poise.Selector{{Key: "zone", Op: poise.In, Values: []string{"east"}}, {Key: "other", Op: poise.Exists}}
				j.Tolerations = []poise.Toleration{{Key: string(poise.NoSchedule), Exists: true}}
			})
			rows := rapid.Permutation(w.rows()).Draw(t, "rows")
			rows = rows[:rapid.IntRange(0, len(rows)).Draw(t, "count")]
			if rapid.Bool().Draw(t, "sorted") {
				slices.Sort(rows)
			}
			b := &state.Batch{Snap: w.state.View(), Job: job, Rows: rows}
			loss, devices := make([]float64, len(rows)), make([]uint32, len(rows))
			i := rapid.IntRange(0, len(guests)-1).Draw(t, "column")
			guests[i].Prepare(b.Snap, job)
			if err := guests[i].Score(b, loss, devices); err != nil {
				t.Fatal(err)
			}
			for k, row := range rows {
				if want := element(b.Snap, job, row, columns[i]); loss[k] != want || devices[k] != 0 {
					t.Fatalf("column %d %+v of node %s: %v, expected %v", i, columns[i], b.Snap.Name(row), loss[k], want)
				}
			}
			checkSums(t, guests[i].mirror, b.Snap)
		}
	})
}

// checkSums compares the counts over the fleet with those of a new look at every
// row.
func checkSums(t *rapid.T, r *mirror, snap *state.Snapshot) {
	fleet := r.fleet.block()
	sums, most := make([]*big.Int, len(r.dims)), make([]int64, len(r.dims))
	for d := range sums {
		sums[d] = new(big.Int)
	}
	nodes, absent, devices := 0, 0, 0
	type count struct{ nodes, red int }
	zones := map[string]count{}
	for row := range uint32(snap.Rows()) {
		if !snap.Present(row) {
			continue
		}
		nodes++
		devices = max(devices, snap.Devices(row))
		for d := range r.dims {
			capacity, _ := r.amounts(snap, row, d)
			sums[d].Add(sums[d], big.NewInt(capacity))
			most[d] = max(most[d], capacity)
		}
		zone := ""
		for _, l := range snap.Labels(row) {
			if l.Key == "zone" {
				zone = l.Value
			}
		}
		if zone == "" {
			absent++
			continue
		}
		c := zones[zone]
		c.nodes++
		for l := snap.Tasks(row); l != nil; l = l.Next {
			if l.Task.Tenant == "red" {
				c.red++
			}
		}
		zones[zone] = c
	}
	if r.devices != devices {
		t.Fatalf("%d device slots, expected %d", r.devices, devices)
	}
	if fleet.Nodes != nodes {
		t.Fatalf("%d nodes, expected %d", fleet.Nodes, nodes)
	}
	for d := range r.dims {
		want, _ := new(big.Float).SetInt(sums[d]).Float64()
		if diff := fleet.Sum[d] - want; diff > want*1e-15 || -diff > want*1e-15 || fleet.Max[d] != float64(most[d]) {
			t.Fatalf("%s: sum %v, largest %v, expected %v and %d", r.dims[d], fleet.Sum[d], fleet.Max[d], want, most[d])
		}
	}
	block := r.domainBlocks("red")[0]
	if block.Absent != absent || len(block.Values) != len(zones) {
		t.Fatalf("%d absent, %d zones, expected %d and %d", block.Absent, len(block.Values), absent, len(zones))
	}
	for _, v := range block.Values {
		if c := zones[snap.Symbols()[v.Value]]; v.Nodes != c.nodes || v.TenantTasks != c.red {
			t.Fatalf("zone %d: %+v, expected %+v", v.Value, v, c)
		}
	}
}

// A guest may be asked about a snapshot that is older than the last one, as where a
// lane's answer came too late: it sees the fleet as it was then.
func TestGuestFollowsOlderSnapshots(t *testing.T) {
	g := guestOf(t, "echo", nil)
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.apply(g.Symbols())
		g.mirror = newMirror(g.module.Manifest) // of another State
		job := w.submit("red", request(1, 0, 0), nil)
		snaps := []*state.Snapshot{w.state.Snapshot()}
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			w.step(t)
			snaps = append(snaps, w.state.Snapshot())
			snap := rapid.SampledFrom(snaps).Draw(t, "snapshot")
			g.Prepare(snap, job)
			checkSums(t, g.mirror, snap)
			checkColumns(t, g, snap, job)
			if rapid.Bool().Draw(t, "turned") {
				checkTurned(t, g.mirror)
			}
		}
	})
}

// checkColumns compares what does not depend on the job with the snapshot.
func checkColumns(t *rapid.T, g *Guest, snap *state.Snapshot, job *state.Job) {
	for i, c := range g.mirror.columns {
		if perCall(c.Kind) || c.Kind == abi.Devices {
			continue
		}
		for row := range uint32(snap.Rows()) {
			b := g.mirror.element(row, i)
			got, want := 0.0, 0.0
			if len(b) == 8 {
				got = math.Float64frombits(binary.LittleEndian.Uint64(b))
			} else {
				got = float64(binary.LittleEndian.Uint32(b))
			}
			if snap.Present(row) {
				want = element(snap, job, row, c)
			}
			if got != want {
				t.Fatalf("column %+v of row %d: %v, expected %v", c, row, got, want)
			}
		}
	}
}

// checkTurned compares columns with rows.
func checkTurned(t *rapid.T, m *mirror) {
	m.turn()
	for i, column := range m.data {
		for row := range uint32(m.rows) {
			if got, want := column[int(row)*m.stride[i]:][:m.stride[i]], m.element(row, i); !bytes.Equal(got, want) {
				t.Fatalf("column %+v of row %d: %x, expected %x", m.columns[i], row, got, want)
			}
		}
		if len(column) != m.rows*m.stride[i] {
			t.Fatalf("column %+v: %d bytes for %d rows of %d", m.columns[i], len(column), m.rows, m.stride[i])
		}
	}
}

// A label whose value got its number after the guest first saw it has the number
// once its row changes.
func TestMirrorNamesWhatHadNoNumber(t *testing.T) {
	w := newWorld(t)
	fleet(w, 2)
	w.apply(poise.NodeJoined{Node: poise.Node{
		Name: "late", Capacity: resource.List{{Name: "cpu", Value: 64000}}, Labels: []poise.Label{{Key: "zone", Value: "nowhere-else"}},
	}})
	g := guestOf(t, "echo", nil)
	job := w.submit("t", request(1, 0, 0), nil)
	g.Prepare(w.state.View(), job)
	w.apply(g.Symbols())
	row := uint32(w.state.View().Rows() - 1)
	zone := slices.IndexFunc(g.mirror.columns, func(c abi.Column) bool { return c.Kind == abi.Label && c.Name == "zone" })
	if got := binary.LittleEndian.Uint32(g.mirror.element(row, zone)); got != unknown {
		t.Fatalf("symbol %d before there is one, expected %d", got, uint32(unknown))
	}
	w.apply(poise.JobPlaced{Placement: poise.Placement{Job: job.ID, Node: "late"}})
	g.Prepare(w.state.View(), w.submit("t", request(1, 0, 0), nil))
	if got, want := binary.LittleEndian.Uint32(g.mirror.element(row, zone)), slices.Index(w.state.View().Symbols(), "nowhere-else"); int(got) != want || want < 1 {
		t.Errorf("symbol %d, expected %d", got, want)
	}
}
