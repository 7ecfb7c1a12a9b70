package model

import (
	"fmt"
	"math"
	"strings"
)

// Bounds of memory per core in GiB: half an octave below and above 4.
const (
	generalRatio = 2.83
	highmemRatio = 5.66
)

// giveNames names the classes that have no name yet, the largest first. Where
// the plain name is taken it tells the class apart by its median cores, then by
// its median GiB too, then by a number. A pinned class has its name before all
// others; a class that had the same gets a new one.
func giveNames(classes []Class) {
	taken := map[string]bool{ProvisionalName: true}
	for i := range classes {
		if classes[i].Pinned {
			taken[classes[i].Name] = true
		}
	}
	for i := range classes {
		switch c := &classes[i]; {
		case c.Pinned || c.Name == "":
		case taken[c.Name]:
			c.Name = ""
		default:
			taken[c.Name] = true
		}
	}
	for _, i := range largestFirst(classes) {
		if c := &classes[i]; c.Name == "" {
			c.Name = c.freeName(taken)
			taken[c.Name] = true
		}
	}
}

func (c *Class) freeName(taken map[string]bool) string {
	name := c.plainName()
	for _, suffix := range []string{
		"",
		fmt.Sprintf("-%.0fc", math.Round(float64(c.MedianCPU)/1000)),
		fmt.Sprintf("-%.0fg", math.Round(float64(c.MedianMemory)/gib)),
	} {
		name += suffix
		if !taken[name] {
			return name
		}
	}
	for n := 2; ; n++ {
		if numbered := fmt.Sprintf("%s-%d", name, n); !taken[numbered] {
			return numbered
		}
	}
}

// plainName is gpu-t4-2x for nodes with two such devices each, gpu-t4-2-4x if
// they have two to four; cpu-general and the like for nodes without; empty for
// nodes that have neither cores nor memory.
func (c *Class) plainName() string {
	if len(c.Devices) == 0 {
		if c.MedianCPU == 0 && c.MedianMemory == 0 {
			return "empty"
		}
		return "cpu-" + ratioName(c.Ratio, c.MedianCPU)
	}
	d := &c.Devices[0]
	name := shortKind(d.Kind)
	if d.Model != "" {
		name += "-" + strings.ToLower(d.Model)
	}
	if d.Lo == d.Hi {
		return fmt.Sprintf("%s-%dx", name, d.Lo)
	}
	return fmt.Sprintf("%s-%d-%dx", name, d.Lo, d.Hi)
}

// ratioName says what so much memory per core is good for. Memory without cores
// is all memory.
func ratioName(ratio float64, cpu int64) string {
	switch {
	case cpu == 0 || ratio >= highmemRatio:
		return "highmem"
	case ratio >= generalRatio:
		return "general"
	}
	return "compute"
}

// shortKind is a device kind without the domain of its vendor: gpu for
// nvidia.com/gpu.
func shortKind(kind string) string { return kind[strings.LastIndexByte(kind, '/')+1:] }
