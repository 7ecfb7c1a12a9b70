package sim

import (
	"cmp"
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
	waits         []poise.Span // of the jobs that started
	tenants       map[poise.TenantID]*tenantUse

	demandTime, usedTime float64 // milli-units times milliseconds
	sampled              int
	imbalance, empty     float64
	series               []Point
}

// tenantUse is a TenantUse in the making.
type tenantUse struct {
	TenantUse
	waits int // how many jobs MeanWait, the sum until result, is of
}

func newTimeline(from, to poise.Time, fleet resource.Vector) *timeline {
	return &timeline{from: from, to: to, now: from, fleet: fleet, used: newTotals(), tenants: map[poise.TenantID]*tenantUse{}}
}

// scarce picks what load and allocation are measured in.
func (t *timeline) scarce(a resource.Vector) int64 {
	if t.fleet[devicesDim] > 0 {
		return a[devicesDim]
	}
	return a[resource.CPU]
}

// advance accounts for the time up to now, in which nothing changed.
func (t *timeline) advance(w *World, now poise.Time) {
	for t.sampled < samplesPerRun {
		at := t.from + poise.Time(float64(t.to-t.from)*float64(t.sampled)/samplesPerRun)
		if at >= now {
			break
		}
		t.sample(w.state().View(), at)
	}
	if now > t.now {
		t.usedTime += float64(float64(t.scarce(t.used)) * float64(now-t.now))
		t.now = now
	}
}

func (t *timeline) sample(snap *state.Snapshot, at poise.Time) {
	t.sampled++
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

// arrive counts the job's demand: its request for its run time, cut at the end.
func (t *timeline) arrive(j *state.Job, runs poise.Span) {
	if t.tenants[j.Tenant] == nil {
		t.tenants[j.Tenant] = &tenantUse{TenantUse: TenantUse{Tenant: j.Tenant}}
	}
	t.tenants[j.Tenant].Jobs++
	end := t.to
	if own := j.Submitted + poise.Time(runs); own > j.Submitted { // as when it starts
		end = min(end, own)
	}
	if begin := max(j.Submitted, t.from); end > begin {
		t.demandTime += float64(float64(t.scarce(requestOf(j.Shape))) * float64(end-begin))
	}
}

func (t *timeline) start(j *state.Job, started *task) {
	t.used.Add(started.holds) // a part of the fleet's totals, which fit
	t.tenants[j.Tenant].Placed++
	t.wait(j, started.at)
}

// wait counts the time that a job has waited until now.
func (t *timeline) wait(j *state.Job, now poise.Time) {
	if j.Submitted < t.from {
		return
	}
	wait, use := poise.Span(now-j.Submitted), t.tenants[j.Tenant]
	t.waits = append(t.waits, wait)
	use.waits++
	use.MeanWait += wait.Seconds()
}

func (t *timeline) stop(stopped *task) { t.used.Sub(stopped.holds) }

func (t *timeline) result(w *World) *ReplayResult {
	pending := 0
	for _, j := range w.state().Waiting() {
		t.wait(j, t.to)
		pending++
	}
	slices.Sort(t.waits)
	sum, waited := 0.0, 0
	for _, wait := range t.waits {
		sum += wait.Seconds()
		if wait > 0 {
			waited++
		}
	}
	tenants := make([]TenantUse, 0, len(t.tenants))
	for _, use := range t.tenants {
		use.MeanWait /= float64(max(use.waits, 1))
		tenants = append(tenants, use.TenantUse)
	}
	slices.SortFunc(tenants, func(a, b TenantUse) int { return cmp.Compare(a.Tenant, b.Tenant) })
	whole := float64(t.scarce(t.fleet)) * float64(t.to-t.from)
	if whole == 0 {
		whole = 1
	}
	samples := float64(max(t.sampled, 1))
	return &ReplayResult{
		Pending: pending, MeanWait: sum / float64(max(len(t.waits), 1)), Waited: waited, P99Wait: quantile(t.waits, 99).Seconds(),
		Load: 100 * t.demandTime / whole, Alloc: 100 * t.usedTime / whole,
		Imbalance: t.imbalance / samples, EmptyNodes: t.empty / samples,
		Stranded: stranded(w.state()), Tenants: tenants, Series: t.series,
	}
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
