package balance

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
	"pgregory.net/rapid"
)

// seen is a kind of gpu job that has arrived so many times.
func seen(times float64, cpu int64, count, milli int32, models ...string) state.Seen {
	return state.Seen{Kind: "gpu", CPU: cpu, Count: count, Milli: milli, Models: models, Times: times}
}

func TestProfileKeepsTheWeightiestShapes(t *testing.T) {
	f := func(params Params, all []state.Seen, wantWeight float64, want ...int64) {
		t.Helper()
		kept, weight := keepShapes("gpu", all, &params)
		var cpus []int64
		for i := range kept {
			cpus = append(cpus, kept[i].CPU)
		}
		if !slices.Equal(cpus, want) || math.Abs(weight-wantWeight) > 1e-12*wantWeight {
			t.Errorf("kept the shapes with cpu %v and weight %v, expected %v and %v", cpus, weight, want, wantWeight)
		}
	}
	p := Params{Cover: 1, Shapes: 64}
	f(p, nil, 1) // before the first job the prior shapes stand alone, of weight 1
	// weight = times * (1 + devices): 20, 12, 30.
	all := []state.Seen{seen(10, 1, 1, 1000), seen(8, 2, 1, 500), seen(6, 3, 4, 1000)}
	f(p, all, 62, 3, 1, 2)
	f(Params{Cover: 0.8, Shapes: 64}, all, 50, 3, 1)                                              // 30 of 62 is too little, 50 of 62 enough
	f(Params{Cover: 30.0 / 62, Shapes: 64}, all, 30, 3)                                           // enough is enough
	f(Params{Cover: 1, Shapes: 2}, all, 50, 3, 1)                                                 // no more than so many
	f(p, []state.Seen{seen(1, 9, 1, 1000), seen(1, 7, 1, 1000), seen(1, 8, 1, 1000)}, 6, 9, 7, 8) // ties: first seen first
	npu := seen(100, 5, 1, 1000)
	npu.Kind = "npu"
	f(p, []state.Seen{npu, seen(1, 4, 1, 1000)}, 2, 4) // another kind has another profile
	f(p, []state.Seen{npu}, 1)
}

// With a half-life, jobs of a kind that have not come for very long count 0.
func TestProfileOfForgottenDemand(t *testing.T) {
	w, params := newWorld(t), Defaults()
	w.apply(poise.NodeJoined{Node: node("n", 64_000, 1<<36, 4, "")})
	profiles := BuildProfiles(w.state.View(), []state.Seen{seen(0, 1000, 1, 500), seen(0, 2000, 1, 1000)}, &params)
	w.apply(poise.ProfileBuilt{Profiles: profiles})
	for i := range profiles[0].Shapes {
		if m := &profiles[0].Shapes[i]; math.IsNaN(m.Share) || math.IsNaN(m.Scarcity) {
			t.Errorf("shape %d: %+v, expected finite numbers", i, *m)
		}
	}
	if got := profiles[0].Shapes; len(got) != 1 || !got[0].Prior || math.Abs(got[0].Weight-0.1) > 1e-15 {
		t.Errorf("shapes %+v, expected the prior shape alone, as if no job had been seen", got)
	}
	loss, _ := w.score(newDemand(t, params), w.submit(request(1000, 0, 1, 500)), []uint32{0})
	if math.IsNaN(loss[0]) {
		t.Errorf("loss %v, expected a finite number", loss[0])
	}
}

func TestPriorShapes(t *testing.T) {
	w, params := newWorld(t), Defaults()
	w.apply(poise.NodeJoined{Node: node("a", 32_000, 64*mib+5, 2, "x")})
	w.apply(poise.NodeJoined{Node: node("b", 32_000, 64*mib, 2, "y")}) // the same class: the model does not count
	w.apply(poise.NodeJoined{Node: node("c", 64_000, 64*mib, 2, "x")})
	w.apply(poise.NodeJoined{Node: node("d", 32_000, 64*mib, 8, "x")})
	w.apply(poise.NodeJoined{Node: node("e", 96_000, 64*mib, 0, "")}) // no device, no class
	n := node("f", 16_000, 64*mib, 1, "z")
	n.Devices.Kind = "npu"
	w.apply(poise.NodeJoined{Node: n})
	w.submit(request(1000, 0, 1, 500)) // W = 1.5
	profiles := BuildProfiles(w.state.View(), w.state.Demand(), &params)
	if len(profiles) != 2 || profiles[0].Kind != "gpu" || profiles[1].Kind != "npu" {
		t.Fatalf("%d profiles, expected gpu and npu", len(profiles))
	}
	type prior struct {
		cpu, memory int64
		count       int32
		weight      float64
	}
	f := func(p *poise.Profile, largest float64, want ...prior) {
		t.Helper()
		var got []prior
		share := 0.0
		for i := range p.Shapes {
			m := &p.Shapes[i]
			share += m.Share
			if m.Prior {
				got = append(got, prior{m.CPU, m.Memory, m.Count, math.Round(m.Weight*1e6) / 1e6})
			}
		}
		if !slices.Equal(got, want) || p.LargestDevices != largest {
			t.Errorf("%s: prior shapes %v and largest %v, expected %v and %v", p.Kind, got, p.LargestDevices, want, largest)
		}
		if len(p.Shapes) > len(got) && math.Abs(share-1) > 1e-12 {
			t.Errorf("%s: shares add up to %v, expected 1", p.Kind, share)
		}
	}
	f(profiles[0], 8, prior{64_000, 64, 2, 0.05}, prior{32_000, 64, 8, 0.05}, prior{32_000, 64, 2, 0.05})
	f(profiles[1], 1, prior{16_000, 64, 1, 0.1}) // W = 1 before the first npu job
}

// A fleet in which no two nodes are alike has few classes all the same, and the
// profile does not depend on who joined first.
func TestPriorShapesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		n := rapid.SampledFrom([]int{60, 64, 65, 200, 700}).Draw(t, "nodes")
		for i := range n {
			// Far apart, so that few significant bits do not bring them together.
			cpu, memory := int64(1)<<(i%40), int64(mib)<<(i/40%18)
			if rapid.IntRange(0, 1).Draw(t, "near") == 0 {
				cpu, memory = 64_000+int64(i), 1<<36+int64(i)*mib
			}
			w.apply(poise.NodeJoined{Node: node(fmt.Sprint("n", i), cpu, memory, int32(1+i%32), "")})
		}
		classes, largest := nodeClasses(w.state.View(), "gpu")
		if len(classes) > maxPriors || largest != min(n, 32) {
			t.Fatalf("%d classes, largest %d, expected at most %d and %d", len(classes), largest, maxPriors, min(n, 32))
		}
		if n <= maxPriors && len(classes) != n {
			t.Fatalf("%d classes of %d different nodes, expected all", len(classes), n)
		}
		for i := range classes {
			if classes[i].cpu <= 0 || classes[i].memory <= 0 || classes[i].devices <= 0 {
				t.Fatalf("class %+v, expected amounts above 0", classes[i])
			}
		}
	})
}

func TestFloorBits(t *testing.T) {
	f := func(x int64, keep int, want int64) {
		t.Helper()
		if got := floorBits(x, keep); got != want {
			t.Errorf("floorBits(%d, %d) = %d, expected %d", x, keep, got, want)
		}
	}
	f(0, 3, 0)
	f(7, 3, 7)
	f(15, 3, 14)
	f(64_000, 6, 63_488)
	f(1000, 1, 512)
	f(math.MaxInt64, 1, 1<<62)
}

// Nodes that take no jobs leave no room, but are part of what may come back.
func TestRoomLeavesOutNodesThatTakeNoJobs(t *testing.T) {
	w, params := newWorld(t), Defaults()
	for _, name := range []string{"a", "b", "c"} {
		w.apply(poise.NodeJoined{Node: node(name, 8000, 8*mib, 2, "")})
	}
	w.apply(poise.NodeMarked{Name: "b", Drained: true})
	w.apply(poise.NodeMarked{Name: "c", NotReady: true})
	w.submit(request(1000, mib, 1, 500))
	p := BuildProfiles(w.state.View(), w.state.Demand(), &params)[0]
	// Node a has room for four halves of a device, and for itself once.
	if p.IdleDevices != 2 || p.Shapes[0].Room != 2 || p.Shapes[1].Room != 2 || p.LargestDevices != 2 {
		t.Errorf("profile %+v, expected 2 idle devices and room 2 and 2", p)
	}
}

// When all nodes of a kind have left, its profile stays, with finite numbers.
func TestProfileWithoutNodes(t *testing.T) {
	w, params := newWorld(t), Defaults()
	w.apply(poise.NodeJoined{Node: node("a", 8000, 8*mib, 2, "")})
	w.submit(request(1000, mib, 1, 500))
	w.apply(poise.NodeLeft{Name: "a"})
	p := BuildProfiles(w.state.View(), w.state.Demand(), &params)[0]
	if len(p.Shapes) != 1 || p.Shapes[0].Share != 1 || p.LargestDevices != 1 || p.Shapes[0].Scarcity != 0.5 {
		t.Errorf("profile %+v, expected one shape with share 1 and scarcity 0.5", p)
	}
}

// The numbers of a profile are finite and its shares add up to 1 or less.
func TestProfileIsFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, params := drawWorld(t, extreme), drawParams(t)
		for range 3 {
			w.submit(drawRequest(t, extreme))
		}
		all := w.state.Demand()
		for i := range all {
			all[i].Times = rapid.OneOf(rapid.SampledFrom([]float64{0, math.SmallestNonzeroFloat64, 1e-300, 1, 1e12}), rapid.Float64Range(0, 10)).Draw(t, "times")
		}
		for _, p := range BuildProfiles(w.state.View(), all, &params) {
			sum := 0.0
			for i := range p.Shapes {
				m := &p.Shapes[i]
				for _, v := range []float64{m.Weight, m.Share, m.Room, m.Scarcity} {
					if !(v >= 0) || math.IsInf(v, 0) {
						t.Fatalf("shape %+v, expected finite numbers of 0 or more", m)
					}
				}
				sum += m.Share
			}
			if sum > 1+1e-9 {
				t.Fatalf("shares add up to %v, expected at most 1", sum)
			}
		}
	})
}

// epochs submits jobs and gives the arrivals at which a new epoch was due. A
// kind joins after so many arrivals, where that is not 0.
func epochs(t *testing.T, nodes int, devices int32, epoch uint64, arrivals, join int) []int {
	t.Helper()
	w, params := newWorld(t), Defaults()
	params.Epoch = epoch
	for i := range nodes {
		w.apply(poise.NodeJoined{Node: node(fmt.Sprint("n", i), 1000, mib, devices, "")})
	}
	var due []int
	for i := 1; i <= arrivals; i++ {
		if i == join {
			n := node("late", 1000, mib, 1, "")
			n.Devices.Kind = "npu"
			w.apply(poise.NodeJoined{Node: n})
		}
		w.apply(poise.JobWithdrawn{Job: w.submit(request(1, 0, 0, 0)).ID})
		if Due(w.state.View(), &params) {
			due = append(due, i)
			w.build(&params)
		}
	}
	return due
}

func TestDue(t *testing.T) {
	f := func(nodes int, devices int32, epoch uint64, arrivals, join int, want ...int) {
		t.Helper()
		if got := epochs(t, nodes, devices, epoch, arrivals, join); !slices.Equal(got, want) {
			t.Errorf("%d nodes, epoch %d: due at %v, expected %v", nodes, epoch, got, want)
		}
	}
	f(1, 1, 0, 2000, 0, 1, 8, 32, 128, 628, 1128, 1628)
	f(2000, 1, 0, 1200, 0, 1, 8, 32, 128, 628, 1128)
	f(2001, 1, 0, 8200, 0, 1, 8, 32, 128, 128+4002, 128+8004)
	f(1, 1, 40, 250, 0, 1, 8, 32, 128, 168, 208, 248)
	f(1, 1, 1, 132, 0, 1, 8, 32, 128, 129, 130, 131, 132)
	// A kind that joins begins an epoch with the next arrival, and the interval
	// counts from there.
	f(1, 1, 0, 1300, 700, 1, 8, 32, 128, 628, 700, 1200)
	f(1, 1, 0, 700, 20, 1, 8, 20, 32, 128, 628)
	// A fleet without devices counts its demand at the same arrivals.
	f(1, 0, 0, 1300, 0, 1, 8, 32, 128, 628, 1128)
	f(1, 0, 0, 1300, 700, 1, 8, 32, 128, 628, 700, 1200)
}

func TestEpochNumbers(t *testing.T) {
	w, params := newWorld(t), Defaults()
	w.apply(poise.NodeJoined{Node: node("a", 1000, mib, 1, "")})
	for want := uint64(1); want < 4; want++ {
		w.submit(request(1, 0, 0, 0))
		w.build(&params)
		p := w.state.View().Profile("gpu")
		if w.state.View().Epoch() != want || p.Epoch != want || p.Arrivals != want {
			t.Errorf("epoch %d, profile %d at %d arrivals, expected %d", w.state.View().Epoch(), p.Epoch, p.Arrivals, want)
		}
	}
}

func TestParamsValidate(t *testing.T) {
	f := func(change func(*Params), want string) {
		t.Helper()
		p := Defaults()
		change(&p)
		if _, err := NewDemand(p); errorText(err) != want || err != nil && poise.KindOf(err) != poise.Invalid {
			t.Errorf("%+v: %v, expected %s", p, err, want)
		}
	}
	f(func(*Params) {}, "")
	f(func(p *Params) { p.Beta = 0 }, "idle-balance parameters: beta: 0, expected 0.01 to 4")
	f(func(p *Params) { p.Beta = math.NaN() }, "idle-balance parameters: beta: NaN, expected 0.01 to 4")
	f(func(p *Params) { p.Lambda = -1 }, "idle-balance parameters: lambda: -1, expected 0 to 1000")
	f(func(p *Params) { p.Gamma = 9 }, "idle-balance parameters: gamma: 9, expected 0 to 8")
	f(func(p *Params) { p.Epsilon = math.Inf(1) }, "idle-balance parameters: epsilon: +Inf, expected 0 to 10")
	f(func(p *Params) { p.Cover = 0 }, "idle-balance parameters: cover: 0, expected 0.01 to 1")
	f(func(p *Params) { p.Cover = 1.1 }, "idle-balance parameters: cover: 1.1, expected 0.01 to 1")
	f(func(p *Params) { p.Shapes = 0 }, "idle-balance parameters: shapes: 0, expected 1 to 4096")
	f(func(p *Params) { p.Shapes = 4097 }, "idle-balance parameters: shapes: 4097, expected 1 to 4096")
}
