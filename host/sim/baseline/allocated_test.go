package baseline

import (
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// Values worked out by hand from kube-scheduler's formulas.
func TestAllocated(t *testing.T) {
	w := newWorld(t)
	w.join("plain", 4000, 10000, 0, "")
	w.join("large", 6000, 10000, 0, "")
	w.join("gpu", 8000, 8000, 2, "")
	w.join("bare", 0, 0, 1, "")
	w.join("shrunk", 4000, 10000, 0, "")
	w.run("plain", poise.Request{Amounts: amounts(3000, 5000)})
	w.run("gpu", poise.Request{Amounts: amounts(1000, 3000)})
	w.run("gpu", request(0, 500, 1), 1)
	w.run("shrunk", poise.Request{Amounts: amounts(3000, 5000)})
	w.apply(poise.NodeChanged{Node: poise.Node{Name: "shrunk", Capacity: amounts(2000, 5000)}})
	f := func(node string, r poise.Request, most, least, balance float64) {
		t.Helper()
		j := w.submit(r)
		for _, c := range []struct {
			name string
			want float64
		}{{"most-allocated", most}, {"least-allocated", least}, {"balanced", balance}} {
			if got, mask := score(t, w, c.name, nil, j, node); got != c.want || mask != 0 {
				t.Errorf("%s: score %v, devices %b; want %v, 0", c.name, got, mask, c.want)
			}
		}
	}
	plain := func(cpu, memory int64) poise.Request { return poise.Request{Amounts: amounts(cpu, memory)} }
	gpu := plain(3000, 1000)
	gpu.Device = poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 500}
	// cpu 3000/4000 and memory 5000/10000: (75+50)/2, (25+50)/2, 1 - 0.25/2.
	f("plain", plain(0, 1), 62, 37, 87)
	// cpu 3000/6000 = 50, memory 5000/10000 = 50.
	f("large", plain(3000, 5000), 50, 50, 100)
	// cpu 1/6000, memory 3333/10000: (0+33)/2, (99+66)/2, 1 - 0.33313../2.
	f("large", plain(1, 3333), 16, 82, 83)
	// No devices requested, none scored: cpu 4000/8000, memory 4000/8000.
	f("gpu", plain(3000, 1000), 50, 50, 100)
	// With devices 1000/2000 as well.
	f("gpu", gpu, 50, 50, 100)
	// cpu 1000/8000, memory 3000/8000, devices 1500/2000: (12+37+75)/3,
	// (87+62+25)/3, fractions .125 .375 .75 with mean .41666, std .25684.
	f("gpu", request(0, 1000, 1), 41, 58, 74)
	// The one resource is the device.
	f("bare", request(0, 250, 1), 25, 75, 100)
	// Nothing to score by.
	f("bare", request(0, 0, 0), 0, 0, 0)
	// A job that requests nothing is not balanced.
	f("plain", request(0, 0, 0), 62, 37, 0)
	// More allocated than there is: both fractions are 1.
	f("shrunk", plain(0, 0), 100, 0, 0)
}

func TestPercentDoesNotOverflow(t *testing.T) {
	const most = 1<<63 - 1
	for _, c := range [][3]int64{{0, 1, 0}, {1, 1, 100}, {1, 3, 33}, {most, most, 100}, {most - 1, most, 99}, {most / 2, most, 49}} {
		if got := percent(c[0], c[1]); got != c[2] {
			t.Errorf("percent(%d, %d) = %d, want %d", c[0], c[1], got, c[2])
		}
	}
}
