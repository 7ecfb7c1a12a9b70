// Package fleets draws fleets of nodes whose true kinds are known, for tests and
// benchmarks of the model. It may import the standard library, host/poise and
// host/resource. The same seed gives the same fleet.
package fleets

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Shape is a kind of node: cores, GiB of memory and storage, Gbit of bandwidth
// and devices of one model.
type Shape struct {
	Cores, Memory, Storage, Bandwidth float64
	Devices                           int32
	Model                             string
}

// Fleet is nodes with the shapes that they were drawn from. Draw and Churn
// change it in place.
type Fleet struct {
	Nodes  []poise.Node
	Truth  []int // per node, index into Shapes
	Shapes []Shape
	noise  float64
	skew   float64 // shapes are drawn as floor(len(Shapes) r^skew)
	born   int
	rand   *rand.Rand
}

// Known draws n nodes of so many shapes that lie at least an octave apart, most
// nodes of a few shapes. Every node has up to the share noise less memory and
// storage than its shape, and up to half of that less cpu. There is no room for
// many more than 60 shapes.
func Known(n, shapes int, noise float64, seed uint64) *Fleet {
	f := &Fleet{noise: noise, skew: 2, rand: rand.New(rand.NewPCG(seed, 0))}
	f.shape(shapes, 1, func(r *rand.Rand) Shape {
		s := Shape{
			Cores: pick(r, 4, 8, 16, 32, 64, 96, 128), Storage: pick(r, 1000, 4000), Bandwidth: pick(r, 10, 25, 100),
			Model: []string{"", "", "t4", "v100m32", "a100m40", "h100"}[r.IntN(6)],
		}
		s.Memory = s.Cores * pick(r, 2, 4, 8, 16)
		if s.Model != "" {
			s.Devices = int32(pick(r, 1, 2, 4, 8))
		}
		return s
	})
	f.draw(n)
	return f
}

// Hard draws n nodes of so many shapes that lie at least sep octaves apart in
// cpu, memory and devices, 500, 5 to 20 and 0.5 to 1 being the usual ones.
func Hard(n, shapes int, sep, noise float64, seed uint64) *Fleet {
	f := &Fleet{noise: noise, skew: 2, rand: rand.New(rand.NewPCG(seed, 1))}
	f.shape(shapes, sep, func(r *rand.Rand) Shape {
		s := Shape{Cores: pick(r, 8, 16, 24, 32, 48, 64, 80, 96, 104, 128), Model: []string{"", "", "t4", "v100m32"}[r.IntN(4)]}
		s.Memory = s.Cores * pick(r, 2, 3, 4, 6, 8)
		if s.Model != "" {
			s.Devices = int32(pick(r, 1, 2, 4, 8))
		}
		return s
	})
	f.draw(n)
	return f
}

// Formless draws n nodes without any structure, all different.
func Formless(n int, seed uint64) []poise.Node {
	r := rand.New(rand.NewPCG(seed, 2))
	nodes := make([]poise.Node, n)
	for i := range nodes {
		s := Shape{
			Cores: math.Exp2(1 + 7*r.Float64()), Memory: math.Exp2(1 + 10*r.Float64()),
			Storage: math.Exp2(1 + 13*r.Float64()), Bandwidth: math.Exp2(7 * r.Float64()),
		}
		nodes[i] = s.node(i, 1, 1)
	}
	return nodes
}

// Churn replaces a share of the nodes by new draws under new names.
func (f *Fleet) Churn(share float64) {
	for _, i := range f.rand.Perm(len(f.Nodes))[:int(share*float64(len(f.Nodes)))] {
		f.replace(i, f.drawShape())
	}
}

func pick(r *rand.Rand, values ...float64) float64 { return values[r.IntN(len(values))] }

// shape keeps every drawn shape that is far enough from the kept ones.
func (f *Fleet) shape(shapes int, sep float64, draw func(*rand.Rand) Shape) {
	const patience = 1_000_000
	for range patience {
		if len(f.Shapes) == shapes {
			return
		}
		s := draw(f.rand)
		if !slices.ContainsFunc(f.Shapes, func(o Shape) bool { return s.Model == o.Model && s.apart(o) < sep }) {
			f.Shapes = append(f.Shapes, s)
		}
	}
	panic(fmt.Sprintf("BUG: no room for %d shapes %v octaves apart", shapes, sep))
}

func (s Shape) apart(o Shape) float64 {
	x, y := s.features(), o.features()
	sum := 0.0
	for i := range x {
		d := math.Log2(1+x[i]) - math.Log2(1+y[i])
		sum += d * d
	}
	return math.Sqrt(sum)
}

func (s Shape) features() [5]float64 {
	return [5]float64{s.Cores, s.Memory, float64(s.Devices), s.Storage, s.Bandwidth}
}

func (f *Fleet) draw(n int) {
	f.Nodes, f.Truth = make([]poise.Node, n), make([]int, n)
	for i := range n {
		shape := i
		if i >= len(f.Shapes) {
			shape = f.drawShape()
		}
		f.replace(i, shape)
	}
	f.rand.Shuffle(n, func(i, j int) {
		f.Nodes[i], f.Nodes[j] = f.Nodes[j], f.Nodes[i]
		f.Truth[i], f.Truth[j] = f.Truth[j], f.Truth[i]
	})
}

func (f *Fleet) drawShape() int {
	return int(float64(len(f.Shapes)) * math.Pow(f.rand.Float64(), f.skew))
}

func (f *Fleet) replace(i, shape int) {
	f.Truth[i] = shape
	f.Nodes[i] = f.Shapes[shape].node(f.born, 1-f.noise/2*f.rand.Float64(), 1-f.noise*f.rand.Float64())
	f.born++
}

// node gives a node with parts of the shape's cpu, and of its memory and
// storage.
func (s Shape) node(number int, cpu, rest float64) poise.Node {
	n := poise.Node{Name: fmt.Sprintf("n%06d", number), Capacity: make(resource.List, 0, 4)}
	for _, a := range []resource.Amount{
		{Name: "bandwidth", Value: int64(s.Bandwidth * 1e12)},
		{Name: "cpu", Value: int64(s.Cores * cpu * 1000)},
		{Name: "memory", Value: int64(s.Memory * rest * (1 << 30))},
		{Name: "storage", Value: int64(s.Storage * rest * (1 << 30))},
	} {
		if a.Value > 0 {
			n.Capacity = append(n.Capacity, a)
		}
	}
	if s.Devices > 0 {
		n.Devices = poise.Devices{Kind: "gpu", Model: s.Model, Count: s.Devices}
	}
	return n
}
