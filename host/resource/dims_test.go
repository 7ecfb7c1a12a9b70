package resource

import (
	"slices"
	"testing"
)

func TestDims(t *testing.T) {
	d := NewDims()
	if names := d.Names(); !slices.Equal(names, []string{"cpu", "memory"}) || names[CPU] != "cpu" || names[Memory] != "memory" {
		t.Fatalf("new table: %v, expected cpu and memory", d.Names())
	}
	// B12: a name that nobody declared has no index, and looking adds none.
	if i, ok := d.Index("fpga"); ok || len(d.Names()) != 2 {
		t.Fatalf("fpga has index %d of %d, expected none", i, len(d.Names()))
	}
	if i := d.Intern("memory"); i != Memory {
		t.Errorf("memory has index %d, expected %d", i, Memory)
	}
	before := d.Names()
	for i, name := range []string{"storage", "pods", "fpga"} {
		if got := d.Intern(name); got != 2+i {
			t.Errorf("%s has index %d, expected %d", name, got, 2+i)
		}
	}
	if i, ok := d.Index("pods"); !ok || i != 3 || d.Names()[3] != "pods" {
		t.Errorf("pods has index %d, %v and 3 is %s, expected 3, true and pods", i, ok, d.Names()[3])
	}
	if want := []string{"cpu", "memory"}; !slices.Equal(before, want) {
		t.Errorf("names held from before are %v, expected %v", before, want)
	}
	_ = append(before, "not in the table")
	if want := []string{"cpu", "memory", "storage", "pods", "fpga"}; !slices.Equal(d.Names(), want) {
		t.Errorf("names are %v, expected %v", d.Names(), want)
	}
}
