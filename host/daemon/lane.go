package daemon

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/telemetry"
)

// lane is the policy in force for a tenant's jobs, or, for "", for those of the
// tenants that have none of their own.
type lane struct {
	tenant poise.TenantID
	stack  *stack.Stack
	away   bool // it plans on other goroutines

	out     int  // pieces of work that it plans there now
	retired bool // another is in force
	seen    []tally
	fuel    bucket
}

// tally is what is known of a layer's plugin as of the latest decision.
type tally struct {
	calls, faults int64
	took          time.Duration
	streak        int // of decisions with a fault
}

func newLane(tenant poise.TenantID, st *stack.Stack) *lane {
	return &lane{tenant: tenant, stack: st, away: st.Away(), seen: make([]tally, len(st.Layers))}
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
	if slices.ContainsFunc(s.open, func(l *lane) bool { return l.tenant == "" }) {
		c.clusterStreak = 0
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
		c.board.rests.end(tenant)
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

// quarantineAfter is how many decisions in a row a plugin may fault.
const quarantineAfter = 3

// account charges a decision to its lane: the fuel to the tenant's bucket, time
// and faults to the plugin that they are of.
func (c *core) account(l *lane, d *poise.Decision) {
	if len(l.stack.Layers) == 0 {
		return
	}
	c.charge(l.tenant, fuelOf(d, ""))
	for i := range l.stack.Layers {
		c.judge(l, i, d)
	}
}

// judge counts the faults in a row of a layer's plugin and asks for a quarantine
// where they are too many. Those of the cluster's plugin count over all lanes,
// so that jobs of one tenant alone do not take it from the others.
func (c *core) judge(l *lane, i int, d *poise.Decision) {
	layer, seen := &l.stack.Layers[i], &l.seen[i]
	streak := &seen.streak
	if layer.Activation.Tenant == "" {
		streak = &c.clusterStreak
	}
	faulted := layer.Fault != nil && d.Fault != ""
	if layer.Guest != nil {
		counts := layer.Guest.Counters().Read()
		faults := faultCount(counts)
		asked := counts.Calls > seen.calls || faults > seen.faults
		faulted = faults > seen.faults
		c.metrics.PluginCall(pluginID(layer.Activation), counts.Took-seen.took)
		if seen.calls, seen.faults, seen.took = counts.Calls, faults, counts.Took; !asked {
			return // all that was needed was known
		}
	}
	if !faulted {
		*streak = 0
		return
	}
	if *streak++; *streak != quarantineAfter || c.faulted == nil {
		return
	}
	now := c.loop.State().Policies().Activation(layer.Activation.Tenant)
	if now != nil && now.Digest == layer.Activation.Digest && !now.Quarantined {
		c.faulted(*now)
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

// rests are the tenants whose plugins have used their fuel, for readers.
type rests struct {
	mu    sync.Mutex
	until map[poise.TenantID]rest
}

type rest struct {
	until poise.Time
	rate  int64 // of fuel, per second
}

func (r *rests) begin(tenant poise.TenantID, until poise.Time, rate int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[poise.TenantID]rest{}
	}
	r.until[tenant] = rest{until, rate}
}

func (r *rests) end(tenant poise.TenantID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, tenant)
}

// reason says why a tenant's jobs wait at a time, "" where nothing is planned
// later for the sake of fuel.
func (r *rests) reason(tenant poise.TenantID, now poise.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.until[tenant]
	if one.until <= now {
		return ""
	}
	return fmt.Sprintf("the tenant's policy has used its fuel of %d units a second; it plans again at %s", one.rate, client.At(one.until).Format(time.RFC3339Nano))
}

// pluginID names an activation in metrics.
func pluginID(a *poise.Activation) telemetry.PluginID {
	return telemetry.PluginID{Tenant: string(a.Tenant), Plugin: a.Plugin, Version: a.Version, Role: "active"}
}

// pluginUse gives what the plugins in force have cost. That of the cluster is at
// work in every lane.
func (c *core) pluginUse() []telemetry.Plugin {
	byID := map[telemetry.PluginID]*telemetry.Plugin{}
	for _, l := range c.lanes {
		for i := range l.stack.Layers {
			layer := &l.stack.Layers[i]
			id := pluginID(layer.Activation)
			p := byID[id]
			if p == nil {
				p = &telemetry.Plugin{PluginID: id, Faults: map[string]int64{}}
				byID[id] = p
			}
			p.Quarantined = layer.Activation.Quarantined
			if layer.Guest == nil {
				continue
			}
			n := layer.Guest.Counters().Read()
			p.Calls, p.Rows, p.Fuel = p.Calls+n.Calls, p.Rows+n.Rows, p.Fuel+n.Fuel
			p.Audited, p.Impure = p.Audited+n.Audited, p.Impure+n.Impure
			for code, count := range n.Faults {
				p.Faults[string(code)] += count
			}
		}
	}
	all := make([]telemetry.Plugin, 0, len(byID))
	for _, p := range byID {
		all = append(all, *p)
	}
	return all
}
