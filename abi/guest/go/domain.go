package poise

import (
	"iter"
	"unsafe"
)

// Domain is a label key with counts over the whole fleet.
type Domain struct{ index int }

// Domain declares that the plugin wants the counts of a label key. The column of
// a node's own value is Label.
func (p *Plugin) Domain(key string) Domain { return Domain{index(&p.domains, key)} }

// DomainView is the counts of one key, by value of the label.
type DomainView struct {
	key    unsafe.Pointer
	values unsafe.Pointer
	n      int
	stride int
	dims   int
}

// Of gives the counts in force.
func (d Domain) Of(c *Call) DomainView {
	block := c.follow(c.table, tableDomains)
	key := unsafe.Add(c.follow(block, 4), d.index*int(*c.word(block, 8)))
	return DomainView{key, c.follow(key, 4), int(*c.word(key, 0)), int(*c.word(key, 8)), int(*c.word(block, 12))}
}

func (v DomainView) word(offset int) int { return int(*(*uint32)(unsafe.Add(v.key, offset))) }

// Absent is the number of nodes without the label.
func (v DomainView) Absent() int { return v.word(12) }

// TenantTasks gives the least and the most tasks of the job's tenant on the
// nodes of a value.
func (v DomainView) TenantTasks() (least, most int) { return v.word(16), v.word(20) }

// JobTasks gives the least and the most tasks of this job on the nodes of a
// value.
func (v DomainView) JobTasks() (least, most int) { return v.word(24), v.word(28) }

// Nodes gives the least and the largest number of nodes of a value.
func (v DomainView) Nodes() (least, most int) { return v.word(32), v.word(36) }

// Len is the number of values.
func (v DomainView) Len() int { return v.n }

// At gives the i-th value, in the order of their symbols.
func (v DomainView) At(i int) DomainValue {
	return DomainValue{unsafe.Add(v.values, i*v.stride), v.dims}
}

// All iterates over the values, in the order of their symbols.
func (v DomainView) All() iter.Seq[DomainValue] {
	return func(yield func(DomainValue) bool) {
		for i := range v.n {
			if !yield(v.At(i)) {
				return
			}
		}
	}
}

// Find gives the value of a symbol, and whether a node has it.
func (v DomainView) Find(s Symbol) (DomainValue, bool) {
	lo, hi := 0, v.n
	for lo < hi {
		middle := (lo + hi) / 2
		if v.At(middle).Symbol() < s {
			lo = middle + 1
		} else {
			hi = middle
		}
	}
	if lo == v.n || v.At(lo).Symbol() != s {
		return DomainValue{}, false
	}
	return v.At(lo), true
}

// DomainValue is one value of a label: what its nodes have together.
type DomainValue struct {
	p    unsafe.Pointer
	dims int
}

func (v DomainValue) word(offset int) uint32 { return *(*uint32)(unsafe.Add(v.p, offset)) }

// Symbol is the value.
func (v DomainValue) Symbol() Symbol { return Symbol(v.word(0)) }

// Nodes is the number of nodes with it.
func (v DomainValue) Nodes() int { return int(v.word(4)) }

// TenantTasks is the number of tasks of the job's tenant on them.
func (v DomainValue) TenantTasks() int { return int(v.word(8)) }

// JobTasks is the number of tasks of this job on them, tentative ones included.
func (v DomainValue) JobTasks() int { return int(v.word(12)) }

// Capacity is what they have of a dimension, in base units.
func (v DomainValue) Capacity(d Dim) float64 {
	return *(*float64)(unsafe.Add(v.p, 16+8*int(d)))
}

// Allocated is what their tasks asked for of a dimension, in base units.
func (v DomainValue) Allocated(d Dim) float64 {
	return *(*float64)(unsafe.Add(v.p, 16+8*(v.dims+int(d))))
}
