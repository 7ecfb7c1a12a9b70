package poise

import "unsafe"

// Fleet is the fleet as a whole, whichever rows a call sees.
type Fleet struct {
	c *Call
	p unsafe.Pointer
}

// Fleet gives the fleet.
func (c *Call) Fleet() Fleet { return Fleet{c, c.follow(c.table, tableFleet)} }

// Nodes is the number of nodes.
func (f Fleet) Nodes() int { return int(*f.c.word(f.p, 0)) }

// Sum is the capacity of all nodes together, in base units.
func (f Fleet) Sum(d Dim) float64 { return *f.amounts(d) }

// Largest is the capacity of the node that has most, in base units.
func (f Fleet) Largest(d Dim) float64 {
	return *(*float64)(unsafe.Add(unsafe.Pointer(f.amounts(d)), 8))
}

func (f Fleet) amounts(d Dim) *float64 {
	return f.c.double(f.c.follow(f.p, 12), int(d)*int(*f.c.word(f.p, 8)))
}
