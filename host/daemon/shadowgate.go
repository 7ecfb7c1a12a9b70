package daemon

import (
	"context"
	"fmt"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	compare "github.com/poise-sched/poise/host/shadow"
)

// passes refuses an activation that its tenant's shadow has not shown to be good
// enough: one of another module or with other parameters has shown nothing of
// it. It is asked in the turn of the loop that makes the change, so that what is
// put in force is what was checked.
func (c *core) passes(a *poise.Activation, g *client.Gate) error {
	gate := compare.Gate{Agreement: g.Agreement, Decisions: g.MinDecisions, Faults: -1}
	if g.MaxFaults != nil {
		gate.Faults = max(*g.MaxFaults, 0)
	}
	if err := gate.Validate(); err != nil {
		return err
	}
	refuse := func(format string, args ...any) error {
		return &poise.Error{Kind: poise.Conflict, Op: "gate", Detail: fmt.Sprintf(format, args...)}
	}
	sh := c.shadows[a.Tenant]
	if sh == nil {
		return refuse("%s: none, expected one of plugin %q that ran", shadowOf(a.Tenant), a.Plugin+" "+a.Version)
	}
	k := sh.now()
	ran := &k.Activation
	figures := fmt.Sprintf(" (compared %d, agreed %d, faults in %d, dropped %d)", k.Tally.Decisions, k.Tally.Agreed, k.Tally.Faulted, k.Tally.Dropped)
	switch {
	case ran.Digest != a.Digest:
		return refuse("%s: plugin %q, digest %s, expected digest %s%s", shadowOf(a.Tenant), ran.Plugin+" "+ran.Version, ran.Digest, a.Digest, figures)
	case !sameShadow(ran, a):
		return refuse("%s: it ran with parameters %v and weight %v, expected %v and %v%s", shadowOf(a.Tenant), ran.Params, ran.Weight, a.Params, a.Weight, figures)
	case k.Beside != "" && k.Beside != besides(c.loop.State().Policies(), a.Tenant):
		return refuse("%s: what is in force has changed since it ran, expected figures beside that%s", shadowOf(a.Tenant), figures)
	}
	return gate.Check(&k.Tally)
}

// graduate ends the shadow that ran what is in force now: it would be compared
// with itself.
func (d *Daemon) graduate(ctx context.Context, a *poise.Activation) error {
	sh, err := d.running(ctx, a.Tenant)
	if err == nil && sameShadow(&sh.kept.Activation, a) {
		err = d.StopShadow(ctx, a.Tenant)
	}
	if poise.KindOf(err) == poise.NotFound {
		return nil
	}
	return err
}
