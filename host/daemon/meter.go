package daemon

import (
	"context"
	"math"
	"time"

	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/telemetry"
)

// timed is a piece of work and how long its plan took.
type timed struct {
	*loop.Work
	took time.Duration
}

// plan makes the decision of a piece of work, by the clock.
func plan(w *loop.Work) timed {
	began := time.Now()
	w.Plan(sched.Full)
	return timed{w, time.Since(began)}
}

// ask is the word for what a job asks for, in metrics.
func ask(r *poise.Request) string {
	switch {
	case r.Device.Count == 0:
		return "cpu"
	case r.Device.Shared():
		return r.Device.Kind + "-share"
	}
	return r.Device.Kind
}

// meterDecision records a decision.
func (c *core) meterDecision(live *liveJob, d *poise.Decision, took time.Duration) {
	outcome := [...]string{poise.Placed: "placed", poise.FitsNotNow: "waits", poise.NeverFits: "never-fits", poise.OverQuota: "over-quota", poise.BehindOthers: "behind-others"}[d.Verdict]
	c.metrics.Decision(d.Policy, outcome, took, d.Looked)
	if d.Verdict == poise.Placed {
		wait := time.Duration(int64(c.now())-live.row.Submitted) * time.Millisecond
		c.metrics.JobPlaced(live.row.Tenant, ask(&live.spec.Job.Request), wait)
	}
}

// meterEvery is how often the gauges over the fleet are taken anew.
const meterEvery = 10 * time.Second

// meter keeps the gauges until ctx ends.
func (d *Daemon) meter(ctx context.Context) error {
	tick := time.NewTicker(meterEvery)
	defer tick.Stop()
	for {
		var waiting telemetry.Waiting
		var gpus []poise.Request // of waiting jobs with devices
		var plugins []telemetry.Plugin
		if err := d.do(ctx, func(c *core) error { waiting, gpus = c.waiting(); plugins = c.pluginUse(); return nil }); err != nil {
			return nil // ctx has ended
		}
		d.metrics.Waiting(waiting)
		d.metrics.Plugins(plugins)
		d.metrics.Fleet(fleetOf(d.board.current.Load(), gpus))
		d.metrics.Store(0, d.store.Stalled() != nil)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// waiting counts what jobs wait for, and gives the distinct device requests among
// them.
func (c *core) waiting() (telemetry.Waiting, []poise.Request) {
	w := telemetry.Waiting{ByReason: map[string]int{}}
	var gpus []poise.Request
	seen := map[uint32]bool{}
	now := int64(c.now())
	for _, j := range c.loop.State().Waiting() {
		live := c.jobs[j.ID]
		reason := "not tried yet"
		if d := live.decision; d != nil {
			reason = d.Verdict.String()
			if len(d.Refused) > 0 {
				reason = d.Refused[0].Code.String()
			}
		}
		w.ByReason[reason]++
		w.Oldest = max(w.Oldest, time.Duration(now-live.row.Submitted)*time.Millisecond)
		if j.Shape.Request.Device.Count > 0 && !seen[j.Shape.ID] {
			seen[j.Shape.ID] = true
			gpus = append(gpus, j.Shape.Request)
		}
	}
	return w, gpus
}

// fleetOf measures the fleet by class.
func fleetOf(p *published, gpus []poise.Request) telemetry.Fleet {
	type key struct{ class, name string }
	uses, shares := map[key]*telemetry.Use{}, map[key][]float64{}
	states := map[key]int{}
	var f telemetry.Fleet
	snap := p.snap
	add := func(class, name string, capacity, allocated, unit float64) {
		k := key{class, name}
		if uses[k] == nil {
			uses[k] = &telemetry.Use{Class: class, Resource: name}
		}
		uses[k].Capacity += capacity / unit
		uses[k].Allocated += allocated / unit
		shares[k] = append(shares[k], allocated/capacity)
	}
	for _, row := range p.rowOf {
		class, _ := model.ClassOf(snap.Labels(row))
		state := "ready"
		switch {
		case snap.NotReady(row):
			state = "not-ready"
		case snap.Drained(row):
			state = "drained"
		}
		states[key{class, state}]++
		for dim, name := range snap.Dims() {
			if capacity := snap.Capacity(row, dim); capacity > 0 {
				unit := 1000.0
				if name == "memory" || name == "storage" {
					unit = 1
				}
				add(class, name, float64(capacity), float64(snap.Allocated(row, dim)), unit)
			}
		}
		if free := snap.Free(row); len(free) > 0 {
			idle := 0.0
			for _, milli := range free {
				idle += float64(milli)
			}
			whole := float64(len(free)) * poise.WholeDevice
			add(class, snap.Kinds()[snap.Kind(row)], whole, whole-idle, poise.WholeDevice)
			if len(gpus) > 0 && stranded(p, row, gpus) {
				f.StrandedGPUs += math.Floor(idle / poise.WholeDevice)
			}
		}
	}
	for k, u := range uses {
		u.Imbalance = deviation(shares[k])
		f.Uses = append(f.Uses, *u)
	}
	for k, n := range states {
		f.Nodes = append(f.Nodes, telemetry.NodeCount{Class: k.class, State: k.name, Count: n})
	}
	return f
}

// stranded says whether no waiting job with devices can use the row's.
func stranded(p *published, row uint32, gpus []poise.Request) bool {
	snap := p.snap
	for i := range gpus {
		ask := &gpus[i].Device
		if snap.Kinds()[snap.Kind(row)] != ask.Kind {
			continue
		}
		fits := true
		for _, a := range gpus[i].Amounts {
			for dim, name := range snap.Dims() {
				fits = fits && (name != a.Name || snap.Idle(row, dim) >= a.Value)
			}
		}
		n := int32(0)
		for _, milli := range snap.Free(row) {
			if int32(milli) >= ask.Milli {
				n++
			}
		}
		if fits && n >= ask.Count {
			return false
		}
	}
	return true
}

// deviation is the standard deviation of a list.
func deviation(list []float64) float64 {
	mean := 0.0
	for _, v := range list {
		mean += v / float64(len(list))
	}
	sum := 0.0
	for _, v := range list {
		sum += (v - mean) * (v - mean) / float64(len(list))
	}
	return math.Sqrt(sum)
}
