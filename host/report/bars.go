package report

import (
	"math"

	"github.com/poise-sched/poise/host/sim"
)

// bars are horizontal bars in groups under a common scale from 0.
type bars struct {
	title, label string
	hi           float64 // end of the scale
	groups       []barGroup
}

type barGroup struct {
	name, note string
	bars       []bar
}

// bar is one value; NaN leaves its place empty.
type bar struct {
	class string
	value float64
	text  string // beside the bar; empty for none
	tip   string
}

// Measures of bars in units of their drawing.
const (
	barsWidth             = 340.0
	barsTop, barsSide     = 46.0, 8.0
	groupHead, groupGap   = 17.0, 9.0
	groupHeight           = 42.0 // of its bars together, while they are few
	thinnestBar, thickest = 5.0, 12.0
	barGap                = 1.0
	textWidth             = 54.0 // kept free for text beside the bars
	ticksOfBars           = 4
	barsBottom            = 6.0
)

func (b *bars) draw(width float64) drawing {
	each := 0
	beside := 0.0
	for _, g := range b.groups {
		each = max(each, len(g.bars))
		for _, v := range g.bars {
			if v.text != "" {
				beside = textWidth
			}
		}
	}
	thick := min(max(groupHeight/float64(max(each, 1)), thinnestBar), thickest)
	if beside > 0 {
		thick = thickest // as high as the text
	}
	height := groupHead + float64(each)*(thick+barGap) + groupGap
	d := drawing{Label: b.label, W: width, H: math.Ceil(barsTop + float64(len(b.groups))*height + barsBottom)}
	x := scale{0, b.hi, width - 2*barsSide - beside}
	d.text("head", barsSide, 16, b.title)
	values, decimals := x.ticks(ticksOfBars)
	for _, v := range values {
		at := barsSide + x.at(v)
		d.path("grid", "M", xy(at), " ", xy(barsTop-6), "V", xy(d.H-barsBottom))
		class := "mute small mid"
		if v == 0 {
			class = "mute small"
		} else if at+barsSide+6 > width {
			class = "mute small end"
		}
		d.text(class, at, barsTop-10, number(v, decimals))
	}
	for i, g := range b.groups {
		top := barsTop + float64(i)*height
		d.text("small", barsSide, top+12, g.name)
		if g.note != "" {
			d.text("mute small end", barsSide+x.length, top+12, g.note)
		}
		for k, v := range g.bars {
			if math.IsNaN(v.value) || math.IsInf(v.value, 0) {
				continue
			}
			at := top + groupHead + float64(k)*(thick+barGap)
			length := x.at(min(max(v.value, 0), b.hi))
			d.rect("fill "+v.class, barsSide, at, max(length, 0.5), thick, v.tip)
			if v.text != "" {
				d.text("small", barsSide+length+4, at+thick-1, v.text)
			}
		}
	}
	return d
}

// classBars draws how full the nodes of each make were at the end, a picture
// for each of cpu, memory and devices.
func (s *section) classBars() []drawing {
	uses := s.classes()
	if len(uses) == 0 {
		return nil
	}
	var all []drawing
	for m, what := range classMeasures {
		b := bars{title: what.name + " in use, %", label: what.name + " in use by class of nodes and policy, in percent", hi: 100}
		for _, u := range uses {
			if what.devices && u.devices == 0 {
				continue
			}
			g := barGroup{name: u.name, note: nodes(u.nodes)}
			for i, f := range s.families {
				v := u.use[i][m]
				g.bars = append(g.bars, bar{class: seriesClass(i), value: v, tip: plain(f.policy) + ": " + number(v, 1) + " %"})
			}
			b.groups = append(b.groups, g)
		}
		if len(b.groups) > 0 {
			all = append(all, b.draw(barsWidth))
		}
	}
	return all
}

// classMeasures are what of a class is shown.
var classMeasures = [...]struct {
	name    string
	devices bool
	of      func(*sim.ClassUse) float64
}{
	{"cpu", false, func(u *sim.ClassUse) float64 { return u.CPU }},
	{"memory", false, func(u *sim.ClassUse) float64 { return u.Memory }},
	{"devices", true, func(u *sim.ClassUse) float64 { return u.Devices }},
}

// classUse is one class with the means over seeds by policy and measure.
type classUse struct {
	name    string
	nodes   int
	devices float64 // the largest use of devices by any policy
	use     [][len(classMeasures)]float64
}

// classes gathers the classes of the section in the order of the results.
func (s *section) classes() []*classUse {
	var all []*classUse
	for i, f := range s.families {
		values := map[*classUse]*[len(classMeasures)][]float64{}
		for _, r := range f.runs {
			for k := range r.Classes {
				c := &r.Classes[k]
				u := find(all, func(u *classUse) bool { return u.name == plain(c.Name) })
				if u == nil {
					u = &classUse{name: plain(c.Name), nodes: c.Nodes}
					for range s.families {
						u.use = append(u.use, [len(classMeasures)]float64{math.NaN(), math.NaN(), math.NaN()})
					}
					all = append(all, u)
				}
				if values[u] == nil {
					values[u] = new([len(classMeasures)][]float64)
				}
				for m := range classMeasures {
					values[u][m] = append(values[u][m], classMeasures[m].of(c))
				}
			}
		}
		for u, v := range values {
			for m := range v {
				u.use[i][m] = statOf(v[m]).mean
			}
			u.devices = max(u.devices, u.use[i][2])
		}
	}
	return all
}
