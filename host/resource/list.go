package resource

import (
	"fmt"
	"sort"
)

// Amount is so much of one named dimension, in that dimension's base unit.
type Amount struct {
	Name  string
	Value int64
}

// List is amounts by dimension, sorted by name, each name once. A dimension
// that is not in the list is 0.
type List []Amount

// NewList sorts the amounts by name. A name that comes twice is an error.
func NewList(amounts ...Amount) (List, error) {
	l := append(List(nil), amounts...)
	sort.Slice(l, func(i, j int) bool { return l[i].Name < l[j].Name })
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return l, nil
}

// Find gives the amount of a dimension and whether the list names it.
func (l List) Find(name string) (int64, bool) {
	for i := range l {
		if l[i].Name == name {
			return l[i].Value, true
		}
	}
	return 0, false
}

// Validate says what is wrong with the list: an empty or repeated name, names
// out of order, or a negative amount.
func (l List) Validate() error {
	for i := range l {
		switch {
		case l[i].Name == "":
			return fmt.Errorf("dimension with an empty name, expected a name such as cpu")
		case i > 0 && l[i-1].Name == l[i].Name:
			return fmt.Errorf("%s: given twice, expected once", l[i].Name)
		case i > 0 && l[i-1].Name > l[i].Name:
			return fmt.Errorf("%s after %s, expected names in order", l[i].Name, l[i-1].Name)
		case l[i].Value < 0:
			return fmt.Errorf("%s: %d, expected 0 or more", l[i].Name, l[i].Value)
		}
	}
	return nil
}

// Add gives a + b, or false where the sum does not fit in an int64.
func Add(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

// Sub gives a - b, or false where the difference does not fit in an int64.
func Sub(a, b int64) (int64, bool) {
	d := a - b
	return d, (d < a) == (b > 0)
}
