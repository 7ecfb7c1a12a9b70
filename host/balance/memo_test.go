package balance

import (
	"fmt"
	"math"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"pgregory.net/rapid"
)

// Nodes with few and with many partly free devices: more than a remembered
// state holds are evaluated each time, and every loss is what a new scorer gives
// and what the definition gives.
func TestManyPartlyFreeDevices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, params := newWorld(t), Defaults()
		n := rapid.SampledFrom([]int{memoParts - 1, memoParts, memoParts + 1, memoParts + 2, poise.MaxDevices}).Draw(t, "devices")
		w.apply(poise.NodeJoined{Node: node("n", 64_000, 1<<36, int32(n), "")})
		used := rapid.SliceOfN(rapid.Int32Range(0, poise.WholeDevice), n, n).Draw(t, "used")
		for i, milli := range used {
			if milli > 0 {
				w.run("n", request(10, 0, 1, milli), uint16(i))
			}
		}
		w.build(&params)
		d, p := newDemand(t, params), w.state.View().Profile("gpu")
		for range 3 {
			j := w.submit(request(100, mib, 1, rapid.Int32Range(1, 999).Draw(t, "milli")))
			rows := w.fitting(j)
			if len(rows) == 0 {
				continue
			}
			loss, mask := w.score(d, j, rows)
			fresh, freshMask := w.score(newDemand(t, params), j, rows)
			want, _ := lossOfChoice(p, &params, w.state.View(), 0, &j.Shape.Request)
			if loss[0] != fresh[0] || mask[0] != freshMask[0] || math.Abs(loss[0]-want) > 1e-12*(1+params.Lambda*roomOf(p, w.state.View(), 0)) {
				t.Fatalf("loss %v on %b, a new scorer %v on %b, expected %v", loss[0], mask[0], fresh[0], freshMask[0], want)
			}
		}
	})
}

// Which device has how much free does not matter: nodes in one state share what
// is remembered.
func TestStateIgnoresTheOrderOfDevices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		used := rapid.SliceOfN(rapid.SampledFrom([]int32{0, 1, 300, 700, poise.WholeDevice}), 1, 8).Draw(t, "used")
		for _, order := range [][]int32{used, rapid.Permutation(used).Draw(t, "order")} {
			name := fmt.Sprint("n", w.state.View().Rows())
			w.apply(poise.NodeJoined{Node: node(name, 64_000, 1<<36, int32(len(used)), "")})
			for i, milli := range order {
				if milli > 0 {
					w.run(name, request(0, 0, 1, milli), uint16(i))
				}
			}
		}
		if a, b := readState(w.state.View(), 0), readState(w.state.View(), 1); a != b {
			t.Fatalf("states %+v and %+v, expected equal ones", a, b)
		}
	})
}

// Two states that meet in one place replace each other and are never mistaken.
func TestMemoKeepsStatesApart(t *testing.T) {
	m, byPlace := newMemo(), map[uint64]int64{}
	for cpu := int64(0); ; cpu++ {
		key := memoKey{cpu: cpu}
		other, meets := byPlace[key.hash()%memoSlots]
		if byPlace[key.hash()%memoSlots] = cpu; !meets {
			continue
		}
		for i, cpu := range []int64{cpu, other, cpu} {
			want := float64(i)
			if got := m.degrees(&nodeState{cpu: cpu}, func() degrees { return degrees{gpu: want} }).gpu; got != want {
				t.Errorf("answer %v, expected %v evaluated anew", got, want)
			}
		}
		return
	}
}

// The stamp of an epoch comes round after 2^32 of them; entries of the first
// one do not come back with it.
func TestMemoForgetsWhenTheEpochWraps(t *testing.T) {
	m, s := newMemo(), &nodeState{cpu: 1}
	answer := func(gpu float64) float64 {
		return m.degrees(s, func() degrees { return degrees{gpu: gpu} }).gpu
	}
	if a, b := answer(1), answer(2); a != 1 || b != 1 {
		t.Errorf("answers %v and %v, expected 1 and 1 again", a, b)
	}
	m.epoch = math.MaxUint32
	m.forget()
	if got := answer(3); got != 3 || m.epoch == 0 {
		t.Errorf("answer %v in epoch %d, expected 3 and an epoch above 0", got, m.epoch)
	}
}
