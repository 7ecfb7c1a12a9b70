package balance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// golden is the file of worked examples: every intermediate value of five
// decisions, computed by an independent reference. Memory is in MiB, cpu and
// devices in thousandths.
type golden struct {
	Tolerance float64
	Examples  []goldenExample
}

type goldenExample struct {
	Name, Formula string
	Omega         map[string]float64
	Nodes         map[string]goldenNode
	Job           goldenShape
	Result        map[string]json.RawMessage
	Winner        json.RawMessage
	Order         []json.RawMessage

	Beta    float64
	Lambda  float64 `json:"lambda_"`
	Gamma   float64
	Epsilon float64
	Cover   float64
	Shapes  int `json:"max_shapes"`

	Seen       []goldenShape
	Capacity   map[string]goldenShape `json:"node_capacity"`
	LargestGPU float64                `json:"max_gpus"`
	Profile    []goldenShape
	IdleGPUs   float64 `json:"cluster_idle_gpus"`
}

type goldenNode struct {
	Cap, Alloc map[string]int64
	CPU, Mem   int64 // idle
	Dev        []uint16
}

type goldenShape struct {
	Count, CPU, Mem, GPUs int64
	Milli                 int32 `json:"gpu_milli"`
	Weight, P, S, H       float64
	Prior                 bool
}

type goldenSpread struct {
	U, W, M1, M2 map[string]float64
	UPred        map[string]float64 `json:"u_pred"`
	B            float64
	BPred        float64 `json:"b_pred"`
	Loss         float64
}

type goldenDemand struct {
	Device       int
	W, B, M1, M2 map[string]float64
	BPred        map[string]float64 `json:"b_pred"`
	Copies       []int64
	CopiesPred   []int64 `json:"copies_pred"`
	Loss         float64
}

func readGolden(t *testing.T) *golden {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "idle_balance_examples.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	mustDecode(t, text, &g)
	if len(g.Examples) != 5 {
		t.Fatalf("%d worked examples, expected 5", len(g.Examples))
	}
	return &g
}

func mustDecode(t *testing.T, text []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// near fails unless got is want within the file's tolerance.
func (g *golden) near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > g.Tolerance {
		t.Errorf("%s = %v, expected %v", what, got, want)
	}
}

func (s *goldenShape) request() poise.Request {
	return request(s.CPU, s.Mem*mib, int32(s.GPUs), s.Milli)
}

// candidate is one line of an example's order: a node and the device of a
// share, -1 for whole devices and for none.
type candidate struct {
	node   string
	device int
	loss   float64
}

func TestWorkedExamples(t *testing.T) {
	g := readGolden(t)
	for i := range g.Examples {
		e := &g.Examples[i]
		t.Run(e.Name, func(t *testing.T) {
			var got []candidate
			if e.Formula == "spread" {
				got = g.checkSpread(t, e)
			} else {
				got = g.checkDemand(t, e)
			}
			slices.SortFunc(got, func(a, b candidate) int {
				return cmp.Or(cmp.Compare(poise.RoundLoss(a.loss), poise.RoundLoss(b.loss)), cmp.Compare(a.node, b.node), cmp.Compare(a.device, b.device))
			})
			want := make([]candidate, len(e.Order))
			for k := range e.Order {
				want[k] = goldenPlace(t, e, e.Order[k])
			}
			if !slices.EqualFunc(got, want, func(a, b candidate) bool { return a.node == b.node && a.device == b.device }) {
				t.Errorf("order %v, expected %v", got, want)
			}
			if winner := goldenPlace(t, e, e.Winner); got[0].node != winner.node || got[0].device != winner.device {
				t.Errorf("winner %v, expected %v", got[0], winner)
			}
		})
	}
}

// goldenPlace reads "node" or ["node", device].
func goldenPlace(t *testing.T, e *goldenExample, text json.RawMessage) candidate {
	t.Helper()
	c := candidate{device: -1}
	if e.Formula == "spread" {
		mustDecode(t, text, &c.node)
	} else {
		mustDecode(t, text, &[]any{&c.node, &c.device})
	}
	return c
}

// mustAgree fails unless the pipeline, with this scorer and without tiers,
// chooses the node and device that come first.
func mustAgree(t *testing.T, w *world, s sched.Scorer, j *state.Job, first candidate) {
	t.Helper()
	d, err := sched.NewPipeline(sched.Policy{Name: "test", Scorer: s}).Plan(w.state.View(), j, sched.Pass{Detail: sched.Brief})
	if err != nil {
		t.Fatal(err)
	}
	if d.Node != first.node || first.device >= 0 && !slices.Equal(d.Devices, []uint16{uint16(first.device)}) {
		t.Errorf("planned on %s %v, expected %s %d", d.Node, d.Devices, first.node, first.device)
	}
}

// goldenRequest is the amounts of a spread example.
func goldenRequest(amounts map[string]int64) poise.Request {
	r := request(amounts["cpu"], amounts["mem"]*mib, int32(amounts["gpu"]/poise.WholeDevice), poise.WholeDevice)
	if r.Device.Count == 0 {
		r.Device = poise.DeviceRequest{}
	}
	return r
}

func (g *golden) checkSpread(t *testing.T, e *goldenExample) []candidate {
	w := newWorld(t)
	weights := Weights{}
	for name, omega := range e.Omega {
		weights[dimension(name)] = omega
	}
	s := newSpread(t, weights)
	for name, n := range e.Nodes {
		w.apply(poise.NodeJoined{Node: node(name, n.Cap["cpu"], n.Cap["mem"]*mib, int32(n.Cap["gpu"]/poise.WholeDevice), "")})
		running := goldenRequest(n.Alloc)
		var devices []uint16
		for d := range running.Device.Count {
			devices = append(devices, uint16(d))
		}
		w.run(name, running, devices...)
	}
	j := w.submit(e.Job.request())
	fits := w.fitting(j)
	var order []candidate
	for name, text := range e.Result {
		row := w.row(name)
		if string(text) == "null" {
			if slices.Contains(fits, row) {
				t.Errorf("%s is a candidate, expected that it cannot hold the job", name)
			}
			continue
		}
		var want goldenSpread
		mustDecode(t, text, &want)
		loss, _ := w.score(s, j, []uint32{row})
		g.near(t, name+" loss", loss[0], want.Loss)
		order = append(order, candidate{name, -1, loss[0]})

		_, columns := s.Explain(w.state.View(), j, row, nil)
		if len(columns) != len(want.W) {
			t.Errorf("%s: %d columns, expected %d", name, len(columns), len(want.W))
		}
		for i := range columns {
			c, term := &columns[i], &s.terms[i]
			key := map[string]string{"memory": "mem"}[c.Name]
			key = cmp.Or(key, c.Name)
			g.near(t, name+" u "+key, term.before, want.U[key])
			g.near(t, name+" u' "+key, term.after, want.UPred[key])
			g.near(t, name+" w "+key, c.Weight, want.W[key])
			g.near(t, name+" b", c.Before, want.B)
			g.near(t, name+" b'", c.After, want.BPred)
			g.near(t, name+" M1 "+key, c.M1, want.M1[key])
			g.near(t, name+" M2 "+key, c.M2, want.M2[key])
		}
	}
	mustAgree(t, w, s, j, goldenPlace(t, e, e.Winner))
	return order
}

func dimension(name string) string {
	if name == "mem" {
		return "memory"
	}
	return name
}

func (g *golden) checkDemand(t *testing.T, e *goldenExample) []candidate {
	p := Params{Beta: e.Beta, Lambda: e.Lambda, Gamma: e.Gamma, Epsilon: e.Epsilon, Cover: e.Cover, Shapes: e.Shapes}
	d := newDemand(t, p)
	w := e.demandWorld(t)
	var seen []state.Seen
	for _, s := range e.Seen {
		if s.GPUs > 0 { // jobs without devices are not part of the demand
			seen = append(seen, state.Seen{Kind: "gpu", CPU: s.CPU, Memory: s.Mem, Count: int32(s.GPUs), Milli: s.Milli, Times: float64(s.Count)})
		}
	}
	profiles := BuildProfiles(w.state.View(), seen, &p)
	g.checkProfile(t, e, profiles[0])
	w.apply(poise.ProfileBuilt{Profiles: profiles})

	j := w.submit(e.Job.request())
	if rows := w.fitting(j); len(rows) != len(e.Result) {
		t.Errorf("%d candidates, expected %d", len(rows), len(e.Result))
	}
	var order []candidate
	for name, text := range e.Result {
		var want []goldenDemand
		mustDecode(t, text, &want)
		order = append(order, g.checkDemandNode(t, w, d, j, name, want)...)
	}
	mustAgree(t, w, d, j, goldenPlace(t, e, e.Winner))
	return order
}

// demandWorld joins the nodes, and runs on each what its idle amounts lack.
func (e *goldenExample) demandWorld(t *testing.T) *world {
	w := newWorld(t)
	for name, c := range e.Capacity {
		w.apply(poise.NodeJoined{Node: node(name, c.CPU, c.Mem*mib, int32(c.GPUs), "")})
		idle := e.Nodes[name]
		w.run(name, request(c.CPU-idle.CPU, (c.Mem-idle.Mem)*mib, 0, 0))
		for device, free := range idle.Dev {
			if free < poise.WholeDevice {
				w.run(name, request(0, 0, 1, int32(poise.WholeDevice-free)), uint16(device))
			}
		}
	}
	return w
}

func (g *golden) checkProfile(t *testing.T, e *goldenExample, p *poise.Profile) {
	t.Helper()
	g.near(t, "C_max", p.LargestDevices, e.LargestGPU)
	g.near(t, "S_tot", p.IdleDevices, e.IdleGPUs)
	if len(p.Shapes) != len(e.Profile) {
		t.Fatalf("%d shapes, expected %d", len(p.Shapes), len(e.Profile))
	}
	for i, want := range e.Profile {
		m := &p.Shapes[i]
		if m.CPU != want.CPU || m.Memory != want.Mem || m.Count != int32(want.GPUs) || m.Milli != want.Milli || m.Prior != want.Prior || m.Seen != float64(want.Count) {
			t.Errorf("shape %d: %+v, expected %+v", i, *m, want)
		}
		g.near(t, "weight", m.Weight, want.Weight)
		g.near(t, "p", m.Share, want.P)
		g.near(t, "S", m.Room, want.S)
		g.near(t, "h", m.Scarcity, want.H)
	}
}

func (g *golden) checkDemandNode(t *testing.T, w *world, d *Demand, j *state.Job, name string, want []goldenDemand) []candidate {
	t.Helper()
	snap, row := w.state.View(), w.row(name)
	var order []candidate
	for i := range want {
		e := &want[i]
		at := fmt.Sprint(name, " device ", e.Device)
		var devices []uint16
		switch ask := &j.Shape.Request.Device; {
		case ask.Shared():
			devices = []uint16{uint16(e.Device)}
		case ask.Count > 0:
			devices = devicesFor(snap, row, ask)[:ask.Count]
		}
		_, columns := d.Explain(snap, j, row, devices)
		if snap.Devices(row) == 0 {
			if columns != nil || e.Loss != 0 {
				t.Errorf("%s has no devices: %v and loss %v, expected no columns and 0", at, columns, e.Loss)
			}
			order = append(order, candidate{name, e.Device, 0})
			continue
		}
		loss := 0.0
		for k, key := range []string{"gpu", "room"} {
			c := &columns[k]
			g.near(t, at+" w "+key, c.Weight, e.W[key])
			g.near(t, at+" b "+key, c.Before, e.B[key])
			g.near(t, at+" b' "+key, c.After, e.BPred[key])
			g.near(t, at+" M1 "+key, c.M1, e.M1[key])
			g.near(t, at+" M2 "+key, c.M2, e.M2[key])
			loss += c.Factor * (c.M1 - c.M2)
		}
		g.near(t, at+" loss", loss, e.Loss)
		k := d.byKind[snap.Kind(row)]
		if copies := copiesOf(k, snap, row); !slices.Equal(copies, e.Copies) {
			t.Errorf("%s: copies %v, expected %v", at, copies, e.Copies)
		}
		w.apply(poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: name, Devices: devices}})
		if copies := copiesOf(k, w.state.View(), row); !slices.Equal(copies, e.CopiesPred) {
			t.Errorf("%s: copies with the job %v, expected %v", at, copies, e.CopiesPred)
		}
		w.apply(poise.JobRequeued{Job: j.ID})
		order = append(order, candidate{name, e.Device, loss})
	}
	best := slices.MinFunc(order, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(poise.RoundLoss(a.loss), poise.RoundLoss(b.loss)), cmp.Compare(a.device, b.device))
	})
	loss, mask := w.score(d, j, []uint32{row})
	g.near(t, name+" loss", loss[0], best.loss)
	if best.device >= 0 && mask[0] != 1<<best.device || best.device < 0 && mask[0] != 0 {
		t.Errorf("%s: device mask %b, expected device %d", name, mask[0], best.device)
	}
	return order
}
