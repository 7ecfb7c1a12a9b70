package stack

import (
	"fmt"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
)

// Params gives the constants of the idle-balance policies.
func Params(s *poise.Scheduler) balance.Params {
	p := balance.Defaults()
	p.Beta, p.Lambda, p.Gamma, p.Epsilon, p.Cover, p.Shapes = s.Beta, s.Lambda, s.Gamma, s.Epsilon, s.Cover, s.Shapes
	return p
}

// spreadPolicy is the native policy whose losses have a range, [-1, 1]: a plugin's
// can be combined with them.
const spreadPolicy = "idle-balance-spread"

// native makes the policy that ranks where no plugin says otherwise.
func native(s *poise.Scheduler, name string) (sched.Policy, error) {
	spread, err := balance.NewSpread(nil)
	if err != nil {
		return sched.Policy{}, err
	}
	demand, err := balance.NewDemand(Params(s))
	if err != nil {
		return sched.Policy{}, err
	}
	p := sched.Policy{Name: name, WantsProfile: true, Seed: s.Seed}
	if s.Ties == "seeded" {
		p.Ties = sched.Seeded
	}
	switch name {
	case "idle-balance":
		p.ProtectDevices = s.ProtectDevices
		p.Scorer = balance.NewAuto(spread, demand, p.ProtectDevices)
	case spreadPolicy:
		p.Scorer, p.WantsProfile = spread, false
	case "idle-balance-demand":
		p.Scorer = demand
	default:
		return p, &poise.Error{Kind: poise.Invalid, Op: "configuration", Detail: fmt.Sprintf("scheduler.policy: %q, expected idle-balance, idle-balance-spread or idle-balance-demand", name)}
	}
	return p, nil
}
