package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/sim/baseline"
)

// Names of the idle-balance policies.
const (
	idleBalance       = "idle-balance"
	idleBalanceSpread = "idle-balance-spread"
	idleBalanceDemand = "idle-balance-demand"
)

// policyNames lists every policy that --policy takes.
func policyNames() []string {
	return append([]string{idleBalance, idleBalanceSpread, idleBalanceDemand}, baseline.Names()...)
}

// settings are the constants of the idle-balance policies, from --param.
type settings struct {
	params   balance.Params
	weights  balance.Weights
	protect  bool
	raw      bool // spread without normalised idle weights
	halfLife float64
}

// parseParams reads NAME=VALUE pairs over the defaults. declared are parameters of
// plugins that could be given beside them.
func parseParams(pairs []string, declared ...string) (settings, error) {
	s := settings{params: balance.Defaults(), weights: balance.Weights{}, protect: true}
	numbers := map[string]*float64{
		"beta": &s.params.Beta, "lambda": &s.params.Lambda, "gamma": &s.params.Gamma,
		"epsilon": &s.params.Epsilon, "cover": &s.params.Cover, "half_life": &s.halfLife,
	}
	switches := map[string]*bool{"protect_devices": &s.protect, "unnormalised": &s.raw}
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok {
			return s, usagef("--param %q: expected NAME=VALUE", pair)
		}
		if on := switches[key]; on != nil {
			v, err := strconv.ParseBool(text)
			if err != nil {
				return s, usagef("--param %s: %q, expected true or false", key, text)
			}
			*on = v
			continue
		}
		dim, isWeight := strings.CutPrefix(key, "weight.")
		whole := key == "shapes" || key == "epoch"
		if numbers[key] == nil && !whole && (!isWeight || dim == "") {
			known := append(slices.Clone(declared), "beta", "lambda", "gamma", "epsilon", "cover", "shapes", "epoch", "half_life", "protect_devices", "unnormalised")
			return s, usagef("--param %s: unknown parameter, expected one of %s or weight.DIMENSION", key, strings.Join(known, ", "))
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return s, usagef("--param %s: %q, expected a finite number", key, text)
		}
		switch {
		case isWeight:
			s.weights[dim] = v
		case whole:
			if v < 0 || v > 1e9 || v != math.Trunc(v) {
				return s, usagef("--param %s: %s, expected a whole number from 0 to 1e9", key, text)
			}
			if key == "shapes" {
				s.params.Shapes = int(v)
			} else {
				s.params.Epoch = uint64(v)
			}
		default:
			*numbers[key] = v
		}
	}
	if err := s.params.Validate(); err != nil {
		return s, err
	}
	return s, s.weights.Validate()
}

// newPolicy makes a policy by name. Every run needs one of its own: scorers
// keep what they have computed.
func newPolicy(name string, s *settings, workload []poise.Request) (sched.Policy, error) {
	if !slices.Contains(policyNames(), name) {
		return sched.Policy{}, usagef("--policy %q: unknown, expected one of %s, or the path of a plugin, which ends in .wasm", name, strings.Join(policyNames(), ", "))
	}
	if slices.Contains(baseline.Names(), name) {
		return baseline.New(name, workload)
	}
	spread, err := balance.NewSpread(s.weights)
	if err != nil {
		return sched.Policy{}, err
	}
	spread.Unnormalised = s.raw
	demand, err := balance.NewDemand(s.params)
	if err != nil {
		return sched.Policy{}, err
	}
	p := sched.Policy{Name: name, WantsProfile: name != idleBalanceSpread}
	switch name {
	case idleBalance:
		p.Scorer, p.ProtectDevices = balance.NewAuto(spread, demand, s.protect), s.protect
	case idleBalanceSpread:
		p.Scorer = spread
	case idleBalanceDemand:
		p.Scorer = demand
	default:
		panic(fmt.Sprintf("BUG: policy %q is listed but not made", name))
	}
	return p, nil
}
