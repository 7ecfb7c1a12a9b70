package sim

import (
	"strconv"

	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// metrics follows the published metric of mode inflate: after every arrival,
// the allocated devices in percent rounded to 0.01, averaged over the arrivals
// whose arrived demand rounds to the same percent.
type metrics struct {
	nodes            int
	fleet            resource.Vector
	arrived, used    int64 // milli-devices
	jobs, placed     int
	sums             []float64
	samples          []int
	digest           *digest
	attempts, failed int
}

func newMetrics(w *World) *metrics {
	return &metrics{nodes: w.state().View().Nodes(), fleet: w.fleet, digest: newDigest()}
}

func (m *metrics) arrive(j *state.Job) {
	m.jobs++
	m.arrived += j.Shape.Request.Device.Total()
}

// attempt counts a decision, of a gang one for each member that it places.
func (m *metrics) attempt(st *state.State, s *loop.Settled) {
	m.attempts++
	decisions := s.Members
	if decisions == nil {
		decisions = []poise.Decision{s.Decision}
	}
	for i := range decisions {
		d := &decisions[i]
		j := st.Job(d.Job)
		m.digest.add(j.Name, d)
		if d.Verdict != poise.Placed {
			m.failed++
			continue
		}
		m.placed++
		m.used += j.Shape.Request.Device.Total()
	}
}

func (m *metrics) sample() {
	at := arrivedPercent(m.arrived, m.fleet[devicesDim])
	for len(m.sums) <= at {
		m.sums, m.samples = append(m.sums, 0), append(m.samples, 0)
	}
	m.sums[at] += hundredths(percent(m.used, m.fleet[devicesDim]))
	m.samples[at]++
}

func (m *metrics) result(w *World, mode Mode) *Result {
	r := &Result{
		Policy: w.config.Policy.Name, Mode: mode, Nodes: m.nodes, Jobs: m.jobs, Placed: m.placed, Failed: m.failed,
		Classes: classUse(w.state().View()), RowsLookedAt: w.looked, Attempts: m.attempts, Digest: m.digest.hex(),
	}
	if mode == ModeInflate {
		r.AllocAt = make(map[string]float64, len(m.sums))
		last := 0.0 // a percent in which nothing arrived has the value before it
		for at, n := range m.samples {
			if n > 0 {
				last = hundredths(m.sums[at] / float64(n))
			}
			r.AllocAt[strconv.Itoa(at)] = last
		}
	}
	return r
}
