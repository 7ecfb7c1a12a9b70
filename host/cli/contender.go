package cli

import (
	"slices"
	"strings"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/sched"
)

// contender is a policy that a simulation runs: a native one by name, or a
// plugin from a file.
type contender struct {
	name   string
	module *policy.Module // nil for a native one
}

// isPlugin says whether the name of a policy is the path of a plugin.
func isPlugin(name string) bool { return strings.HasSuffix(name, ".wasm") }

// contenders looks all policies up, so that a wrong one fails before anything
// runs. Call done after the runs.
func contenders(names []string) (all []contender, done func(), err error) {
	all, done = make([]contender, len(names)), func() {}
	for i, name := range names {
		all[i].name = name
	}
	if !slices.ContainsFunc(names, isPlugin) {
		return all, done, nil
	}
	w, err := openWorkshop(nil)
	if err != nil {
		return nil, nil, err
	}
	for i, name := range names {
		if !isPlugin(name) {
			continue
		}
		if all[i].module, err = w.load(name); err != nil {
			w.close()
			return nil, nil, err
		}
	}
	return all, w.close, nil
}

// splitParams parts NAME=VALUE pairs into those that a plugin declares and the
// others, and gives the names of all that are declared.
func splitParams(pairs []string, all []contender) (given map[string]string, others, declared []string) {
	for i := range all {
		if all[i].module == nil {
			continue
		}
		for _, p := range all[i].module.Manifest.Params {
			if !slices.Contains(declared, p.Name) {
				declared = append(declared, p.Name)
			}
		}
	}
	given = map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if ok && slices.Contains(declared, key) {
			given[key] = value
			continue
		}
		others = append(others, pair)
	}
	return given, others, declared
}

// own gives those of the parameters that the contender's plugin declares.
func (c *contender) own(given map[string]string) map[string]string {
	own := map[string]string{}
	for key, value := range given {
		if slices.ContainsFunc(c.module.Manifest.Params, paramNamed(key)) {
			own[key] = value
		}
	}
	return own
}

// checkParams refuses a value that the contender's plugin does not take.
func (c *contender) checkParams(given map[string]string) error {
	if c.module == nil {
		return nil
	}
	return checkParams(c.module, c.own(given))
}

// checkParams refuses values that a plugin does not take, as all commands do.
func checkParams(m *policy.Module, params map[string]string) error {
	if _, err := m.Manifest.Settings(params); err != nil {
		return usagef("--param %w", err)
	}
	return nil
}

// entry is a contender made ready for one run.
type entry struct {
	policy  sched.Policy
	symbols poise.SymbolsWanted
	guest   *policy.Guest // nil for a native one
}

func (e *entry) close() {
	if e.guest != nil {
		e.guest.Close()
	}
}

// enter makes the policy for one run. Every run needs one of its own: scorers
// keep what they have computed.
func (c *contender) enter(s *settings, given map[string]string, weight float64, workload []poise.Request) (*entry, error) {
	if c.module == nil {
		p, err := newPolicy(c.name, s, workload)
		return &entry{policy: p}, err
	}
	return enterPlugin(c.module, s, c.own(given), weight)
}

// enterPlugin stacks a plugin on the native policy: on idle-balance, or where
// the losses are combined, on its form spread, which has a range.
func enterPlugin(m *policy.Module, s *settings, params map[string]string, weight float64) (*entry, error) {
	under := idleBalance
	if weight > 0 {
		under = idleBalanceSpread
	}
	base, err := newPolicy(under, s, nil)
	if err != nil {
		return nil, err
	}
	return plugOn(base, m, params, weight)
}

// plugOn puts a plugin on a policy, which is idle-balance-spread where the weight
// is above 0.
func plugOn(base sched.Policy, m *policy.Module, params map[string]string, weight float64) (*entry, error) {
	g, err := policy.NewGuest(m, params)
	if err != nil {
		return nil, err
	}
	a := sched.Activation{
		Name: m.Manifest.Name, Plugin: g, Seeded: m.Manifest.Tie == "seeded", WantsProfile: m.Manifest.WantsProfile,
		Weight: weight, BaseRange: [2]float64{-1, 1},
	}
	if weight > 0 {
		if len(m.Manifest.LossRange) != 2 {
			return nil, usagef("--weight %v: plugin %s declares no loss_range, expected one: its losses cannot be scaled", weight, m.Manifest.Name)
		}
		a.LossRange = [2]float64(m.Manifest.LossRange)
	}
	p, err := base.With(a)
	if err != nil {
		return nil, err
	}
	return &entry{policy: p, symbols: g.Symbols(), guest: g}, nil
}

func paramNamed(key string) func(p abi.Param) bool {
	return func(p abi.Param) bool { return p.Name == key }
}
