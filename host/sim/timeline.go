package sim

import (
	"maps"
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// samplesPerRun is how often a replay looks at every node for the figures that
// cannot be kept up by event, and how many points its curve has.
const samplesPerRun = 500

// timeline gathers what a replay reports over time. All figures are of the
// time between from and to, the last arrival.
type timeline struct {
	from, to, now poise.Time
	fleet, used   resource.Vector
	all           spread
	sizes         [len(sizes)]spread
	tenants       map[poise.TenantID]*tenantUse
	again         map[poise.JobID]bool // that ran and wait again
	// late is when jobs became eligible that were not at once: that came after others,
	// or were held. never: they have not yet.
	late map[poise.JobID]poise.Time
	runs func(*state.Job) poise.Span

	demandTime float64   // milli-units times milliseconds
	usedTime   []float64 // the same, by dimension
	sampled    int
	imbalance  float64
	empty      float64
	series     []Point
	fairness   fairness
	happened   happenings
	ends       Ends
}

const never poise.Time = -1

// tenantUse is a TenantUse in the making.
type tenantUse struct {
	TenantUse
	spread
	waiting int // how many of its jobs wait now
}

func newTimeline(from, to poise.Time, fleet resource.Vector, runs func(*state.Job) poise.Span) *timeline {
	return &timeline{
		from: from, to: to, now: from, fleet: fleet, used: newTotals(), usedTime: make([]float64, devicesDim+1),
		tenants: map[poise.TenantID]*tenantUse{}, again: map[poise.JobID]bool{}, late: map[poise.JobID]poise.Time{}, runs: runs,
		happened: happenings{promised: map[poise.JobID]poise.Time{}},
	}
}

// scarceDim picks what load and allocation are measured in.
func (t *timeline) scarceDim() int {
	if t.fleet[devicesDim] > 0 {
		return devicesDim
	}
	return resource.CPU
}

func (t *timeline) scarce(a resource.Vector) int64 { return a[t.scarceDim()] }

// advance accounts for the time up to now, in which nothing changed.
func (t *timeline) advance(w *World, now poise.Time) {
	for t.sampled < samplesPerRun {
		at := t.from + poise.Time(float64(t.to-t.from)*float64(t.sampled)/samplesPerRun)
		if at >= now {
			break
		}
		t.sample(w.state(), at)
	}
	if now > t.now {
		for dim := range t.usedTime {
			t.usedTime[dim] += float64(float64(t.used[dim]) * float64(now-t.now))
		}
		t.now = now
	}
}

func (t *timeline) sample(s *state.State, at poise.Time) {
	snap := s.View()
	t.sampled++
	t.fairness.sample(s, t.tenants)
	imbalance, empty := 0.0, 0
	for row := range uint32(snap.Rows()) {
		if snap.Running(row) == 0 {
			empty++
		}
		cpu := percent(snap.Allocated(row, 0), snap.Capacity(row, 0)) / 100
		memory := percent(snap.Allocated(row, 1), snap.Capacity(row, 1)) / 100
		imbalance += float64(math.Abs(cpu-memory) / 2)
	}
	t.imbalance += imbalance / float64(snap.Nodes())
	t.empty += float64(empty)
	t.series = append(t.series, Point{
		X:     float64(at-t.from) / 3_600_000,
		Alloc: percent(t.scarce(t.used), t.scarce(t.fleet)),
	})
}

// arrive counts a job, which may be tried from now on or, else, not yet.
func (t *timeline) arrive(j *state.Job, eligible bool) {
	use := t.tenants[j.Tenant]
	if use == nil {
		// It had nothing at the samples so far.
		use = &tenantUse{TenantUse: TenantUse{Tenant: j.Tenant, Shares: make([]float64, t.sampled)}}
		t.tenants[j.Tenant] = use
	}
	use.jobs++
	t.sizes[sizeOf(requestOf(j.Shape))].jobs++
	if !eligible {
		t.late[j.ID] = never
		return
	}
	t.eligible(j, j.Submitted)
}

// eligible counts the demand of a job that may be tried from now on: its request for
// its run time, cut at the end.
func (t *timeline) eligible(j *state.Job, now poise.Time) {
	if t.late[j.ID] == never {
		t.late[j.ID] = now
	}
	t.tenants[j.Tenant].waiting++
	end := t.to
	if own := now + poise.Time(t.runs(j)); own > now { // as when it starts
		end = min(end, own)
	}
	if begin := max(now, t.from); end > begin {
		t.demandTime += float64(float64(t.scarce(requestOf(j.Shape))) * float64(end-begin))
	}
}

func (t *timeline) start(j *state.Job, started *task) {
	t.used.Add(started.holds) // a part of the fleet's totals, which fit
	t.tenants[j.Tenant].waiting--
	if t.again[j.ID] {
		delete(t.again, j.ID)
		return
	}
	t.tenants[j.Tenant].placed++
	t.sizes[sizeOf(started.holds)].placed++
	t.wait(j, started.at)
}

// wait counts the time that a job has waited until it started, or now, since it was
// eligible.
func (t *timeline) wait(j *state.Job, now poise.Time) {
	since, late := t.late[j.ID]
	if !late {
		since = j.Submitted
	}
	if j.Submitted < t.from || since == never || t.again[j.ID] {
		return
	}
	wait, run := poise.Span(now-since), t.runs(j)
	for _, of := range []*spread{&t.all, &t.tenants[j.Tenant].spread, &t.sizes[sizeOf(requestOf(j.Shape))]} {
		of.wait(wait, run)
	}
}

// stop takes a task from what is used. Its job may wait again.
func (t *timeline) stop(id poise.JobID, stopped *task, waits bool) {
	t.used.Sub(stopped.holds)
	if waits {
		t.again[id] = true
		t.tenants[stopped.tenant].waiting++
	}
}

// end counts the end of a job. One that waits and was eligible has waited until now.
func (t *timeline) end(j *state.Job, how ending, now poise.Time) {
	switch how {
	case succeeded:
		t.ends.Succeeded++
	case failed:
		t.ends.Failed++
	case withdrawn:
		t.ends.Withdrawn++
	}
	since, late := t.late[j.ID]
	if j.Waiting() && !(late && since == never) {
		t.wait(j, now)
		t.tenants[j.Tenant].waiting--
	}
	delete(t.late, j.ID)
	delete(t.again, j.ID)
}

// placed is how many jobs have started.
func (t *timeline) placed() int {
	n := 0
	for i := range t.sizes {
		n += t.sizes[i].placed
	}
	return n
}

func (t *timeline) result(w *World) *ReplayResult {
	waiting := w.state().Waiting()
	for _, j := range waiting {
		t.wait(j, t.to)
	}
	t.ends.Running = w.state().Jobs() - len(waiting)
	r := &ReplayResult{
		Ends: t.ends, Pending: len(waiting), Imbalance: t.imbalance / float64(max(t.sampled, 1)), EmptyNodes: t.empty / float64(max(t.sampled, 1)),
		Stranded: stranded(w.state()), Series: t.series, Happened: t.happened.Happened,
	}
	for _, wait := range t.all.waits {
		if wait > 0 {
			r.Waited++
		}
	}
	r.MeanWait, r.P99Wait, r.Slowdown = t.all.figures()
	for _, id := range slices.Sorted(maps.Keys(t.tenants)) {
		use := t.tenants[id]
		use.Jobs, use.Placed = use.jobs, use.placed
		use.MeanWait, use.P99Wait, use.Slowdown = use.figures()
		for _, share := range use.Shares {
			use.Share += share / float64(len(use.Shares))
		}
		r.Tenants = append(r.Tenants, use.TenantUse)
	}
	for i := range t.sizes {
		if of := &t.sizes[i]; of.jobs > 0 {
			use := SizeUse{Size: sizes[i], Jobs: of.jobs, Placed: of.placed}
			use.MeanWait, use.P99Wait, use.Slowdown = of.figures()
			r.Sizes = append(r.Sizes, use)
		}
	}
	if t.fairness.samples > 0 {
		r.Fairness = t.fairness.jain / float64(t.fairness.samples)
	}
	part := func(time float64, dim int) float64 {
		whole := float64(t.fleet[dim]) * float64(t.to-t.from)
		if whole == 0 {
			return 0
		}
		return 100 * time / whole
	}
	r.Load, r.Alloc = part(t.demandTime, t.scarceDim()), part(t.usedTime[t.scarceDim()], t.scarceDim())
	r.CPU, r.Memory = part(t.usedTime[resource.CPU], resource.CPU), part(t.usedTime[resource.Memory], resource.Memory)
	return r
}

// quantile gives the smallest wait that so many percent of all do not exceed.
func quantile(sorted []poise.Span, percent int) poise.Span {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}

// stranded sums the free devices, in devices, of the nodes on which no kind of
// device job that has arrived would fit: for want of cpu or memory, because the
// free shares are too small, or because no job asks for such devices.
func stranded(s *state.State) float64 {
	snap, seen := s.View(), s.Demand()
	sum := int64(0)
	for row := range uint32(snap.Rows()) {
		free := snap.Free(row)
		kind, model := snap.Kinds()[snap.Kind(row)], snap.Models()[snap.Model(row)]
		usable := slices.ContainsFunc(seen, func(m state.Seen) bool {
			asked := m.Kind == kind && (len(m.Models) == 0 || slices.Contains(m.Models, model)) &&
				(m.Milli == poise.WholeDevice || !snap.Exclusive(row))
			n := int32(0)
			for _, f := range free {
				if int32(f) >= m.Milli {
					n++
				}
			}
			return asked && n >= m.Count && snap.Idle(row, 0) >= m.CPU && snap.Idle(row, 1)/mib >= m.Memory
		})
		if usable {
			continue
		}
		for _, f := range free {
			sum += int64(f)
		}
	}
	return float64(sum) / poise.WholeDevice
}
