package balance

import (
	"math"
	"math/big"
	"math/rand"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
	"pgregory.net/rapid"
)

// copiesOf gives the kernel's k_m for a row, in profile order.
func copiesOf(k *kernel, snap *state.Snapshot, row uint32) []int64 {
	s := readState(snap, row)
	p := k.plan(s.model, snap.Models())
	p.divideIdle(&s)
	copies := make([]int64, len(k.profile.Shapes))
	for i := range p.groups {
		g := &p.groups[i]
		for _, m := range p.shapes[g.from:g.to] {
			copies[m.at] = min(p.byCPU[m.cpu], p.byMemory[m.memory], g.copies(&s))
		}
	}
	return copies
}

// checkDivide fails unless divide agrees with integer division.
func checkDivide(t fataler, n, d int64) {
	t.Helper()
	if got := divided(n, d)[0]; got != n/d {
		t.Fatalf("divide(%d, %d) = %d, expected %d", n, d, got, n/d)
	}
}

// divided gives what divide says of n and ascending values.
func divided(n int64, values ...int64) []int64 {
	out := make([]int64, len(values))
	divide(out, n, values, inverses(values))
	return out
}

func TestDivideIsExact(t *testing.T) {
	quantity := func(t *rapid.T, label string, most int64) int64 {
		// Every number of bits is as likely as any other.
		bits := rapid.IntRange(0, 50).Draw(t, label+" bits")
		return min(rapid.Int64Range(1<<bits>>1, 1<<bits).Draw(t, label), most)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := max(quantity(t, "d", maxIdle), 1)
		checkDivide(t, quantity(t, "n", maxIdle), d)
		k := quantity(t, "k", maxIdle/d)
		for _, n := range []int64{k*d - 1, k * d, k*d + 1} {
			if n >= 0 && n <= maxIdle {
				checkDivide(t, n, d)
			}
		}
	})
}

// The hardest places: multiples of awkward divisors just below the bound, where
// a quotient lies as close to a whole number as it ever does.
func TestDivideAtTheBoundaries(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	divisors := []int64{1, 2, 3, 5, 6, 7, 9, 10, 11, 49, 1<<25 - 1, 1 << 25, 1<<25 + 1, 1<<49 - 1, 1 << 49, 1<<49 + 1, maxIdle - 1, maxIdle}
	for range 20_000 {
		divisors = append(divisors, 1+r.Int63n(1<<(1+r.Intn(50))))
	}
	for _, d := range divisors {
		for _, k := range []int64{1, 2, 3, maxIdle / d, maxIdle/d - 1, 1 + r.Int63n(maxIdle/d)} {
			for _, n := range []int64{k*d - 1, k * d, k*d + 1} {
				if n >= 0 && n <= maxIdle {
					checkDivide(t, n, d)
				}
			}
		}
	}
}

func TestDivideAtItsEdges(t *testing.T) {
	f := func(n int64, values, want []int64) {
		t.Helper()
		if got := divided(n, values...); !slices.Equal(got, want) {
			t.Errorf("%d divided by %v = %v, expected %v", n, values, got, want)
		}
	}
	f(7, []int64{0, 2, 7, 8, 9}, []int64{unlimited, 3, 1, 0, 0})
	f(0, []int64{0, 1}, []int64{unlimited, 0})
	f(0, nil, nil)
	// An amount beyond the bound counts as the bound.
	f(math.MaxInt64, []int64{1, 2, maxIdle + 1}, []int64{maxIdle, maxIdle / 2, 0})
}

// Every free amount by every share, and every number of devices by every ask.
func TestQuotientIsExact(t *testing.T) {
	for d := uint32(1); d <= poise.WholeDevice; d++ {
		inv := inverse(d)
		for n := range uint32(poise.WholeDevice + 1) {
			if got := quotient(n, inv); got != n/d {
				t.Fatalf("quotient(%d, %d) = %d, expected %d", n, d, got, n/d)
			}
		}
	}
}

// 3/8 by square roots is exact to the last few bits. Pow, which is less so the
// smaller x is, says the same where x is not tiny.
func TestPowerOfThreeEighths(t *testing.T) {
	p := Defaults()
	f := func(t fataler, x float64) {
		t.Helper()
		eighth := new(big.Float).SetPrec(200).SetFloat64(x)
		for range 3 {
			eighth.Sqrt(eighth)
		}
		cube := new(big.Float).Mul(eighth, eighth)
		want, _ := cube.Mul(cube, eighth).Float64()
		if got := p.power(x); math.Abs(got-want) > 1e-15*want || x > 1e-9 && math.Abs(got-math.Pow(x, 0.375)) > 1e-14*want {
			t.Fatalf("power(%v) = %v, expected %v", x, got, want)
		}
	}
	for _, x := range []float64{0, 1e-300, 1e-9, 1.0 / 3, 0.5, 1 - 1e-16, 1, 1 + 1e-15, 256} {
		f(t, x)
	}
	rapid.Check(t, func(t *rapid.T) {
		f(t, rapid.OneOf(rapid.Float64Range(0, 2), rapid.Float64Range(0, 1e-9)).Draw(t, "x"))
	})
	if got := p.power(256); got != 8 {
		t.Errorf("power(256) = %v, expected 8", got)
	}
}

func TestPowers(t *testing.T) {
	f := func(beta, gamma, x, wantPower, wantScarcity float64) {
		t.Helper()
		p := Params{Beta: beta, Gamma: gamma}
		if got := p.power(x); got != wantPower {
			t.Errorf("power(%v) at beta %v = %v, expected %v", x, beta, got, wantPower)
		}
		if got := p.scarcity(x); got != wantScarcity {
			t.Errorf("scarcity(%v) at gamma %v = %v, expected %v", x, gamma, got, wantScarcity)
		}
	}
	f(1, 0, 9, 9, 1)
	f(0.5, 1, 9, 3, 9)
	f(2, 2, 9, 81, 81)
	f(0.4, 3, 0, 0, 0)
}

// copiesByRule is k_m from the definition, one division at a time.
func copiesByRule(m *poise.ProfileShape, cpu, memory int64, free []uint16, model string) int64 {
	if len(m.Models) > 0 && !slices.Contains(m.Models, model) {
		return 0
	}
	whole, shares := int64(0), int64(0)
	for _, f := range free {
		if f == poise.WholeDevice {
			whole++
		}
		shares += int64(f) / int64(m.Milli)
	}
	k := whole / int64(m.Count)
	if m.Count == 1 && m.Milli < poise.WholeDevice {
		k = shares
	}
	if m.CPU > 0 {
		k = min(k, cpu/m.CPU)
	}
	if m.Memory > 0 {
		k = min(k, memory/m.Memory)
	}
	return k
}

// degreesByRule gives both balance degrees of a row from the definition: b of
// column gpu, and w*b of column room.
func degreesByRule(p *poise.Profile, params *Params, cpu, memory int64, free []uint16, model string) (gpu, room float64) {
	use, idle := 0.0, 0.0
	for _, f := range free {
		idle += float64(f) / poise.WholeDevice
	}
	if idle == 0 {
		return 0, 0
	}
	for i := range p.Shapes {
		m := &p.Shapes[i]
		k := float64(copiesByRule(m, cpu, memory, free, model))
		use += m.Share * k * m.Ask()
		room += m.Scarcity * k
	}
	return math.Pow(use/idle, params.Beta), room
}

// lossByRule gives form (D) from the definition, for the devices given.
func lossByRule(p *poise.Profile, params *Params, snap *state.Snapshot, row uint32, r *poise.Request, devices []uint16) float64 {
	cpu, memory, free := snap.Idle(row, 0), snap.Idle(row, 1), slices.Clone(snap.Free(row))
	model, idle := snap.Models()[snap.Model(row)], 0.0
	for _, f := range free {
		idle += float64(f) / poise.WholeDevice
	}
	gpu, room := degreesByRule(p, params, cpu, memory/mib, free, model)
	askCPU, _ := r.Amounts.Find("cpu")
	askMemory, _ := r.Amounts.Find("memory")
	for _, d := range devices {
		free[d] -= uint16(r.Device.Milli)
	}
	gpuPred, roomPred := degreesByRule(p, params, cpu-askCPU, (memory-askMemory)/mib, free, model)
	return idle/p.LargestDevices*(gpu-gpuPred) + params.Lambda*(room-roomPred)
}

// The grouped, table-driven and remembered kernel gives what the definition
// gives, for every device that may be chosen; the smallest loss counts.
func TestDemandIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, params := drawWorld(t, exactly), drawParams(t)
		w.build(&params)
		d := newDemand(t, params)
		for range 4 {
			j := w.submit(drawRequest(t, exactly))
			r, rows := &j.Shape.Request, w.fitting(j)
			snap := w.state.View()
			loss, mask := w.score(d, j, rows)
			for i, row := range rows {
				p := snap.Profile(snap.Kinds()[snap.Kind(row)])
				if p == nil {
					if loss[i] != 0 || mask[i] != 0 {
						t.Fatalf("a node without devices: loss %v, mask %b, expected 0 and 0", loss[i], mask[i])
					}
					continue
				}
				want, chosen := lossOfChoice(p, &params, snap, row, r)
				scale := 1 + params.Lambda*roomOf(p, snap, row)
				if math.Abs(loss[i]-want) > 1e-12*scale {
					t.Fatalf("loss %v, expected %v", loss[i], want)
				}
				if !r.Device.Shared() {
					continue
				}
				at := devicesOf(mask[i])
				if len(at) != 1 || !slices.Contains(chosen, at[0]) {
					t.Fatalf("device mask %b, expected one of the devices %v", mask[i], chosen)
				}
				if free := snap.Free(row); slices.Index(free, free[at[0]]) != int(at[0]) {
					t.Fatalf("device %d of %v, expected the lowest with that amount", at[0], free)
				}
			}
		}
	})
}

// lossOfChoice gives the smallest loss by the definition, and the devices that
// come within rounding of it.
func lossOfChoice(p *poise.Profile, params *Params, snap *state.Snapshot, row uint32, r *poise.Request) (float64, []uint16) {
	may := devicesFor(snap, row, &r.Device)
	if !r.Device.Shared() {
		return lossByRule(p, params, snap, row, r, may[:r.Device.Count]), nil
	}
	losses := make([]float64, len(may))
	for i, device := range may {
		losses[i] = lossByRule(p, params, snap, row, r, []uint16{device})
	}
	least := slices.Min(losses)
	var chosen []uint16
	for i, device := range may {
		if losses[i]-least <= 1e-12*(1+params.Lambda*roomOf(p, snap, row)) {
			chosen = append(chosen, device)
		}
	}
	return least, chosen
}

// roomOf is w*b of column room: how large the numbers of a loss are.
func roomOf(p *poise.Profile, snap *state.Snapshot, row uint32) float64 {
	room := 0.0
	for i := range p.Shapes {
		k := copiesByRule(&p.Shapes[i], snap.Idle(row, 0), snap.Idle(row, 1)/mib, snap.Free(row), snap.Models()[snap.Model(row)])
		room += p.Shapes[i].Scarcity * float64(k)
	}
	return room
}

func devicesOf(mask uint32) []uint16 {
	var devices []uint16
	for d := range uint16(poise.MaxDevices) {
		if mask>>d&1 != 0 {
			devices = append(devices, d)
		}
	}
	return devices
}
