package poise_test

import (
	"testing"

	poise "github.com/poise-sched/poise/abi/guest/go"
	"github.com/poise-sched/poise/abi/guest/go/harness"
)

// Nothing that takes a Call allocates: in a guest it would be for ever, or a
// collection in the middle of a call.
func TestCallsDoNotAllocate(t *testing.T) {
	p := declare()
	c := harness.Open(t, p.plugin, harness.World{
		Nodes: []harness.Node{
			{"zone": "a", "rack": "r1", "devices:gpu": []int{1000, 500}, "capacity:cpu": 4000},
			{"zone": "b", "rack": "r1", "devices:gpu": []int{250, 0}},
		},
		Job:     harness.Job{Devices: 1, Milli: 500, Models: []string{"T4"}, Request: map[string]float64{"cpu": 100}},
		Profile: []harness.Shape{{Count: 1, Devices: 1, Milli: 100}, {Count: 2}},
	})
	filter := func(c *poise.Call, reasons []poise.Reason) {
		most := p.f64.Of(c)
		used, devices, ask := p.cpuUsed.Of(c), p.devices.Of(c), c.Job().Devices()
		for row, all := range p.cpuCap.Of(c) {
			_, fits := ask.Tightest(devices.Row(row))
			if used[row] > all*most || !fits || !c.Candidate(row) {
				reasons[row] = p.tooFull
			}
		}
	}
	score := func(c *poise.Call, losses []float64) {
		var sum float64
		for v := range p.zones.Of(c).All() {
			sum += v.Capacity(p.memCap.Dim)
		}
		for s := range p.profile.Of(c).All() {
			ask := s.Devices()
			sum += s.Count() * float64(ask.Count)
		}
		if p.enum.Of(c) == "one" && p.symbol.Of(c) != p.tenant.Of(c) {
			sum += c.Fleet().Sum(p.cpuCap.Dim)
		}
		zones := p.zones.Of(c)
		for row, z := range p.zone.Of(c) {
			if v, ok := zones.Find(z); ok {
				losses[row] = sum + float64(v.TenantTasks())
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		c.Filter(filter)
		c.Score(score)
	}); n != 0 {
		t.Errorf("got %v allocations a call, want none", n)
	}
}
