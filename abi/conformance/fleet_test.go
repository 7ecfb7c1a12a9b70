package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
)

// everything is a manifest that wants all there is.
var everything = &abi.Manifest{
	Name: "all", Version: "1", Labels: []string{"rack"}, Domains: []string{"zone"}, WantsProfile: true,
	Columns: []string{"capacity:cpu", "allocated:memory", "capacity:storage", "devices:npu", "devices", "device_model", "class", "age"},
}

func mustFleet(t *testing.T, v variant) *fleet {
	t.Helper()
	f, err := newFleet(everything, poise.SymbolsWanted{Labels: []string{"rack", "zone"}}, v)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// seen counts what the checks are there for.
func seen(f *fleet) map[string]int {
	n := map[string]int{}
	for row := range uint32(f.snap.Rows()) {
		for dim, name := range f.snap.Dims() {
			switch {
			case f.snap.Allocated(row, dim) > f.snap.Capacity(row, dim):
				n["overfull"]++
			case f.snap.Capacity(row, dim) == 0:
				n["without "+name]++
			case f.snap.Capacity(row, dim) > 9e15:
				n["huge "+name]++
			}
		}
		if f.snap.Tainted(row) {
			n["tainted"]++
		}
		if !f.snap.Schedulable(row) {
			n["unschedulable"]++
		}
		if f.snap.Running(row) > 0 {
			n["busy"]++
		}
		n[fmt.Sprint("devices ", f.snap.Devices(row))]++
		n["kind "+f.snap.Kinds()[f.snap.Kind(row)]]++
		for _, l := range f.snap.Labels(row) {
			n[l.Key+"="+l.Value]++
		}
		for _, free := range f.snap.Free(row) {
			if free > 0 && free < poise.WholeDevice {
				n["shared device"]++
			}
		}
	}
	return n
}

func TestFleetsHoldWhatTheyAreMadeFor(t *testing.T) {
	f := func(name string, v variant, wanted ...string) {
		t.Helper()
		fl := mustFleet(t, v)
		n := seen(fl)
		for _, what := range wanted {
			if absent, ok := strings.CutPrefix(what, "no "); ok {
				if n[absent] > 0 {
					t.Errorf("%s: %d %s, expected none", name, n[absent], absent)
				}
			} else if n[what] == 0 {
				t.Errorf("%s: no %s among %v", name, what, n)
			}
		}
		for _, j := range fl.jobs {
			rows, err := candidates(fl, j)
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) == 0 {
				t.Errorf("%s: job %s has no candidate", name, j.Name)
			}
		}
	}
	f("usual", variant{nodes: 256, shapes: 16, values: "v"}, "overfull", "tainted", "unschedulable", "busy", "kind gpu", "kind npu", "kind ",
		"rack=v1", "zone=v3", "devices 8", "shared device", "no huge cpu", "no devices 32")
	f("huge", variant{nodes: 256, shapes: 16, huge: true, values: "v"}, "overfull", "huge cpu", "huge memory", "without cpu", "devices 32")
	f("bare", variant{nodes: 64, bare: true}, "devices 0", "no kind gpu", "no tainted", "no busy")
	f("new values", variant{nodes: 128, values: "unheard-of-"}, "rack=unheard-of-1", "no rack=v1")
}

// The same numbers make the same fleet.
func TestFleetsAreTheSameEveryTime(t *testing.T) {
	v := variant{nodes: 100, shapes: 8, values: "v"}
	if a, b := fmt.Sprint(seen(mustFleet(t, v))), fmt.Sprint(seen(mustFleet(t, v))); a != b {
		t.Errorf("%s and %s, expected the same", a, b)
	}
}

func TestProfileSizes(t *testing.T) {
	f := func(shapes int) {
		t.Helper()
		d := mustFleet(t, variant{nodes: 8, shapes: shapes, values: "v"}).snap.Demand()
		if shapes == 0 && d != nil || shapes > 0 && len(d.Kinds) != shapes {
			t.Errorf("%d shapes: %+v", shapes, d)
		}
	}
	f(0)
	f(16)
	f(abi.MaxShapes)
}

func TestShort(t *testing.T) {
	f := func(n int, want string) {
		t.Helper()
		if got := short(n); got != want {
			t.Errorf("short(%d) = %q, expected %q", n, got, want)
		}
	}
	f(0, "0")
	f(999, "999")
	f(1000, "1k")
	f(1234, "1234")
	f(12_345, "12k")
	f(1_250_000, "1.2M")
	f(12_500_000, "13M")
}
