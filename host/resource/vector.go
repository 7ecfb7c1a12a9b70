package resource

// Vector is amounts by the index that a Dims gave their names, in base units.
// A dimension beyond its end is 0.
type Vector []int64

// Add adds w in place. Where a sum does not fit in an int64, or w has an
// amount in a dimension beyond the end of v, v stays as it was and the result
// is that dimension and false.
func (v Vector) Add(w Vector) (dim int, ok bool) { return v.change(w, Add) }

// Sub subtracts w in place. The result and what stays as it was are those of
// Add; a difference below 0 is not an error, because a node may shrink below
// what runs on it.
func (v Vector) Sub(w Vector) (dim int, ok bool) { return v.change(w, Sub) }

func (v Vector) change(w Vector, f func(a, b int64) (int64, bool)) (dim int, ok bool) {
	for i, b := range w {
		if i >= len(v) {
			if b != 0 {
				return i, false
			}
			continue
		}
		if _, ok := f(v[i], b); !ok {
			return i, false
		}
	}
	for i := range min(len(v), len(w)) {
		v[i], _ = f(v[i], w[i])
	}
	return 0, true
}
