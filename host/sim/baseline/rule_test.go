package baseline

import (
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// The branches of clustering and packing that the worked values leave out.
func TestClustering(t *testing.T) {
	f := func(want float64, r poise.Request, running ...poise.Request) {
		t.Helper()
		w := newWorld(t)
		w.join("n", 128000, 0, 8, "")
		next := uint16(0)
		for _, r := range running {
			var devices []uint16
			for range r.Device.Count {
				devices = append(devices, next)
				next++
			}
			w.run("n", r, devices...)
		}
		if got, _ := score(t, w, "gpu-clustering", nil, w.submit(r), "n"); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	f(25, request(1, 500, 1))
	f(25, request(1, 500, 1), request(1, 0, 0))       // no kind
	f(75+1, request(1, 500, 1), request(1, 500, 1))   // b = floor(1.5625)
	f(0+1, request(1, 1000, 1), request(1, 500, 1))   // a share is not one device
	f(75+6, request(1, 1000, 2), request(1, 1000, 2)) // b = 6.25
	f(0+6, request(1, 1000, 1), request(1, 1000, 2))  // nor are two
	f(50+7, request(1, 1, 1), request(1, 1000, 2), request(1, 400, 1))
	f(75+25, request(1, 1000, 8), request(1, 1000, 8))
	f(0, request(1, 0, 0), request(1, 1000, 2))
}

func TestPacking(t *testing.T) {
	f := func(want float64, r poise.Request, used ...int32) {
		t.Helper()
		w := newWorld(t)
		w.join("n", 128000, 0, 8, "")
		for d, milli := range used {
			w.run("n", request(1, milli, 1), uint16(d))
		}
		if got, _ := score(t, w, "gpu-packing", nil, w.submit(r), "n"); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	f(25, request(1, 1000, 8))
	f(25, request(1, 1, 1))
	f(0, request(1, 0, 0))
	f(49, request(1, 1000, 1), 1)
	f(43, request(1, 1000, 7), 1)
	f(49, request(1, 600, 1), 500)           // only whole ones are enough
	f(95, request(1, 500, 1), 500)           // floor(500/10) = 50, 100 - floor(50/10)
	f(100, request(1, 10, 1), 500, 900, 981) // takes the 19: floor(19/10) = 1, floor(1/10) = 0
	f(91, request(1, 999, 1), 1)             // floor(999/10) = 99, floor(99/10) = 9
	f(92, request(1, 850, 1), 100, 150, 810) // takes the 850
}
