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
	d := make([]description, count)
	for i := range nodes {
		d[of[i]].add(&nodes[i])
	}
	classes := make([]Class, count)
	for i := range d {
		classes[i] = d[i].class()
	}
	return classes
}

// description is what is known of a class while its nodes are gone through.
type description struct {
	envelope    Class
	declared    []int // by position in envelope.Capacity, nodes that name it
	cpu, memory []int64
	ratio       []float64
}

func (d *description) add(n *poise.Node) {
	c := &d.envelope
	c.Nodes++
	at := 0
	for _, a := range n.Capacity {
		for at < len(c.Capacity) && c.Capacity[at].Name < a.Name {
			at++
		}
		if at == len(c.Capacity) || c.Capacity[at].Name != a.Name {
			c.Capacity = slices.Insert(c.Capacity, at, Range{Name: a.Name, Lo: a.Value, Hi: a.Value})
			d.declared = slices.Insert(d.declared, at, 0)
		}
		c.Capacity[at].Lo = min(c.Capacity[at].Lo, a.Value)
		c.Capacity[at].Hi = max(c.Capacity[at].Hi, a.Value)
		d.declared[at]++
	}
	c.addDevices(&n.Devices)
	cpu, memory := cpuAndMemory(n)
	d.cpu, d.memory = append(d.cpu, cpu), append(d.memory, memory)
	d.ratio = append(d.ratio, memoryRatio(cpu, memory))
}

func (d *description) class() Class {
	c := d.envelope
	for i, nodes := range d.declared {
		if nodes < c.Nodes {
			c.Capacity[i].Lo = 0
		}
	}
	if c.Nodes > 0 {
		slices.Sort(d.cpu)
		slices.Sort(d.memory)
		slices.Sort(d.ratio)
		middle := (c.Nodes - 1) / 2
		c.MedianCPU, c.MedianMemory, c.Ratio = d.cpu[middle], d.memory[middle], d.ratio[middle]
	}
	return c
}

func cpuAndMemory(n *poise.Node) (milliCores, bytes int64) {
	milliCores, _ = n.Capacity.Find("cpu")
	bytes, _ = n.Capacity.Find("memory")
	return milliCores, bytes
}

// memoryRatio gives GiB of memory per core, or 0 without cores.
func memoryRatio(cpu, memory int64) float64 {
	if cpu == 0 {
		return 0
	}
	return float64(memory) / gib / (float64(cpu) / 1000)
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
