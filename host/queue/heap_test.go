package queue

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type number struct{ value, pos int }

func (a *number) before(b *number) bool { return a.value < b.value }

func (a *number) setPos(i int) { a.pos = i }

// The first element is the smallest and every element knows its position,
// whatever is pushed, changed and taken out from the middle.
func TestHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h heap[*number]
		drawValue := rapid.IntRange(0, 1000)
		for _, v := range rapid.SliceOfN(drawValue, 0, 60).Draw(t, "first") {
			h.push(&number{value: v})
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) { h.push(&number{value: drawValue.Draw(t, "value")}) },
			"remove": func(t *rapid.T) {
				if len(h) == 0 {
					t.Skip("empty")
				}
				want := slices.Clone(h)
				e := h[rapid.IntRange(0, len(h)-1).Draw(t, "at")]
				h.remove(e.pos)
				if len(h) != len(want)-1 || slices.Contains(h, e) {
					t.Fatalf("removed something else than the element at %d", e.pos)
				}
			},
			"change": func(t *rapid.T) {
				if len(h) == 0 {
					t.Skip("empty")
				}
				e := h[rapid.IntRange(0, len(h)-1).Draw(t, "at")]
				e.value = drawValue.Draw(t, "value")
				h.fix(e.pos)
			},
			"": func(t *rapid.T) {
				for i, e := range h {
					if e.pos != i {
						t.Fatalf("the element at %d believes to be at %d", i, e.pos)
					}
					if i > 0 && e.before(h[(i-1)/2]) {
						t.Fatalf("the element at %d goes before its parent", i)
					}
				}
			},
		})
		last := math.MinInt
		for len(h) > 0 {
			if h[0].value < last {
				t.Fatalf("%d came after %d", h[0].value, last)
			}
			last = h[0].value
			h.remove(0)
		}
	})
}
