package report

import (
	"math"
	"slices"
	"sort"

	"github.com/poise-sched/poise/host/sim"
)

const (
	// curvePoints bounds the points of a drawn line.
	curvePoints = 240
	// drawable bounds the values that are drawn. No run has larger ones; those of
	// a broken one are left out rather than drawn as a wall.
	drawable = 1e9
)

// curvePoint is a point of the mean of several runs, with their range.
type curvePoint struct {
	x float64
	stat
}

// curveOf takes the mean curve of runs, each read as straight between its
// points and not at all outside of them.
func curveOf(runs []*sim.Result) []curvePoint {
	var curves [][]sim.Point
	var xs []float64
	for _, r := range runs {
		points := finite(r)
		if len(points) == 0 {
			continue
		}
		curves = append(curves, points)
		for _, p := range points {
			xs = append(xs, p.X)
		}
	}
	slices.Sort(xs)
	xs = thinned(slices.Compact(xs))
	mean := make([]curvePoint, 0, len(xs))
	values := make([]float64, 0, len(curves))
	for _, x := range xs {
		values = values[:0]
		for _, c := range curves {
			values = append(values, valueAt(c, x))
		}
		if s := statOf(values); !math.IsNaN(s.mean) {
			mean = append(mean, curvePoint{x, s})
		}
	}
	return mean
}

// finite gives the run's points that can be drawn, in order.
func finite(r *sim.Result) []sim.Point {
	if r.Mode == sim.ModeReplay && r.Replay == nil {
		return nil
	}
	points := slices.DeleteFunc(slices.Clone(r.Curve()), func(p sim.Point) bool {
		return !(p.X >= 0 && p.X <= drawable && math.Abs(p.Alloc) <= drawable)
	})
	sort.SliceStable(points, func(i, j int) bool { return points[i].X < points[j].X })
	return points
}

// thinned spreads too many places evenly.
func thinned(xs []float64) []float64 {
	if len(xs) <= curvePoints {
		return xs
	}
	lo, hi := xs[0], xs[len(xs)-1]
	even := make([]float64, curvePoints)
	for i := range even {
		even[i] = lo + (hi-lo)*float64(i)/(curvePoints-1)
	}
	return even
}

// valueAt reads a curve at x; NaN outside of it.
func valueAt(points []sim.Point, x float64) float64 {
	i := sort.Search(len(points), func(i int) bool { return points[i].X >= x })
	switch {
	case i == len(points) || i == 0 && points[0].X > x:
		return math.NaN()
	case points[i].X == x:
		return points[i].Alloc
	}
	a, b := points[i-1], points[i]
	return a.Alloc + (b.Alloc-a.Alloc)*(x-a.X)/(b.X-a.X)
}
