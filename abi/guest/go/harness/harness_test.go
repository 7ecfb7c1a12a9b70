package harness_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	poise "github.com/poise-sched/poise/abi/guest/go"
	"github.com/poise-sched/poise/abi/guest/go/harness"
)

// spy is a test that may fail: Fatalf ends it with what it was told.
type spy struct{ testing.TB }

type failure string

func (spy) Helper() {}

func (spy) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// failing runs f and gives what it failed with, "" where it did not.
func failing(t *testing.T, f func(t testing.TB)) (message string) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			text, ok := r.(failure)
			if !ok {
				panic(r)
			}
			message = string(text)
		}
	}()
	f(spy{t})
	return ""
}

func TestWorld(t *testing.T) {
	p := poise.New("x", "1")
	capacity, used := p.Capacity("cpu"), p.Allocated("cpu")
	zone, model, class, devices, zones := p.Label("zone"), p.DeviceModel("gpu"), p.Class(), p.Devices("gpu"), p.Domain("zone")
	profile, tenant := p.Profile(), p.Tenant()
	limit := p.Enum("limit", "low", "high")
	w := harness.World{
		Nodes: []harness.Node{
			{"capacity:cpu": 4000, "allocated:cpu": 500.5, "zone": "b", "devices:gpu": []int{1000, 250}, "device_model:gpu": "T4", "class": "T4", "job_tasks": 2},
			{"capacity:cpu": uint(8000), "candidate": false},
			{"capacity:cpu": 1000, "zone": "b", "devices:gpu": []int{7}},
		},
		Job: harness.Job{
			Request: map[string]float64{"cpu": 100}, Devices: 1, Milli: 250, DeviceKind: "gpu", Models: []string{"T4", "b"},
			Fields: map[string]any{"tenant": "T4"},
		},
		Params:  map[string]string{"limit": "high"},
		Profile: []harness.Shape{{Count: 3, Devices: 1, Milli: 1000, Request: map[string]float64{"cpu": 7}}, {Count: 1}},
	}
	c := harness.Open(t, p, w)
	f := func(what string, got, want any) {
		t.Helper()
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			t.Errorf("%s: got %s, want %s", what, g, w)
		}
	}
	b, t4 := zone.Of(c)[0], model.Of(c)[0]
	f("capacity", capacity.Of(c), []float64{4000, 8000, 1000})
	f("allocated", used.Of(c), []float64{500.5, 0, 0})
	f("zone", zone.Of(c), []poise.Symbol{b, 0, b})
	f("model", model.Of(c), []poise.Symbol{t4, 0, 0})
	f("class", class.Of(c), []poise.Symbol{t4, 0, 0})
	f("symbols", b != t4 && b != 0 && t4 != 0, true)
	f("devices", [][]uint16{devices.Of(c).Row(0), devices.Of(c).Row(1), devices.Of(c).Row(2)}, "[[1000 250] [0 0] [7 0]]")
	f("candidates", []bool{c.Candidate(0), c.Candidate(1), c.Candidate(2)}, "[true false true]")
	f("ask", c.Job().Devices(), poise.Ask{Count: 1, Milli: 250, Kind: c.Job().Devices().Kind, Models: []poise.Symbol{t4, b}})
	f("request", c.Job().Request(capacity.Dim), 100)
	f("tenant", tenant.Of(c), t4)
	f("limit", limit.Of(c), "high")
	f("fleet", []any{c.Fleet().Nodes(), c.Fleet().Sum(capacity.Dim), c.Fleet().Largest(capacity.Dim)}, "[3 13000 8000]")
	d := zones.Of(c)
	f("domain", []any{d.Len(), d.Absent(), d.At(0).Symbol() == b, d.At(0).Nodes(), d.At(0).JobTasks(), d.At(0).Capacity(capacity.Dim), d.At(0).Allocated(used.Dim)},
		"[1 1 true 2 2 5000 500.5]")
	s := profile.Of(c)
	f("profile", []any{s.Len(), s.Count(), s.Weight(), s.At(0).Request(capacity.Dim), s.At(0).Devices().Milli, s.At(1).Weight()}, "[2 4 7 7 1000 1]")
}

func TestAnswers(t *testing.T) {
	p := poise.New("x", "1").ChoosesDevices().LossRange(0, 10)
	capacity, full := p.Capacity("cpu"), p.Reason("full")
	w := harness.World{Nodes: []harness.Node{{"capacity:cpu": 1}, {"capacity:cpu": 2}, {"candidate": false, "capacity:cpu": 11}}}
	losses, masks := harness.Score(t, p, w, func(c *poise.Call, losses []float64) {
		copy(losses, capacity.Of(c))
		for i := range c.Masks() {
			c.Masks()[i] = uint32(losses[i]) << 1
		}
	})
	if !slices.Equal(losses, []float64{1, 2, 0}) || !slices.Equal(masks, []uint32{2, 4, 0}) {
		t.Errorf("got %v and %v", losses, masks)
	}
	reasons := harness.Filter(t, p, w, func(c *poise.Call, reasons []poise.Reason) {
		for i, v := range capacity.Of(c) {
			if v > 1 {
				reasons[i] = full
			}
		}
	})
	if !slices.Equal(reasons, []string{"", "full", ""}) {
		t.Errorf("got %q", reasons)
	}
}

func TestRefuses(t *testing.T) {
	p := poise.New("x", "1").LossRange(0, 10)
	p.Capacity("cpu")
	p.Label("zone")
	p.I64("must")
	must := map[string]string{"must": "1"}
	nodes := []harness.Node{{"capacity:cpu": 1}, {"capacity:cpu": 2}}
	f := func(want string, w harness.World, score func(c *poise.Call, losses []float64)) {
		t.Helper()
		got := failing(t, func(t testing.TB) { harness.Score(t, p, w, score) })
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	none := func(*poise.Call, []float64) {}
	f("", harness.World{Nodes: nodes, Params: must}, none)
	f("must is not given", harness.World{Nodes: nodes}, none)
	f("params: other", harness.World{Params: map[string]string{"must": "1", "other": "2"}}, none)
	f(`"one"`, harness.World{Params: map[string]string{"must": "one"}}, none)
	f("capacity:cpus", harness.World{Nodes: []harness.Node{{"capacity:cpus": 1}}, Params: must}, none)
	f("zone: 1 of type int", harness.World{Nodes: []harness.Node{{"zone": 1}}, Params: must}, none)
	f("field tenant", harness.World{Job: harness.Job{Fields: map[string]any{"tenant": "a"}}, Params: must}, none)
	f("request: gpu", harness.World{Job: harness.Job{Request: map[string]float64{"gpu": 1}}, Params: must}, none)
	f("node 0: loss 11, expected it within the range [0 10]", harness.World{Nodes: nodes, Params: must}, func(c *poise.Call, losses []float64) {
		losses[0] = 11
	})
	f("node 1: loss NaN", harness.World{Nodes: nodes, Params: must}, func(c *poise.Call, losses []float64) {
		zero := 0.0
		losses[len(losses)-1] = zero / zero
	})
	f("node 1: loss 0", harness.World{Nodes: nodes, Params: must}, func(c *poise.Call, losses []float64) {
		for i := range losses {
			losses[i] = float64(i)
		}
	})
}
