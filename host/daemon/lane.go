package daemon

import (
	"slices"
	"time"

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
		old.retire()
	}
	c.charge(l.tenant, 0) // what it owes from before
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
