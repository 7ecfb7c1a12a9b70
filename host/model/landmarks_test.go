package model

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Against the plain form of the greedy choice, without pruning.
func TestLandmarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var cells []Cell
		var weight []float64
		for group := range rapid.IntRange(0, 4).Draw(t, "groups") {
			for range rapid.IntRange(1, 30).Draw(t, "cells") {
				cells = append(cells, Cell{Group: group, At: rapid.SliceOfN(rapid.Int16Range(0, 40), 2, 2).Draw(t, "at")})
				weight = append(weight, float64(rapid.IntRange(1, 5).Draw(t, "weight")))
			}
		}
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		chosen, nearest := landmarks(cells, weight, limit)
		plain := plainLandmarks(cells, weight, limit)
		if len(chosen) != len(plain) {
			t.Fatalf("%d landmarks, expected %d", len(chosen), len(plain))
		}
		for _, l := range chosen {
			if !plain[l] {
				t.Fatalf("landmarks %v, expected %v", chosen, plain)
			}
		}
		for i := range cells {
			least := math.Inf(1)
			for _, l := range chosen {
				least = min(least, apart(&cells[i], &cells[l]))
			}
			if got := apart(&cells[i], &cells[chosen[nearest[i]]]); got != least {
				t.Fatalf("cell %d: %v from its landmark, expected %v", i, got, least)
			}
		}
	})
}

func plainLandmarks(cells []Cell, weight []float64, limit int) map[int]bool {
	chosen := map[int]bool{}
	groups := 0
	for i := range cells {
		groups = max(groups, cells[i].Group+1)
	}
	for group := range groups {
		best := -1
		for i := range cells {
			if cells[i].Group == group && (best < 0 || weight[i] > weight[best]) {
				best = i
			}
		}
		chosen[best] = true
	}
	for len(chosen) < limit {
		best, most := -1, 0.0
		for i := range cells {
			far := math.Inf(1)
			for l := range chosen {
				far = min(far, apart(&cells[i], &cells[l]))
			}
			if weight[i]*far > most {
				best, most = i, weight[i]*far
			}
		}
		if best < 0 {
			break
		}
		chosen[best] = true
	}
	return chosen
}

// apart is the squared distance, infinite between groups.
func apart(a, b *Cell) float64 {
	if a.Group != b.Group {
		return math.Inf(1)
	}
	sum := 0.0
	for i := range a.At {
		d := float64(a.At[i]) - float64(b.At[i])
		sum += d * d
	}
	return sum
}
