package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/model"
)

// classView is a class of a model with what it takes the others to know.
type classView struct {
	*model.Class
	index   int       // into Model.Classes
	share   float64   // of the fleet's nodes
	group   int       // index into Model.Groups, -1 if no point is in it
	centre  []float64 // mean of its points by nodes, in octaves
	apart   string    // what tells it from others
	nearest *classView
}

// classesOf gives the classes of a model, the largest first.
func classesOf(m *model.Model) []*classView {
	total := float64(max(fleetSize(m), 1))
	all := make([]*classView, len(m.Classes))
	for i := range m.Classes {
		c := &m.Classes[i]
		all[i] = &classView{Class: c, index: i, share: float64(c.Nodes) / total, group: -1, centre: make([]float64, len(m.Settings.Features))}
	}
	weight := make([]float64, len(all))
	for i := range m.Points {
		p := &m.Points[i]
		c := all[p.Class]
		c.group = p.Group
		weight[p.Class] += float64(p.Nodes)
		for k, x := range p.At {
			c.centre[k] += float64(p.Nodes) * x
		}
	}
	for i, c := range all {
		for k := range c.centre {
			c.centre[k] /= max(weight[i], 1)
		}
	}
	for _, c := range all {
		c.findNearest(all)
		c.apart = c.apartText(all)
	}
	slices.SortStableFunc(all, func(a, b *classView) int { return cmp.Compare(b.Nodes, a.Nodes) })
	return all
}

// findNearest looks for the nearest class of the same devices, or else of all.
func (c *classView) findNearest(all []*classView) {
	least := math.Inf(1)
	for _, o := range all {
		if o == c || o.group < 0 || c.group < 0 {
			continue
		}
		sum := 0.0
		for k, x := range c.centre {
			sum += (x - o.centre[k]) * (x - o.centre[k])
		}
		if o.group != c.group {
			sum += 1e9 // octaves; no two machines are so far apart
		}
		if sum < least {
			c.nearest, least = o, sum
		}
	}
}

func (c *classView) rangeOf(name string) model.Range {
	i, ok := slices.BinarySearchFunc(c.Capacity, name, func(r model.Range, name string) int { return cmp.Compare(r.Name, name) })
	if !ok {
		return model.Range{Name: name}
	}
	return c.Capacity[i]
}

// apartText says what is particular to a class: its devices, if no other class
// has them, its memory per core, and its size against the nearest class.
func (c *classView) apartText(all []*classView) string {
	switch {
	case c.Pinned:
		return "an operator's own class"
	case c.nearest == nil:
		return "the only class"
	}
	var parts []string
	if c.nearest.group != c.group {
		others := 0
		for _, o := range all {
			if o.group == c.group {
				others++
			}
		}
		if others == 1 {
			parts = append(parts, "the only class "+c.withDevices())
		}
	}
	against := c.against(c.nearest)
	if len(against) == 0 {
		against = []string{"as large"}
	}
	return strings.Join(append(parts, "against "+plain(c.nearest.Name)+": "+strings.Join(against, ", ")), "; ")
}

func (c *classView) withDevices() string {
	if len(c.Devices) == 0 {
		return "without devices"
	}
	d := &c.Devices[0]
	if d.Model == "" {
		return "with " + plain(d.Kind)
	}
	return "with " + plain(d.Kind) + " " + plain(d.Model)
}

// against compares what a class has with another one.
func (c *classView) against(o *classView) []string {
	var parts []string
	add := func(name string, mine, other float64) {
		if text := timesText(mine, other); text != "" {
			parts = append(parts, text+" "+name)
		}
	}
	if len(c.Devices) == 1 && len(o.Devices) == 1 {
		mine, other := &c.Devices[0], &o.Devices[0]
		if a, b := span(float64(mine.Lo), float64(mine.Hi)), span(float64(other.Lo), float64(other.Hi)); a != b {
			what := " devices, not "
			if a == "1" {
				what = " device, not "
			}
			parts = append(parts, a+what+b)
		}
	}
	add("cores", float64(c.MedianCPU), float64(o.MedianCPU))
	add("memory", float64(c.MedianMemory), float64(o.MedianMemory))
	for _, name := range c.dims(o) {
		mine, other := c.rangeOf(name), o.rangeOf(name)
		add(plain(name), float64(mine.Lo)/2+float64(mine.Hi)/2, float64(other.Lo)/2+float64(other.Hi)/2)
	}
	if a, b := short(c.Ratio), short(o.Ratio); math.Abs(c.Ratio-o.Ratio) > 0.1*max(c.Ratio, o.Ratio) && a != b {
		parts = append(parts, a+" GiB a core, not "+b)
	}
	return parts
}

// dims lists the dimensions of either class but for cpu and memory.
func (c *classView) dims(o *classView) []string {
	var names []string
	for _, r := range slices.Concat(c.Capacity, o.Capacity) {
		if r.Name != "cpu" && r.Name != "memory" && !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names
}

// timesText says how many times as much one amount is as another; nothing where
// they are within 5 %.
func timesText(mine, other float64) string {
	switch {
	case math.Abs(mine-other) <= 0.05*max(mine, other):
		return ""
	case other == 0:
		return "has"
	case mine == 0:
		return "no"
	}
	return short(math.Round(100*mine/other)/100) + "x"
}
