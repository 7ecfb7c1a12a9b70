package balance

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// degrees are the balance degrees of a node state.
type degrees struct {
	gpu  float64 // b: (sum_m p_m*k_m*a_m / idle)^beta, 0 with no idle device
	room float64 // w^r * b^r = sum_m h_m*k_m
}

// kernel evaluates node states against one demand profile. It keeps one plan
// per device model, which leaves out the shapes that the model may not hold.
type kernel struct {
	profile *poise.Profile
	params  *Params
	plans   []*plan // by model symbol, made when first needed
}

// plan holds the shapes of a profile that a device model may hold, those with
// one device ask together: on a node that cannot meet the ask all of them are
// passed over at once. Sums run in this order, which is fixed by the profile.
// Amounts that several shapes share are divided once.
type plan struct {
	groups []group
	shapes []planShape

	cpus, memories  []int64 // the distinct amounts, ascending
	cpuInverse      []float64
	memoryInverse   []float64
	byCPU, byMemory []int64 // copies that each distinct amount allows
}

// group is the shapes with one device ask: plan.shapes[from:to].
type group struct {
	ask      deviceAsk
	inverse  uint32 // of the count, or of the milli of a share; see quotient
	from, to int
}

type planShape struct {
	cpu, memory uint16  // position in byCPU and byMemory
	at          int32   // position in the profile
	gain        float64 // p_m * a_m
	scarcity    float64 // h_m
}

type deviceAsk struct{ count, milli int32 }

// unlimited is the number of copies that a request of 0 allows.
const unlimited = int64(1) << 40

// maxIdle bounds idle amounts (milli-cores, MiB) so that divide is exact.
const maxIdle = int64(1) << 50

func newKernel(p *poise.Profile, params *Params) *kernel {
	return &kernel{profile: p, params: params}
}

// plan gives the plan of a model symbol.
func (k *kernel) plan(model uint16, models []string) *plan {
	for int(model) >= len(k.plans) {
		k.plans = append(k.plans, nil)
	}
	if k.plans[model] == nil {
		k.plans[model] = newPlan(k.profile, models[model])
	}
	return k.plans[model]
}

func newPlan(profile *poise.Profile, model string) *plan {
	p := &plan{}
	allowed := func(m *poise.ProfileShape) bool { return len(m.Models) == 0 || slices.Contains(m.Models, model) }
	var asks []deviceAsk
	for i := range profile.Shapes {
		if m := &profile.Shapes[i]; allowed(m) {
			p.cpus, p.memories = append(p.cpus, m.CPU), append(p.memories, m.Memory)
			if ask := askOf(m); !slices.Contains(asks, ask) {
				asks = append(asks, ask)
			}
		}
	}
	p.cpus, p.memories = distinct(p.cpus), distinct(p.memories)
	for _, ask := range asks {
		g := group{ask: ask, inverse: inverse(uint32(ask.milli)), from: len(p.shapes)}
		if ask.milli == poise.WholeDevice {
			g.inverse = inverse(uint32(ask.count))
		}
		for i := range profile.Shapes {
			m := &profile.Shapes[i]
			if askOf(m) != ask || !allowed(m) {
				continue
			}
			cpu, _ := slices.BinarySearch(p.cpus, m.CPU)
			memory, _ := slices.BinarySearch(p.memories, m.Memory)
			p.shapes = append(p.shapes, planShape{
				cpu: uint16(cpu), memory: uint16(memory), at: int32(i), gain: m.Share * m.Ask(), scarcity: m.Scarcity,
			})
		}
		g.to = len(p.shapes)
		p.groups = append(p.groups, g)
	}
	p.cpuInverse, p.byCPU = inverses(p.cpus), make([]int64, len(p.cpus))
	p.memoryInverse, p.byMemory = inverses(p.memories), make([]int64, len(p.memories))
	return p
}

func askOf(m *poise.ProfileShape) deviceAsk { return deviceAsk{m.Count, m.Milli} }

func distinct(values []int64) []int64 {
	slices.Sort(values)
	return slices.Compact(values)
}

// inverse gives what quotient divides by d with.
func inverse(d uint32) uint32 { return 1<<20/d + 1 }

// quotient is floor(n/d) for n*d < 2^20, with inv = inverse(d): inv*d exceeds
// 2^20 by at most d, so n*inv/2^20 exceeds n/d by less than 1/d.
func quotient(n, inv uint32) uint32 { return n * inv >> 20 }

// inverses gives 1/v, and 0 for v = 0.
func inverses(values []int64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		if v > 0 {
			out[i] = 1 / float64(v)
		}
	}
	return out
}

// divide sets out[i] = floor(n / values[i]) for ascending values, and unlimited
// for 0. With inverse[i] = 1/values[i], adding a half keeps the product away from
// whole numbers: it lies at least 1/(2v) from one, a relative distance of 2^-51
// for n < 2^50, while the two roundings move it by at most 2^-52.
func divide(out []int64, n int64, values []int64, inverse []float64) {
	n = min(n, maxIdle)
	x := float64(n) + 0.5
	for i, v := range values {
		if v > n { // none fits, nor of what is larger
			clear(out[i:])
			return
		}
		if v == 0 {
			out[i] = unlimited
		} else {
			out[i] = int64(x * inverse[i])
		}
	}
}

// divideIdle fills byCPU and byMemory for a state.
func (p *plan) divideIdle(s *nodeState) {
	divide(p.byCPU, s.cpu, p.cpus, p.cpuInverse)
	divide(p.byMemory, s.memory, p.memories, p.memoryInverse)
}

// copies is how often the free devices of a state meet the group's ask.
func (g *group) copies(s *nodeState) int64 {
	if g.ask.milli == poise.WholeDevice {
		return int64(quotient(uint32(s.whole), g.inverse))
	}
	sum := uint32(s.whole) * quotient(poise.WholeDevice, g.inverse)
	for _, part := range s.part[:s.parts] {
		sum += quotient(uint32(part), g.inverse)
	}
	return int64(sum)
}

// degrees evaluates a state.
func (k *kernel) degrees(s *nodeState, models []string) degrees {
	idle := s.idleMilli()
	if idle == 0 {
		return degrees{}
	}
	p := k.plan(s.model, models)
	p.divideIdle(s)
	var use, room float64
	for i := range p.groups {
		g := &p.groups[i]
		most := g.copies(s)
		if most == 0 {
			continue
		}
		shapes := p.shapes[g.from:g.to]
		for i := range shapes {
			m := &shapes[i]
			copies := float64(min(p.byCPU[m.cpu], p.byMemory[m.memory], most)) // k_m
			use = float64(m.gain*copies) + use
			room = float64(m.scarcity*copies) + room
		}
	}
	return degrees{gpu: k.params.power(use / (float64(idle) / poise.WholeDevice)), room: room}
}

// addScarcity fills in S_tot, S_m and h_m from the nodes as they are. Nodes
// that take no jobs now leave no room. Copies and idle amounts are summed as
// integers, so the order of rows does not matter.
func addScarcity(profile *poise.Profile, snap *state.Snapshot, params *Params) {
	fits := make([]int64, len(profile.Shapes))
	k := newKernel(profile, params)
	idle := int64(0)
	for row := range uint32(snap.Rows()) {
		if !snap.Schedulable(row) || snap.Kinds()[snap.Kind(row)] != profile.Kind {
			continue
		}
		s := readState(snap, row)
		milli := s.idleMilli()
		if milli == 0 {
			continue
		}
		idle += milli
		p := k.plan(s.model, snap.Models())
		p.divideIdle(&s)
		for i := range p.groups {
			g := &p.groups[i]
			most := g.copies(&s)
			for _, m := range p.shapes[g.from:g.to] {
				fits[m.at] += min(p.byCPU[m.cpu], p.byMemory[m.memory], most)
			}
		}
	}
	profile.IdleDevices = float64(idle) / poise.WholeDevice
	for i := range profile.Shapes {
		m := &profile.Shapes[i]
		a := m.Ask()
		m.Room = float64(float64(fits[i]) * a)
		m.Scarcity = m.Share * (a / profile.LargestDevices) * params.scarcity((profile.IdleDevices+1)/(m.Room+1))
	}
}
