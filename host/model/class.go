package model

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// ClassID is a class's identity, from 1. An id is never given to another class.
// 0 is no class.
type ClassID uint32

// Class is a group of nodes at the time of the build. Capacity and Devices are
// its envelope.
type Class struct {
	ID           ClassID
	Name         string
	Pinned       bool // an operator's class; it may be empty
	Nodes        int
	Capacity     []Range       // sorted by name
	Devices      []DeviceRange // sorted by kind and model; at most one unless Pinned
	MedianCPU    int64         // milli-cores
	MedianMemory int64         // bytes
	Ratio        float64       // median of GiB of memory per core, 0 for a node without cores
}

// Range is the least and the most that nodes of a class have of one dimension,
// in its base unit. A node that does not declare it has 0.
type Range struct {
	Name   string
	Lo, Hi int64
}

// DeviceRange is the fewest and the most devices of one kind and model among
// those nodes of a class that have them.
type DeviceRange struct {
	Kind, Model string
	Lo, Hi      int32
}

// describe gives count classes without id and name; of is each node's class.
func describe(nodes []poise.Node, of []int, count int) []Class {
	classes := make([]Class, count)
	members := make([][]int, count)
	for i, c := range of {
		members[c] = append(members[c], i)
	}
	var values []int64
	var ratios []float64
	for c := range classes {
		class := &classes[c]
		class.Nodes = len(members[c])
		if class.Nodes == 0 {
			continue
		}
		class.envelope(nodes, members[c])
		middle := (class.Nodes - 1) / 2
		median := func(name string) int64 {
			values = values[:0]
			for _, i := range members[c] {
				amount, _ := nodes[i].Capacity.Find(name)
				values = append(values, amount)
			}
			slices.Sort(values)
			return values[middle]
		}
		class.MedianCPU, class.MedianMemory = median("cpu"), median("memory")
		ratios = ratios[:0]
		for _, i := range members[c] {
			ratios = append(ratios, memoryRatio(&nodes[i]))
		}
		slices.Sort(ratios)
		class.Ratio = ratios[middle]
	}
	return classes
}

// memoryRatio gives a node's GiB of memory per core, or 0 if it has no cores.
func memoryRatio(n *poise.Node) float64 {
	cpu, _ := n.Capacity.Find("cpu")
	memory, _ := n.Capacity.Find("memory")
	if cpu == 0 {
		return 0
	}
	return float64(memory) / gib / (float64(cpu) / 1000)
}

func (c *Class) envelope(nodes []poise.Node, members []int) {
	declared := map[string]int{} // nodes by dimension
	for _, i := range members {
		for _, a := range nodes[i].Capacity {
			at, ok := slices.BinarySearchFunc(c.Capacity, a.Name, func(r Range, name string) int { return cmp.Compare(r.Name, name) })
			if !ok {
				c.Capacity = slices.Insert(c.Capacity, at, Range{Name: a.Name, Lo: a.Value, Hi: a.Value})
			}
			c.Capacity[at].Lo = min(c.Capacity[at].Lo, a.Value)
			c.Capacity[at].Hi = max(c.Capacity[at].Hi, a.Value)
			declared[a.Name]++
		}
		c.addDevices(&nodes[i].Devices)
	}
	for i := range c.Capacity {
		if declared[c.Capacity[i].Name] < len(members) {
			c.Capacity[i].Lo = 0
		}
	}
}

func (c *Class) addDevices(d *poise.Devices) {
	if d.Count == 0 {
		return
	}
	at, ok := slices.BinarySearchFunc(c.Devices, d, func(r DeviceRange, d *poise.Devices) int {
		return cmp.Or(cmp.Compare(r.Kind, d.Kind), cmp.Compare(r.Model, d.Model))
	})
	if !ok {
		c.Devices = slices.Insert(c.Devices, at, DeviceRange{Kind: d.Kind, Model: d.Model, Lo: d.Count, Hi: d.Count})
	}
	c.Devices[at].Lo = min(c.Devices[at].Lo, d.Count)
	c.Devices[at].Hi = max(c.Devices[at].Hi, d.Count)
}
