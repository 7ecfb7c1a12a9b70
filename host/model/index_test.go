package model

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// yard is a state and what a test needs to change it.
type yard struct {
	t     interface{ Fatal(...any) }
	state *state.State
	index uint64
	jobs  int
}

func newYard(t interface{ Fatal(...any) }) *yard {
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return &yard{t: t, state: s}
}

func (y *yard) try(body poise.Body) bool {
	if err := y.state.Apply(poise.Event{Index: y.index + 1, Body: body}); err != nil {
		return false
	}
	y.index++
	return true
}

func (y *yard) must(body poise.Body) {
	if !y.try(body) {
		y.t.Fatal("refused: ", body)
	}
}

func (y *yard) submit(r poise.Request) *state.Job {
	y.jobs++
	id := poise.JobID(fmt.Sprint("job-", y.jobs))
	y.must(poise.JobSubmitted{Job: poise.Job{ID: id, Name: string(id), Tenant: "t", Tasks: 1, Request: r}})
	return y.state.Job(id)
}

func amounts(cpu, memory int64) resource.List {
	return resource.List{{Name: "cpu", Value: cpu}, {Name: "memory", Value: memory}}
}

// fits is an oracle of its own: whether the row can take the request now.
func fits(snap *state.Snapshot, row uint32, r *poise.Request) bool {
	if !snap.Schedulable(row) {
		return false
	}
	for _, a := range r.Amounts {
		dim := slices.Index(snap.Dims(), a.Name)
		if a.Value > 0 && (dim < 0 || snap.Idle(row, dim) < a.Value) {
			return false
		}
	}
	if r.Device.Count == 0 {
		return true
	}
	if snap.Kinds()[snap.Kind(row)] != r.Device.Kind || len(r.Device.Models) > 0 && !slices.Contains(r.Device.Models, snap.Models()[snap.Model(row)]) {
		return false
	}
	n := int32(0)
	for _, free := range snap.Free(row) {
		if int32(free) >= r.Device.Milli {
			n++
		}
	}
	return n >= r.Device.Count
}

func (y *yard) check(x *Index, r poise.Request) {
	j := y.submit(r)
	snap := y.state.View()
	var ask Ask
	ask.Resolve(j.Shape, snap)
	rows, left := x.Candidates(snap, &ask, nil, nil)
	seen := map[uint32]bool{}
	for _, row := range rows {
		seen[row] = true
	}
	for _, out := range left {
		if out.Reason == 0 {
			y.t.Fatal("left out without a reason: ", out)
		}
		for _, row := range out.Rows {
			if seen[row] {
				y.t.Fatal("row comes twice: ", row)
			}
			seen[row] = true
			if fits(snap, row, &r) {
				y.t.Fatal("left out though it fits: ", snap.Name(row), " ", r)
			}
		}
	}
	if len(seen) != snap.Nodes() {
		y.t.Fatal("in the answer ", len(seen), " rows, present ", snap.Nodes())
	}
	y.must(poise.JobWithdrawn{Job: j.ID})
}

// Whatever happens to a fleet, every present row is a candidate or left out, and
// none that can take the job is left out.
func TestIndexLeavesOutNoFeasibleRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := newYard(t)
		classes := rapid.Uint32Range(1, 4).Draw(t, "classes")
		x := NewIndex(func(snap *state.Snapshot, row uint32) uint32 { return uint32(snap.Capacity(row, 0)) % classes }, func(uint32) string { return "" })
		node := func() poise.Node {
			n := poise.Node{
				Name:     fmt.Sprint("n", rapid.IntRange(0, 90).Draw(t, "name")),
				Capacity: amounts(rapid.Int64Range(0, 9).Draw(t, "cpu"), rapid.Int64Range(0, 3).Draw(t, "memory")),
				Drained:  rapid.IntRange(0, 5).Draw(t, "drained") == 0,
			}
			if rapid.Bool().Draw(t, "devices") {
				n.Devices = poise.Devices{Kind: rapid.SampledFrom([]string{"gpu", "npu"}).Draw(t, "kind"), Model: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "model"), Count: rapid.Int32Range(1, 4).Draw(t, "count")}
			}
			if rapid.IntRange(0, 9).Draw(t, "fpga") == 0 {
				n.Capacity = slices.Insert(n.Capacity, 1, resource.Amount{Name: "fpga", Value: 2})
			}
			return n
		}
		request := func() poise.Request {
			r := poise.Request{Amounts: amounts(rapid.Int64Range(0, 9).Draw(t, "ask cpu"), rapid.Int64Range(0, 3).Draw(t, "ask memory"))}
			switch rapid.IntRange(0, 3).Draw(t, "ask devices") {
			case 1:
				r.Device = poise.DeviceRequest{Kind: "gpu", Count: rapid.Int32Range(1, 4).Draw(t, "ask count"), Milli: poise.WholeDevice}
			case 2:
				r.Device = poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: rapid.Int32Range(1, 1000).Draw(t, "ask milli"), Models: []string{"a"}}
			case 3:
				r.Amounts = slices.Insert(r.Amounts, 1, resource.Amount{Name: rapid.SampledFrom([]string{"fpga", "gizmo"}).Draw(t, "odd"), Value: 1})
			}
			return r
		}
		for range rapid.IntRange(0, 70).Draw(t, "fleet") {
			y.try(poise.NodeJoined{Node: node()})
		}
		var running []poise.JobID
		t.Repeat(map[string]func(*rapid.T){
			"join":   func(t *rapid.T) { y.try(poise.NodeJoined{Node: node()}) },
			"change": func(t *rapid.T) { y.try(poise.NodeChanged{Node: node()}) },
			"leave":  func(t *rapid.T) { y.try(poise.NodeLeft{Name: node().Name}) },
			"mark": func(t *rapid.T) {
				y.try(poise.NodeMarked{Name: node().Name, NotReady: rapid.Bool().Draw(t, "not ready")})
			},
			"place": func(t *rapid.T) {
				j := y.submit(request())
				snap := y.state.View()
				for row := range uint32(snap.Rows()) {
					if snap.Present(row) && fits(snap, row, &j.Shape.Request) {
						var devices []uint16
						for i, free := range snap.Free(row) {
							if ask := &j.Shape.Request.Device; len(devices) < int(ask.Count) && int32(free) >= ask.Milli {
								devices = append(devices, uint16(i))
							}
						}
						y.must(poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: snap.Name(row), Devices: devices}})
						running = append(running, j.ID)
						return
					}
				}
			},
			"finish": func(t *rapid.T) {
				if len(running) > 0 {
					y.must(poise.JobFinished{Job: running[0]})
					running = running[1:]
				}
			},
			"": func(t *rapid.T) { y.check(x, request()) },
		})
	})
}

// B51: ten nodes with 8 idle each must not stand for one with 12: an envelope
// holds the largest node, not a sum.
func TestIndexKnowsTheLargestNode(t *testing.T) {
	y := newYard(t)
	for i := range 10 {
		y.must(poise.NodeJoined{Node: poise.Node{Name: fmt.Sprint("small-", i), Capacity: amounts(8, 8)}})
	}
	for i := range 2 {
		y.must(poise.NodeJoined{Node: poise.Node{Name: fmt.Sprint("large-", i), Capacity: amounts(16, 8)}})
	}
	x := NewIndex(func(snap *state.Snapshot, row uint32) uint32 { return uint32(snap.Capacity(row, 0)) }, func(class uint32) string { return fmt.Sprint(class) })
	var ask Ask
	snap := y.state.View()
	ask.Resolve(y.submit(poise.Request{Amounts: amounts(12, 1)}).Shape, snap)
	rows, left := x.Candidates(snap, &ask, nil, nil)
	if len(rows) != 2 || len(left) != 1 || left[0].Reason.Code() != poise.CapacityShort || len(left[0].Rows) != 10 {
		t.Errorf("candidates %v, left out %v; expected the two large nodes and ten left out", rows, left)
	}
}

// A fleet that grows to 100,000 nodes and back leaves nothing behind in the
// index but its table of rows.
func TestIndexShrinks(t *testing.T) {
	y := newYard(t)
	x := NewIndex(func(snap *state.Snapshot, row uint32) uint32 { return uint32(snap.Capacity(row, 0)) }, func(class uint32) string { return fmt.Sprint(class) })
	name := func(i int) string { return fmt.Sprint("n", i) }
	grown := 100_000
	if testing.Short() {
		grown = 10_000
	}
	blocks := func() (n, rows int) {
		for _, c := range x.classes {
			n += len(c.blocks)
			for _, b := range c.blocks {
				rows += len(b.rows)
			}
		}
		return n, rows
	}
	for i := range 10 {
		y.must(poise.NodeJoined{Node: poise.Node{Name: name(i), Capacity: amounts(int64(1+i%5), 8)}})
	}
	for range 2 {
		for i := 10; i < grown; i++ {
			y.must(poise.NodeJoined{Node: poise.Node{Name: name(i), Capacity: amounts(int64(1+i%5), 8)}})
		}
		y.check(x, poise.Request{Amounts: amounts(3, 1)})
		if n, rows := blocks(); rows != grown || n > grown/blockRows+5 {
			t.Fatalf("%d rows in %d blocks, expected %d rows in full blocks", rows, n, grown)
		}
		for i := 10; i < grown; i++ {
			y.must(poise.NodeLeft{Name: name(i)})
		}
		y.check(x, poise.Request{Amounts: amounts(3, 1)})
		if n, rows := blocks(); rows != 10 || n > 10 || len(x.classes) != 5 {
			t.Fatalf("%d rows in %d blocks of %d classes, expected 10 in 5", rows, n, len(x.classes))
		}
	}
}
