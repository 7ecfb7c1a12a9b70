package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/sched"
)

// theLane plans all jobs: until tenants have policies of their own there is one.
const theLane = "default"

// params gives the constants of the idle-balance policies.
func params(c *config.Config) balance.Params {
	p := balance.Defaults()
	s := &c.Scheduler.Params
	p.Beta, p.Lambda, p.Gamma, p.Epsilon, p.Cover, p.Shapes = s.Beta, s.Lambda, s.Gamma, s.Epsilon, s.Cover, int(s.Shapes)
	return p
}

// native makes the policy that ranks where no plugin says otherwise.
func native(c *config.Config, name string) (sched.Policy, error) {
	spread, err := balance.NewSpread(nil)
	if err != nil {
		return sched.Policy{}, err
	}
	demand, err := balance.NewDemand(params(c))
	if err != nil {
		return sched.Policy{}, err
	}
	p := sched.Policy{Name: name, WantsProfile: true, Seed: uint64(c.Scheduler.Seed)}
	if c.Scheduler.Ties == "seeded" {
		p.Ties = sched.Seeded
	}
	switch name {
	case "idle-balance":
		p.ProtectDevices = c.Scheduler.ProtectDevices
		p.Scorer = balance.NewAuto(spread, demand, p.ProtectDevices)
	case "idle-balance-spread":
		p.Scorer, p.WantsProfile = spread, false
	case "idle-balance-demand":
		p.Scorer = demand
	default:
		return p, &poise.Error{Kind: poise.Invalid, Op: "configuration", Detail: fmt.Sprintf("scheduler.policy: %q, expected idle-balance, idle-balance-spread or idle-balance-demand", name)}
	}
	return p, nil
}

// stack is the policy in force, and what goes with it.
type stack struct {
	policy  sched.Policy
	symbols poise.SymbolsWanted
	guest   *policy.Guest // nil without a plugin
	module  *policy.Module

	away    bool // it plans on other goroutines
	out     int  // pieces of work that it plans there now
	retired bool // another is in force
}

// use puts a policy in force. What the one before plans still is dropped.
func (c *core) use(st *stack) error {
	if len(st.symbols.Labels)+len(st.symbols.Values) > 0 {
		if err := c.event(st.symbols); err != nil {
			return err
		}
	}
	c.loop.Open(theLane, st.policy, st.away)
	if c.stack != nil {
		c.stack.retired = true
		c.stack.free()
	}
	if c.stack = st; c.classes != nil {
		c.useModel()
	}
	return nil
}

// back takes note that a piece of work of a policy is planned.
func (c *core) back(st *stack) {
	st.out--
	st.free()
	if c.modelDue {
		c.useModel()
	}
}

// free lets go of a plugin that is no longer in force, nor at work.
func (st *stack) free() {
	if st.retired && st.out == 0 {
		st.close()
	}
}

func (st *stack) close() {
	if st.guest != nil {
		st.guest.Close()
		_ = st.module.Close(context.Background()) // it has no error to give
	}
}

// plugins runs the operator's plugin.
type plugins struct {
	engine *policy.Engine
	child  []string
	cache  string
}

// open makes the policy that the configuration asks for.
func (p *plugins) open(ctx context.Context, c *config.Config) (*stack, error) {
	if c.Policy.Path == "" {
		n, err := native(c, c.Scheduler.Policy)
		return &stack{policy: n}, err
	}
	if p.engine == nil {
		engine, err := policy.NewEngine(ctx, policy.Options{Cache: filepath.Join(p.cache, "plugins"), Child: p.child, Limits: policyLimits(&c.Policy.Limits)})
		if err != nil {
			return nil, err
		}
		p.engine = engine
	}
	bin, err := os.ReadFile(c.Policy.Path)
	if err != nil {
		return nil, &poise.Error{Kind: poise.NotFound, Op: "configuration", Detail: "policy.path", Err: err}
	}
	m, err := p.engine.Load(ctx, bin)
	if err != nil {
		return nil, fmt.Errorf("policy.path %s: %w", c.Policy.Path, err)
	}
	st, err := p.stack(c, m)
	if err != nil {
		_ = m.Close(ctx) // it has no error to give
	}
	return st, err
}

// stack makes the policy of a plugin on the native one.
func (p *plugins) stack(c *config.Config, m *policy.Module) (*stack, error) {
	name := c.Scheduler.Policy
	g, err := policy.NewGuest(m, c.Policy.Params)
	if err != nil {
		return nil, err
	}
	a := sched.Activation{
		Name: m.Manifest.Name, Plugin: g, Seeded: m.Manifest.Tie == "seeded", WantsProfile: m.Manifest.WantsProfile,
		Weight: c.Policy.Weight, BaseRange: [2]float64{-1, 1},
	}
	switch c.Policy.OnFailure {
	case "reject":
		a.OnFailure = sched.Reject
	case "fallback":
		a.OnFailure = sched.UseFallback
	}
	if a.Weight > 0 {
		if len(m.Manifest.LossRange) != 2 {
			return nil, &poise.Error{Kind: poise.Invalid, Op: "configuration", Detail: fmt.Sprintf("policy.weight: %v, and plugin %s declares no loss_range, expected one", a.Weight, a.Name)}
		}
		name, a.LossRange = "idle-balance-spread", [2]float64(m.Manifest.LossRange)
	}
	base, err := native(c, name)
	if err != nil {
		return nil, err
	}
	whole, err := base.With(a)
	return &stack{policy: whole, symbols: g.Symbols(), guest: g, module: m, away: true}, err
}

// policyLimits gives the limits of the configuration.
func policyLimits(c *config.PolicyLimits) policy.Limits {
	const page = 1 << 16
	l := policy.Defaults()
	l.Module.Bytes, l.Module.MemoryPages, l.GoMemoryPages = int(c.Module), uint32(c.Memory/page), uint32(c.GoMemory/page)
	l.CallFuel, l.GoCallFuel, l.SetupFuel, l.JobFuel, l.RowFuel = c.CallFuel, c.GoCallFuel, c.SetupFuel, c.JobFuel, c.RowFuel
	l.Compile, l.CompileMemory = c.CompileTime, int64(c.CompileMemory)
	return l
}
