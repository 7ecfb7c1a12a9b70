package daemon

import (
	"context"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/stack"
)

// lane is the policy in force for a tenant's jobs, or, for "", for those of the
// tenants that have none of their own.
type lane struct {
	tenant poise.TenantID
	stack  *stack.Stack
	away   bool // it plans on other goroutines

	out     int  // pieces of work that it plans there now
	retired bool // another is in force
	faults  int64
	streak  int // of decisions with a fault of the top layer
	fuel    bucket
}

func newLane(tenant poise.TenantID, st *stack.Stack) *lane {
	return &lane{tenant: tenant, stack: st, away: st.Away()}
}

// laneOf names the lane that plans a tenant's jobs.
func (c *core) laneOf(tenant poise.TenantID) string {
	if c.lanes[tenant] != nil {
		return string(tenant)
	}
	return ""
}

// swap makes a change of what is in force.
func (c *core) swap(s *swap) error {
	for _, body := range s.bodies {
		if err := c.event(body); err != nil {
			return err
		}
	}
	for _, l := range s.open {
		if err := c.use(l); err != nil {
			return err
		}
	}
	for _, id := range s.close {
		c.closeLane(id)
	}
	if p := c.loop.State().Policies().Scheduler(); p != nil {
		c.loop.UseParams(stack.Params(p))
	}
	return nil
}

// use puts a policy in force. What the one before plans still is dropped.
func (c *core) use(l *lane) error {
	if w := l.stack.Symbols; len(w.Labels)+len(w.Values) > 0 {
		if err := c.event(w); err != nil {
			return err
		}
	}
	old := c.lanes[l.tenant]
	c.lanes[l.tenant] = l
	c.loop.Open(string(l.tenant), l.stack.Policy, l.away)
	if old != nil {
		l.fuel = old.fuel
		old.retire()
	}
	return nil
}

// closeLane ends the policy of a tenant: its jobs go by the cluster's.
func (c *core) closeLane(tenant poise.TenantID) {
	if old := c.lanes[tenant]; old != nil {
		delete(c.lanes, tenant)
		c.loop.Close(string(tenant))
		old.retire()
	}
}

// back takes note that a piece of work of a policy is planned.
func (l *lane) back() {
	l.out--
	l.free()
}

func (l *lane) retire() {
	l.retired = true
	l.free()
}

// free lets go of plugins that are no longer in force, nor at work.
func (l *lane) free() {
	if l.retired && l.out == 0 {
		l.stack.Close()
	}
}

// top is the layer on top, which is the tenant's own, or nil.
func (l *lane) top() *stack.Layer {
	if n := len(l.stack.Layers); n > 0 {
		return &l.stack.Layers[n-1]
	}
	return nil
}

// quarantineAfter is how many decisions in a row a plugin may fault.
const quarantineAfter = 3

// account charges a decision to its lane: the fuel to the tenant's bucket, a
// fault to the plugin on top.
func (c *core) account(l *lane, d *poise.Decision) {
	top := l.top()
	if top == nil || top.Guest == nil || l.retired {
		return
	}
	var fuel int64
	for i := range d.Plugins {
		fuel += d.Plugins[i].Fuel
	}
	if l.tenant != "" && c.tenantFuel != nil {
		if until := l.fuel.take(fuel, c.tenantFuel(), c.now()); until > 0 {
			c.loop.Rest(string(l.tenant), until)
		}
	}
	counts := top.Guest.Counters().Read()
	var faults int64
	for _, n := range counts.Faults {
		faults += n
	}
	if faults > l.faults {
		l.faults = faults
		if l.streak++; l.streak == quarantineAfter && c.faulted != nil {
			c.faulted(*top.Activation)
		}
	} else {
		l.streak = 0
	}
}

// bucket is the fuel that a tenant has left: it fills by a rate per second, up to
// one second's worth, and may be overdrawn by one decision.
type bucket struct {
	used int64      // below 0 = saved up
	at   poise.Time // when used was right
}

// take takes fuel out and gives the time before which the tenant plans nothing, 0
// for none.
func (b *bucket) take(fuel, rate int64, now poise.Time) (until poise.Time) {
	if now > b.at {
		const ms = 1000
		passed := min(int64(now-b.at), ms)
		b.used = max(b.used-passed*(rate/ms+1), -rate)
		b.at = now
	}
	if b.used += fuel; b.used <= 0 {
		return 0
	}
	return now + poise.Time(b.used/(rate/1000+1)+1)
}

// quarantine puts a plugin that faulted too often out of work, unless another is
// in force already.
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
	return d.changeLocked(ctx, []poise.Body{poise.PolicyQuarantined{Tenant: a.Tenant, Quarantined: on}})
}
