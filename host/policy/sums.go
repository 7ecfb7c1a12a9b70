package policy

import (
	"math/bits"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
)

// sum is a sum of int64 amounts that are not negative, exact in 128 bits: sums
// of float64 would depend on the order in which nodes came.
type sum struct{ hi, lo uint64 }

func (s *sum) add(v int64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, uint64(v), 0)
	s.hi += carry
}

func (s *sum) sub(v int64) {
	var borrow uint64
	s.lo, borrow = bits.Sub64(s.lo, uint64(v), 0)
	s.hi -= borrow
}

// double gives the sum as a guest sees it.
func (s sum) double() float64 {
	return float64(float64(s.hi)*(1<<32)*(1<<32)) + float64(s.lo)
}

// fleetSums are the sums and the largest of the capacities of all nodes, per
// dimension of the plugin.
type fleetSums struct {
	nodes   int
	sum     []sum
	max     []int64
	stale   bool // a largest one left
	changed bool
	seen    abi.FleetBlock // what guests see
}

func newFleetSums(dims int) fleetSums {
	return fleetSums{sum: make([]sum, dims), max: make([]int64, dims), changed: true}
}

func (f *fleetSums) add(capacity []int64) {
	f.nodes++
	f.changed = true
	for d, v := range capacity {
		f.sum[d].add(v)
		f.max[d] = max(f.max[d], v)
	}
}

func (f *fleetSums) remove(capacity []int64) {
	f.nodes--
	f.changed = true
	for d, v := range capacity {
		f.sum[d].sub(v)
		f.stale = f.stale || v == f.max[d]
	}
}

// settle finds the largest ones anew where one left, and says whether anything
// changed since the last time.
func (f *fleetSums) settle(rows []rowSeen) bool {
	if f.stale {
		clear(f.max)
		for i := range rows {
			if !rows[i].present {
				continue
			}
			for d, v := range rows[i].capacity {
				f.max[d] = max(f.max[d], v)
			}
		}
	}
	if !f.changed {
		return false
	}
	f.stale, f.changed = false, false
	f.seen = abi.FleetBlock{Nodes: f.nodes}
	for d := range f.sum {
		f.seen.Sum = append(f.seen.Sum, f.sum[d].double())
		f.seen.Max = append(f.seen.Max, float64(f.max[d]))
	}
	return true
}

// block gives what a guest sees, as of the last settle.
func (f *fleetSums) block() *abi.FleetBlock { return &f.seen }

// domainCounts counts the nodes by the value of one label.
type domainCounts struct {
	key    string
	absent int
	values map[uint32]*domainValue
}

type domainValue struct {
	nodes               int
	capacity, allocated []sum
	tasks               map[poise.TenantID]int
}

func newDomainCounts(key string) domainCounts {
	return domainCounts{key: key, values: map[uint32]*domainValue{}}
}

func (c *domainCounts) add(value uint32, s *rowSeen) {
	if value == 0 {
		c.absent++
		return
	}
	v := c.values[value]
	if v == nil {
		v = &domainValue{capacity: make([]sum, len(s.capacity)), allocated: make([]sum, len(s.capacity)), tasks: map[poise.TenantID]int{}}
		c.values[value] = v
	}
	v.nodes++
	for d := range s.capacity {
		v.capacity[d].add(s.capacity[d])
		v.allocated[d].add(s.allocated[d])
	}
	for l := s.tasks; l != nil; l = l.Next {
		v.tasks[l.Task.Tenant]++
	}
}

func (c *domainCounts) remove(value uint32, s *rowSeen) {
	if value == 0 {
		c.absent--
		return
	}
	v := c.values[value]
	v.nodes--
	for d := range s.capacity {
		v.capacity[d].sub(s.capacity[d])
		v.allocated[d].sub(s.allocated[d])
	}
	for l := s.tasks; l != nil; l = l.Next {
		if v.tasks[l.Task.Tenant]--; v.tasks[l.Task.Tenant] == 0 {
			delete(v.tasks, l.Task.Tenant)
		}
	}
	if v.nodes == 0 {
		delete(c.values, value)
	}
}
