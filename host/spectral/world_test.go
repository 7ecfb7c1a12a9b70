package spectral

import (
	"math"

	"pgregory.net/rapid"
)

// drawPoints draws up to 24 different points on a coarse grid, where equal
// distances and equal eigenvalues abound, in up to 3 groups.
func drawPoints(t *rapid.T) Points {
	type place struct{ X, Y, Group int }
	places := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) place {
		return place{rapid.IntRange(0, 12).Draw(t, "x"), rapid.IntRange(0, 4).Draw(t, "y"), rapid.IntRange(0, 2).Draw(t, "group")}
	}), 1, 24, rapid.ID[place]).Draw(t, "places")
	var p Points
	for _, at := range places {
		p.At = append(p.At, []float64{float64(at.X) / 4, float64(at.Y) / 4})
		p.Weight = append(p.Weight, float64(rapid.IntRange(1, 40).Draw(t, "weight")))
		p.Group = append(p.Group, at.Group)
	}
	return p
}

func drawSettings(t *rapid.T, p Points) Settings {
	return Settings{
		Sigma:   rapid.SampledFrom([]float64{0.15, 0.25, 0.5, 1}).Draw(t, "sigma"),
		Classes: rapid.IntRange(0, len(p.At)).Draw(t, "classes"),
	}
}

// world is a fleet of shapes shapes at random places of a 6 x 6 x 3 octave box
// in two groups, with n points that scatter around them by noise octaves.
func world(seed, shapes, n int, noise float64) Points {
	r := random(seed)
	centre := make([][]float64, shapes)
	for i := range centre {
		centre[i] = []float64{6 * r.unit(), 6 * r.unit(), 3 * r.unit()}
	}
	var p Points
	for i := range n {
		of := i % shapes
		row := make([]float64, 3)
		for j := range row {
			row[j] = centre[of][j] - float64(noise*r.unit())
		}
		p.At, p.Weight, p.Group = append(p.At, row), append(p.Weight, math.Ceil(20*r.unit())), append(p.Group, of%2)
	}
	return p
}

// mustCluster fails the test where Cluster has an error.
func mustCluster(t interface {
	Helper()
	Fatal(...any)
}, p Points, s Settings,
) *Clustering {
	t.Helper()
	c, err := Cluster(p, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// equalPoints is n points at one place.
func equalPoints(n int) Points {
	var p Points
	for range n {
		p.add(0, 1, 5, 7)
	}
	return p
}

// add appends one point.
func (p *Points) add(group int, weight float64, at ...float64) {
	p.At, p.Weight, p.Group = append(p.At, at), append(p.Weight, weight), append(p.Group, group)
}
