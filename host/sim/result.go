package sim

import (
	"slices"
	"strconv"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// Mode is which experiment was run.
type Mode string

// The modes.
const (
	ModeInflate Mode = "inflate"
	ModeReplay  Mode = "replay"
)

// Result is what one run gave. Percentages are of the whole fleet.
type Result struct {
	Policy   string `json:"policy"`
	Workload string `json:"workload"` // base name of the job file; filled by who read it
	Seed     int64  `json:"seed"`
	Mode     Mode   `json:"mode"`
	Nodes    int    `json:"nodes"`
	Jobs     int    `json:"jobs"`
	Placed   int    `json:"placed"`
	Failed   int    `json:"failed"` // attempted once and refused; always 0 in a replay
	// AllocAt maps the arrived device demand in whole percent of the fleet to
	// the allocated devices in percent, averaged over the arrivals in between.
	// Filled in mode inflate.
	AllocAt map[string]float64 `json:"alloc_at,omitempty"`
	Replay  *ReplayResult      `json:"replay,omitempty"`
	Classes []ClassUse         `json:"classes"`
	// RowsLookedAt counts rows whose filter or score was computed.
	RowsLookedAt       int64   `json:"rows_looked_at"`
	Attempts           int     `json:"attempts"`
	DecisionsPerSecond float64 `json:"decisions_per_second"` // filled by who holds a clock
	Digest             string  `json:"digest"`
}

// QueueUsed says how the queue of a replay was set. Spans are in seconds.
type QueueUsed struct {
	Reservations  int     `json:"reservations"`
	Patience      float64 `json:"patience_seconds"`
	Preemption    string  `json:"preemption"`
	UsageHalfLife float64 `json:"usage_half_life_seconds"`
}

// ReplayResult is what only a run with time has.
type ReplayResult struct {
	Queue *QueueUsed `json:"queue,omitempty"` // filled by who set it
	Ends
	Pending int `json:"pending"` // waiting when the last job had arrived
	// Waits in seconds, of the jobs that came while it was measured, from when each
	// was eligible: all that it comes after had ended, and it was held no longer. One
	// that still waits counts up to the end, one that never was eligible not at all.
	MeanWait float64 `json:"mean_wait_seconds"`
	P99Wait  float64 `json:"p99_wait_seconds"`
	Waited   int     `json:"waited"` // jobs that did not start at once
	// Slowdown is the mean bounded slowdown of those jobs that have a run time:
	// (wait + run) / run, a run counting as 10 s at least.
	Slowdown float64 `json:"slowdown"`
	// Fairness is Jain's index of the dominant shares by weight of the tenants of
	// whom jobs wait, mean over the time in which these are several; 0 = never.
	Fairness float64 `json:"fairness,omitempty"`
	Happened
	// Load and allocation over the time from the first arrival to the last, in
	// percent of the fleet's devices, or of its cpu where it has no devices.
	Load       float64 `json:"load_percent"`
	Alloc      float64 `json:"alloc_percent"`
	CPU        float64 `json:"cpu_percent"`
	Memory     float64 `json:"memory_percent"`
	Imbalance  float64 `json:"imbalance"` // mean over nodes and time of |u_cpu - u_memory|/2
	EmptyNodes float64 `json:"empty_nodes"`
	// Stranded devices at the end: free, but no kind of device job that has
	// arrived could use them.
	Stranded float64     `json:"stranded_devices"`
	Tenants  []TenantUse `json:"tenants"`
	Sizes    []SizeUse   `json:"sizes"`
	// Reasons say why those that wait at the end do, the most frequent in front, and
	// Waiting which they are, by kind, the first MostWaiting.
	Reasons []Reason  `json:"waiting_reasons,omitempty"`
	Waiting []Waiting `json:"waiting,omitempty"`
	Series  []Point   `json:"-"`
}

// Ends is what became of the jobs: with those that wait at the end it is all of them.
type Ends struct {
	Succeeded int `json:"jobs_succeeded"`
	Failed    int `json:"jobs_failed"`    // and were not tried again, or ran past their deadline
	Withdrawn int `json:"jobs_withdrawn"` // did not start by their deadline, or could not any more for how others ended
	Running   int `json:"jobs_running"`   // at the end
}

// TenantUse is how the jobs of one tenant fared. Jobs and Placed are of the
// whole run, the wait is of the jobs that came while it was measured.
type TenantUse struct {
	Tenant   poise.TenantID `json:"tenant"`
	Jobs     int            `json:"jobs"`
	Placed   int            `json:"placed"`
	MeanWait float64        `json:"mean_wait_seconds"` // a job that still waits counts up to the end
	P99Wait  float64        `json:"p99_wait_seconds"`
	Slowdown float64        `json:"slowdown"`
	Share    float64        `json:"share"` // mean dominant share over time, 0 to 1
	Shares   []float64      `json:"-"`     // at each point of the series
}

// Point is one sample of a curve: in mode inflate the arrived device demand in
// percent, in a replay the time in hours, against allocated devices in percent.
type Point struct{ X, Alloc float64 }

// ClassUse is how full the nodes of one class were at the end, in percent.
type ClassUse struct {
	Name    string  `json:"name"`
	Nodes   int     `json:"nodes"`
	CPU     float64 `json:"cpu_percent"`
	Memory  float64 `json:"memory_percent"`
	Devices float64 `json:"devices_percent"`
}

// Curve gives the points of AllocAt in order.
func (r *Result) Curve() []Point {
	if r.Replay != nil {
		return r.Replay.Series
	}
	points := make([]Point, 0, len(r.AllocAt))
	for key, alloc := range r.AllocAt {
		x, err := strconv.Atoi(key)
		if err != nil {
			panic("BUG: alloc_at key " + key)
		}
		points = append(points, Point{X: float64(x), Alloc: alloc})
	}
	slices.SortFunc(points, func(a, b Point) int { return int(a.X) - int(b.X) })
	return points
}

// className is the class that the row's node is labelled with or, in a run
// without a model, what its devices are.
func className(snap *state.Snapshot, row uint32) string {
	if class, ok := model.ClassOf(snap.Labels(row)); ok {
		return class
	}
	n := snap.Devices(row)
	if n == 0 {
		return "cpu"
	}
	name := snap.Kinds()[snap.Kind(row)]
	if m := snap.Models()[snap.Model(row)]; m != "" {
		name += "-" + m
	}
	return name + "-" + strconv.Itoa(n) + "x"
}

// classUse sums capacity and allocation by class, in order of name.
func classUse(snap *state.Snapshot) []ClassUse {
	type sums struct {
		nodes       int
		whole, used resource.Vector
	}
	byName := map[string]*sums{}
	for row := range uint32(snap.Rows()) {
		if !snap.Present(row) {
			continue
		}
		name := className(snap, row)
		s := byName[name]
		if s == nil {
			s = &sums{whole: newTotals(), used: newTotals()}
			byName[name] = s
		}
		s.nodes++
		// Parts of the fleet's totals, which fit.
		for _, dim := range []int{resource.CPU, resource.Memory} {
			s.whole[dim] += snap.Capacity(row, dim)
			s.used[dim] += snap.Allocated(row, dim)
		}
		for _, free := range snap.Free(row) {
			s.whole[devicesDim] += poise.WholeDevice
			s.used[devicesDim] += poise.WholeDevice - int64(free)
		}
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	uses := make([]ClassUse, len(names))
	for i, name := range names {
		s := byName[name]
		of := func(dim int) float64 { return percent(s.used[dim], s.whole[dim]) }
		uses[i] = ClassUse{Name: name, Nodes: s.nodes, CPU: of(resource.CPU), Memory: of(resource.Memory), Devices: of(devicesDim)}
	}
	return uses
}
