package stack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// Stack is a policy and the plugins in it.
type Stack struct {
	Policy  sched.Policy
	Symbols poise.SymbolsWanted // to be applied before the first plan
	Layers  []Layer             // of the cluster, then of the tenant
}

// Layer is one activation in force.
type Layer struct {
	Activation *poise.Activation
	Guest      *policy.Guest // nil where Fault says why there is none
	Fault      error
	instead    *policy.Guest // of the version before, for the rule last-good
}

// Away says whether plans may take as long as a plugin's budget lasts.
func (s *Stack) Away() bool { return len(s.Layers) > 0 }

// Fault gives what is wrong with the layers that could not be loaded.
func (s *Stack) Fault() error {
	var all []error
	for i := range s.Layers {
		all = append(all, s.Layers[i].Fault)
	}
	return errors.Join(all...)
}

// Close frees the plugins.
func (s *Stack) Close() {
	for i := range s.Layers {
		for _, g := range []*policy.Guest{s.Layers[i].Guest, s.Layers[i].instead} {
			if g != nil {
				g.Close()
				_ = g.Module().Close(context.Background()) // it has no error to give
			}
		}
	}
}

// Build makes the stack of a tenant, or the cluster's for "". An error is about
// the native scheduler or the host; what is wrong with a plugin is its layer's
// Fault.
func (b *Builder) Build(ctx context.Context, from *state.Policies, tenant poise.TenantID) (*Stack, error) {
	layers := [][]*poise.Activation{from.History("")}
	if tenant != "" {
		layers = append(layers, from.History(tenant))
	}
	return b.build(ctx, b.modules, from.Scheduler(), layers)
}

// BuildWith is Build with an activation on top that is not in force.
func (b *Builder) BuildWith(ctx context.Context, from *state.Policies, a *poise.Activation) (*Stack, error) {
	return b.buildWith(ctx, b.modules, from, a)
}

// BuildTrial is BuildWith with a module that nobody keeps yet.
func (b *Builder) BuildTrial(ctx context.Context, from *state.Policies, a *poise.Activation, bin []byte) (*Stack, error) {
	return b.buildWith(ctx, held{b.modules, a.Digest, bin}, from, a)
}

// held knows one module more.
type held struct {
	Modules
	digest string
	bin    []byte
}

func (h held) Module(ctx context.Context, digest string) ([]byte, error) {
	if digest == h.digest {
		return h.bin, nil
	}
	return h.Modules.Module(ctx, digest)
}

func (b *Builder) buildWith(ctx context.Context, from Modules, in *state.Policies, a *poise.Activation) (*Stack, error) {
	layers := [][]*poise.Activation{append(in.History(a.Tenant), a)}
	if a.Tenant != "" {
		layers = append([][]*poise.Activation{in.History("")}, layers...)
	}
	return b.build(ctx, from, in.Scheduler(), layers)
}

func (b *Builder) build(ctx context.Context, from Modules, s *poise.Scheduler, layers [][]*poise.Activation) (*Stack, error) {
	if s == nil {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "build policy", Detail: "scheduler: not recorded, expected an event scheduler-set before"}
	}
	st, err := b.pile(ctx, from, s, layers)
	if err != nil && st != nil {
		st.Close()
		return nil, err
	}
	return st, err
}

// pile puts the layers on the native policy.
func (b *Builder) pile(ctx context.Context, from Modules, s *poise.Scheduler, layers [][]*poise.Activation) (*Stack, error) {
	st := &Stack{}
	var history [][]*poise.Activation
	for _, h := range layers {
		if len(h) == 0 {
			continue
		}
		l := Layer{Activation: h[len(h)-1]}
		l.Guest, l.Fault = b.guest(ctx, from, s, l.Activation)
		if l.Activation.OnFailure == poise.RuleLastGood && len(h) > 1 {
			l.instead, _ = b.guest(ctx, from, s, h[len(h)-2]) // where it cannot be loaded either, jobs wait
		}
		st.Layers, history = append(st.Layers, l), append(history, h)
	}
	name := s.Policy
	for i := range st.Layers {
		if g := st.Layers[i].Guest; g != nil && g.Scores() {
			if st.Layers[i].Activation.Weight > 0 {
				name = spreadPolicy
			}
			break
		}
	}
	var err error
	if st.Policy, err = native(s, name); err != nil {
		return st, err
	}
	span := lossSpan{lo: -1, hi: 1, known: name == spreadPolicy}
	for i := range st.Layers {
		l := &st.Layers[i]
		if span, err = st.add(l, history[i], span); err != nil {
			return st, err
		}
		for _, g := range []*policy.Guest{l.Guest, l.instead} {
			if g != nil {
				w := g.Symbols()
				st.Symbols.Labels, st.Symbols.Values = append(st.Symbols.Labels, w.Labels...), append(st.Symbols.Values, w.Values...)
			}
		}
	}
	return st, nil
}

// lossSpan is the range of the losses of what is piled up so far.
type lossSpan struct {
	lo, hi float64
	known  bool
}

// add puts a layer on the policy.
func (st *Stack) add(l *Layer, history []*poise.Activation, under lossSpan) (lossSpan, error) {
	base := st.Policy
	plugin, span, err := plug(l.Activation, l.Guest, under)
	if err != nil {
		l.Fault = err
	}
	if l.Fault != nil {
		plugin, span = failing(l.Activation, l.Fault), under
	}
	switch l.Activation.OnFailure {
	case poise.RuleFallback:
		plugin.OnFailure = sched.UseFallback
	case poise.RuleReject:
		plugin.OnFailure = sched.Reject
	case poise.RuleLastGood:
		plugin.OnFailure = sched.Reject
		if l.instead != nil {
			last, _, err := plug(history[len(history)-2], l.instead, under)
			if err == nil {
				last.OnFailure = sched.Reject
				good, err := base.With(last)
				if err != nil {
					return under, err
				}
				plugin.OnFailure, plugin.Instead = sched.UseFallback, &good
			}
		}
	}
	st.Policy, err = base.With(plugin)
	return span, err
}

// plug says how a plugin stands on what is under it, and what the range of the
// losses is then.
func plug(a *poise.Activation, g *policy.Guest, under lossSpan) (sched.Activation, lossSpan, error) {
	if g == nil {
		return sched.Activation{}, under, nil
	}
	m := g.Module().Manifest
	p := sched.Activation{
		Name: m.Name, Plugin: g, Seeded: m.Tie == "seeded", WantsProfile: m.WantsProfile,
		Weight: a.Weight, BaseRange: [2]float64{under.lo, under.hi},
	}
	if !g.Scores() {
		p.Weight = 0
		return p, under, nil
	}
	declared := len(m.LossRange) == 2
	if declared {
		p.LossRange = [2]float64(m.LossRange)
	}
	if a.Weight == 0 {
		return p, lossSpan{lo: p.LossRange[0], hi: p.LossRange[1], known: declared}, nil
	}
	refuse := func(detail string) (sched.Activation, lossSpan, error) {
		return p, under, &policy.Fault{Code: abi.CodeConfigure, Plugin: m.Name + " " + m.Version, Digest: a.Digest, Detail: detail}
	}
	if !declared {
		return refuse(fmt.Sprintf("weight: %v, and the plugin declares no loss_range, expected one", a.Weight))
	}
	if !under.known {
		return refuse(fmt.Sprintf("weight: %v, and the policy under it declares no loss_range, expected weight 0", a.Weight))
	}
	return p, lossSpan{lo: 0, hi: 1 + a.Weight, known: true}, nil
}

// failing is the place of a plugin that is not asked.
func failing(a *poise.Activation, fault error) sched.Activation {
	return sched.Activation{
		Name: a.Plugin, Plugin: &broken{fault: fault, use: poise.PluginUse{Name: a.Plugin + " " + a.Version, Digest: a.Digest}},
		OnFailure: sched.Reject,
	}
}

// guest loads the plugin of an activation. The error is a *policy.Fault.
func (b *Builder) guest(ctx context.Context, from Modules, s *poise.Scheduler, a *poise.Activation) (*policy.Guest, error) {
	fail := func(code abi.Code, detail string, err error) (*policy.Guest, error) {
		return nil, &policy.Fault{Code: code, Plugin: a.Plugin + " " + a.Version, Digest: a.Digest, Detail: detail, Err: err}
	}
	if a.Quarantined {
		return nil, quarantined(a)
	}
	bin, err := from.Module(ctx, a.Digest)
	if err != nil {
		return fail(abi.CodeFetch, "", err)
	}
	if is := digestOf(bin); is != a.Digest {
		return fail(abi.CodeDigest, fmt.Sprintf("module: digest %s, expected the one that was activated", is), nil)
	}
	m, err := b.Load(ctx, s.Limits, bin)
	if err != nil {
		return nil, err
	}
	g, err := policy.NewGuest(m, a.Params)
	if err != nil {
		_ = m.Close(ctx) // it has no error to give
		return nil, err
	}
	return g, nil
}

func digestOf(bin []byte) string {
	sum := sha256.Sum256(bin)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// quarantined is why a plugin is not asked that faulted too often. It is part of
// recorded decisions, so it says only what is recorded.
func quarantined(a *poise.Activation) error {
	whose := "of the cluster"
	if a.Tenant != "" {
		whose = fmt.Sprintf("of tenant %q", a.Tenant)
	}
	return &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("policy %q %s", a.Plugin+" "+a.Version, whose), Detail: fmt.Sprintf(
		"in quarantine since %s after faults in a row, rule %s; it is tried again from time to time",
		time.UnixMilli(int64(a.Since)).UTC().Format(time.RFC3339), a.OnFailure)}
}
