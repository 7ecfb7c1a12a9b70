package baseline

import (
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
)

func TestNames(t *testing.T) {
	want := strings.Fields("random best-fit dot-product gpu-packing gpu-clustering most-allocated least-allocated balanced fgd")
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNew(t *testing.T) {
	workload := twoNodesWorkload()
	for _, name := range Names() {
		p, err := New(name, workload)
		if err != nil {
			t.Fatal(err)
		}
		if p.Name != name || p.Scorer == nil || p.ProtectDevices || len(p.Filters) > 0 {
			t.Errorf("%s: got %+v, want a scorer under that name and nothing else", name, p)
		}
		want := sched.ByName
		if name == "random" {
			want = sched.Seeded
		}
		if p.Ties != want || p.SeededDevices != (name == "random") {
			t.Errorf("%s: ties %v, seeded devices %v", name, p.Ties, p.SeededDevices)
		}
	}
}

func TestNewErrors(t *testing.T) {
	f := func(name string, workload []poise.Request, kind poise.Kind, want string) {
		t.Helper()
		_, err := New(name, workload)
		if err == nil || err.Error() != want || poise.KindOf(err) != kind {
			t.Errorf("got %v, want %q of kind %v", err, want, kind)
		}
	}
	f("worst-fit", nil, poise.NotFound, `baseline "worst-fit": no baseline of that name, expected one of random, best-fit, dot-product, gpu-packing, gpu-clustering, most-allocated, least-allocated, balanced, fgd`)
	f("", nil, poise.NotFound, `baseline "": no baseline of that name, expected one of random, best-fit, dot-product, gpu-packing, gpu-clustering, most-allocated, least-allocated, balanced, fgd`)
	f("fgd", nil, poise.Invalid, `baseline fgd: workload: no requests, expected at least one: fgd takes its typical tasks from there`)
}

// The worked values that stand beside the published results.
func TestWorkedValues(t *testing.T) {
	w := twoNodes(t)
	workload := twoNodesWorkload()
	f := func(r poise.Request, node string, dotProduct, clustering, packing, bestFit, fgd float64, device int) {
		t.Helper()
		j := w.submit(r)
		check := func(name string, want float64, wantMask uint32) {
			t.Helper()
			if got, mask := score(t, w, name, workload, j, node); got != want || mask != wantMask {
				t.Errorf("%s: score %v, devices %b; want %v, %b", name, got, mask, want, wantMask)
			}
		}
		check("random", 100, 0)
		check("dot-product", dotProduct, 0)
		check("gpu-clustering", clustering, 0)
		check("gpu-packing", packing, 0)
		check("best-fit", bestFit, 0)
		mask := uint32(0)
		if device >= 0 {
			mask = 1 << device
		}
		check("fgd", fgd, mask)
	}
	f(request(3152, 810, 1), "A", 97, 62, 92, 73, 59, 3)
	f(request(3152, 810, 1), "B", 98, 43, 31, 68, 50, 0)
	f(request(11300, 1000, 1), "A", 96, 62, 49, 78, 47, -1)
	f(request(11300, 1000, 1), "B", 96, 43, 31, 73, 54, -1)
	f(request(12500, 0, 0), "A", 99, 0, 0, 72, 35, -1)
	f(request(12500, 0, 0), "B", 97, 0, 0, 67, 50, -1)
}
