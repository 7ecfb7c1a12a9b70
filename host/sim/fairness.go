package sim

import (
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// Jain is Jain's index of fairness of what n have, (sum x)^2 / (n * sum x^2): 1
// where all have the same, 1/n where one has all. It is 1 of nothing (Jain, Chiu,
// Hawe: A Quantitative Measure of Fairness, DEC-TR-301, 1984).
func Jain(x []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
		squares += float64(v * v)
	}
	if squares == 0 {
		return 1
	}
	return float64(sum*sum) / (float64(len(x)) * squares)
}

// leastRun bounds below the run time that a slowdown is relative to, 10 s, so that
// jobs of no length do not make it.
const leastRun = poise.Span(10_000)

// slowdown is the bounded slowdown of a job: what it took from submission to its
// end, relative to its run time, 1 at least (Feitelson and Rudolph, 1998).
func slowdown(wait, run poise.Span) float64 {
	return max(1, float64(wait+run)/float64(max(run, leastRun)))
}

// spread gathers waits and slowdowns of jobs of one kind.
type spread struct {
	jobs, placed int
	waits        []poise.Span
	slow         float64
	slows        int
}

func (s *spread) wait(wait, run poise.Span) {
	s.waits = append(s.waits, wait)
	if run > 0 {
		s.slow += slowdown(wait, run)
		s.slows++
	}
}

// figures of the waits: mean and 99 of 100 in seconds, and the mean slowdown.
func (s *spread) figures() (mean, p99, slow float64) {
	slices.Sort(s.waits)
	for _, w := range s.waits {
		mean += w.Seconds()
	}
	return mean / float64(max(len(s.waits), 1)), quantile(s.waits, 99).Seconds(), s.slow / float64(max(s.slows, 1))
}

// SizeUse is how the jobs of one size fared. Jobs and Placed are of the whole run,
// waits and slowdown of the jobs that came while it was measured.
type SizeUse struct {
	Size     string  `json:"size"`
	Jobs     int     `json:"jobs"`
	Placed   int     `json:"placed"`
	MeanWait float64 `json:"mean_wait_seconds"`
	P99Wait  float64 `json:"p99_wait_seconds"`
	Slowdown float64 `json:"slowdown"`
}

// sizes are the classes of size, the smallest first. A job with devices goes by
// them, another by its cores.
var sizes = [...]string{"to 1 cpu", "to 4 cpu", "to 16 cpu", "more cpu", "part of a device", "1 device", "to 4 devices", "more devices"}

// sizeOf gives the index of the class of a request.
func sizeOf(v resource.Vector) int {
	devices, cpu := v[devicesDim], v[resource.CPU]
	switch {
	case devices > 4*poise.WholeDevice:
		return 7
	case devices > poise.WholeDevice:
		return 6
	case devices == poise.WholeDevice:
		return 5
	case devices > 0:
		return 4
	case cpu > 16_000:
		return 3
	case cpu > 4_000:
		return 2
	case cpu > 1_000:
		return 1
	}
	return 0
}

// fairness follows what each tenant has over time.
type fairness struct {
	jain    float64
	samples int // with several tenants of whom each wants more
}

// sample takes each tenant's dominant share, and Jain's index, over the tenants of
// whom jobs wait, of the shares by weight.
func (f *fairness) sample(s *state.State, tenants map[poise.TenantID]*tenantUse) {
	var hungry []float64
	for _, id := range slices.Sorted(maps.Keys(tenants)) {
		use := tenants[id]
		share, _ := s.Share(id)
		use.Shares = append(use.Shares, share)
		if t := s.Policies().Tenant(id); t != nil && t.Weight > 0 {
			share /= t.Weight
		}
		if use.waiting > 0 {
			hungry = append(hungry, share)
		}
	}
	if len(hungry) > 1 {
		f.jain += Jain(hungry)
		f.samples++
	}
}

// Happened counts what a run did to jobs beside placing them. What is 0 did not
// come about.
type Happened struct {
	Gangs        int `json:"gangs_started,omitempty"`
	Preempted    int `json:"preemptions,omitempty"`
	Circles      int `json:"preemption_circles,omitempty"` // of jobs that displaced each other without getting on, see Cycles: none are expected
	Missed       int `json:"deadlines_missed,omitempty"`
	Retries      int `json:"retries,omitempty"` // tasks that failed and after which the job was tried again
	Reservations int `json:"reservations,omitempty"`
	// Of the reservations that named a time and whose job started: by then, or later.
	Kept int `json:"reservations_kept,omitempty"`
	Late int `json:"reservations_late,omitempty"`
}

// happenings counts events.
type happenings struct {
	Happened
	promised map[poise.JobID]poise.Time // the first promise to each job
	cycles   Cycles
}

func (h *happenings) follow(ev poise.Event) {
	h.cycles.Follow(ev)
	h.Circles = h.cycles.Found
	switch b := ev.Body.(type) {
	case poise.GangPlaced:
		h.Gangs++
		for i := range b.Placements {
			h.start(b.Placements[i].Job, ev.At)
		}
	case poise.JobPlaced:
		h.start(b.Placement.Job, ev.At)
	case poise.JobPreempted:
		h.Preempted++
	case poise.JobRequeued:
		if b.Failed {
			h.Retries++
		}
	case poise.ReservationMade:
		h.Reservations++
		if _, known := h.promised[b.Job]; !known && b.Start > 0 {
			h.promised[b.Job] = b.Start
		}
	}
}

func (h *happenings) start(id poise.JobID, at poise.Time) {
	promise, ok := h.promised[id]
	if !ok {
		return
	}
	delete(h.promised, id)
	if at <= promise {
		h.Kept++
	} else {
		h.Late++
	}
}
