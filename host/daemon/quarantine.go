package daemon

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// quarantine puts a plugin that faulted too often out of work, or back to work,
// unless another is in force already.
func (d *Daemon) quarantine(ctx context.Context, a poise.Activation, on bool) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	now, err := d.inForce(ctx)
	if err != nil {
		return err
	}
	current := now.Activation(a.Tenant)
	if current == nil || current.Index != a.Index || current.Quarantined == on {
		return nil
	}
	body := poise.PolicyQuarantined{Tenant: a.Tenant, Quarantined: on}
	if on {
		body.Since = d.core.now()
	}
	if err := d.changeLocked(ctx, []poise.Body{body}); err != nil {
		return err
	}
	d.log.Warn("quarantine", "tenant", string(a.Tenant), "plugin", a.Plugin, "version", a.Version, "on", on)
	select {
	case d.probes.news <- struct{}{}:
	default:
	}
	return nil
}

// goodInRow is how many good answers in a row end a quarantine.
const goodInRow = 3

// probes are when plugins in quarantine are tried again: after a first wait, and
// after twice the wait each time that they fault still, up to the longest. A
// plugin that is let out and faults again goes on with the wait that it had.
type probes struct {
	first, longest time.Duration
	news           chan struct{} // one token at most: something came into quarantine
}

func newProbes() probes {
	return probes{first: time.Minute, longest: time.Hour, news: make(chan struct{}, 1)}
}

// probing is the next probe of one activation.
type probing struct {
	index uint64 // of the activation
	wait  time.Duration
	next  time.Time // the zero one where it is at work
}

// probe tries plugins in quarantine again, off the deciding path, until ctx ends.
func (d *Daemon) probe(ctx context.Context) error {
	known := map[poise.TenantID]*probing{}
	for {
		now, err := d.inForce(ctx)
		if err != nil {
			return nil // ctx has ended
		}
		sleep := d.probes.longest
		for _, tenant := range now.Activated() {
			a := now.Activation(tenant)
			p := known[tenant]
			if p == nil || p.index != a.Index {
				p = &probing{index: a.Index, wait: d.probes.first}
				known[tenant] = p
			}
			if !a.Quarantined {
				p.next = time.Time{}
				continue
			}
			if p.next.IsZero() {
				p.next = time.Now().Add(p.wait)
			}
			if wait := time.Until(p.next); wait > 0 {
				sleep = min(sleep, wait)
				continue
			}
			if d.probed(ctx, now, a) {
				if err := d.quarantine(ctx, *a, false); err != nil && ctx.Err() == nil {
					d.log.Error("a plugin stays in quarantine", "tenant", string(tenant), "plugin", a.Plugin, "error", err)
				}
			}
			p.wait = min(2*p.wait, d.probes.longest)
			p.next = time.Now().Add(p.wait)
			sleep = min(sleep, p.wait)
		}
		for tenant := range known {
			if now.Activation(tenant) == nil {
				delete(known, tenant)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-d.probes.news:
		case <-time.After(sleep):
		}
	}
}

// probed says whether a plugin gives so many good answers in a row, each by an
// instance that is new, about the tenant's latest jobs.
func (d *Daemon) probed(ctx context.Context, now *state.Policies, a *poise.Activation) bool {
	trial := now.Clone()
	if err := trial.Apply(poise.Event{Body: poise.PolicyQuarantined{Tenant: a.Tenant}}); err != nil {
		return false
	}
	jobs, snap, err := d.probeJobs(ctx, a.Tenant)
	if err != nil {
		return false
	}
	good := 0
	for i := 0; good < goodInRow; i++ {
		asked, err := d.tryOnce(ctx, trial, a.Tenant, snap, jobs[i%len(jobs)])
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			d.log.Info("a plugin in quarantine faults still", "tenant", string(a.Tenant), "plugin", a.Plugin, "error", err)
			return false
		case asked:
			good++
		case i >= len(jobs) && good == 0:
			return false // no node is there to ask about
		}
	}
	return true
}

// tryOnce plans a job with the plugin on top, and says whether it was asked and
// what was wrong with its answer.
func (d *Daemon) tryOnce(ctx context.Context, trial *state.Policies, tenant poise.TenantID, snap *state.Snapshot, job *state.Job) (asked bool, err error) {
	st, err := d.builder.Build(ctx, trial, tenant)
	if err != nil {
		return false, err
	}
	defer st.Close()
	top := &st.Layers[len(st.Layers)-1]
	if top.Fault != nil {
		return true, top.Fault
	}
	select {
	case d.core.slots <- struct{}{}:
		defer func() { <-d.core.slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	decision, err := sched.NewPipeline(st.Policy).Plan(snap, job, sched.Pass{Detail: sched.Brief})
	if err != nil {
		return true, err
	}
	counts := top.Guest.Counters().Read()
	if faultCount(counts) > 0 {
		return true, errors.New(decision.Fault)
	}
	return counts.Calls > 0, nil
}

// probeJobs gives the tenant's latest jobs, or anybody's for "", and behind them
// one that fits everywhere, with what is to be planned on.
func (d *Daemon) probeJobs(ctx context.Context, tenant poise.TenantID) (jobs []*state.Job, snap *state.Snapshot, err error) {
	err = d.do(ctx, func(c *core) error {
		s := c.loop.State()
		for _, j := range slices.Backward(s.All()) {
			if tenant == "" || j.Tenant == tenant {
				copied := *j
				jobs = append(jobs, &copied)
			}
			if len(jobs) == goodInRow {
				break
			}
		}
		small, err := s.Draft(smallJob(tenant), c.now())
		jobs, snap = append(jobs, small), s.Snapshot()
		return err
	})
	return jobs, snap, err
}
