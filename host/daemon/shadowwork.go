package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/sched"
	compare "github.com/poise-sched/poise/host/shadow"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
)

// How long after a change a report is put into the store: at most, and where the
// plugin faulted.
const (
	shadowSave      = 5 * time.Second
	shadowSaveFault = time.Second
)

// shadowWork is what the goroutine of a shadow works with.
type shadowWork struct {
	sh       *shadow
	policies *state.Policies // that it was built for
	beside   string

	shade, live       *stack.Stack
	shadePipe, livePi *sched.Pipeline
}

// work compares decisions until ctx ends.
func (sh *shadow) work(ctx context.Context) {
	w := &shadowWork{sh: sh}
	defer w.forget()
	defer sh.save(context.WithoutCancel(ctx))
	save := time.NewTicker(shadowSave)
	defer save.Stop()
	soon := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-save.C:
			sh.save(ctx)
			if soon {
				save.Reset(shadowSave)
				soon = false
			}
		case s := <-sh.queue:
			if w.compare(ctx, &s) && !soon {
				save.Reset(shadowSaveFault)
				soon = true
			}
		}
	}
}

func (w *shadowWork) forget() {
	for _, st := range []*stack.Stack{w.shade, w.live} {
		if st != nil {
			st.Close()
		}
	}
	w.shade, w.live, w.shadePipe, w.livePi = nil, nil, nil, nil
}

// ready builds the policies of a time, fresh guests and all, unless they are
// those of the decision before. Where what is in force has changed, the figures
// begin anew.
func (w *shadowWork) ready(ctx context.Context, s *shown) error {
	if w.shade != nil && w.policies == s.policies {
		return nil
	}
	sh := w.sh
	a := sh.kept.Activation // never changes
	beside := besides(s.policies, a.Tenant)
	if w.shade != nil && w.beside == beside {
		w.policies = s.policies
		return nil
	}
	w.forget()
	var err error
	if w.shade, err = sh.tools.build(ctx, s.policies, &a); err != nil {
		return err
	}
	w.shadePipe = sched.NewPipeline(w.shade.Policy)
	w.policies, w.beside = s.policies, beside
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.kept.Beside != beside {
		if sh.kept.Beside != "" {
			sh.kept.Since, sh.kept.From, sh.kept.Tally = s.at, s.basis.Index, compare.Tally{}
			sh.dropped.Store(0)
		}
		sh.kept.Beside, sh.dirty = beside, true
	}
	return nil
}

// plan makes a decision in a slot, within the fuel of the shadow. It gives false
// where ctx ended first.
func (w *shadowWork) plan(ctx context.Context, p *sched.Pipeline, s *shown, detail sched.Detail) (*sched.GangPlan, bool) {
	sh := w.sh
	if !pause(ctx, sh.fuel.take(0, sh.tools.rate(), now())) {
		return nil, false
	}
	select {
	case sh.tools.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	var plan sched.GangPlan
	var err error
	pass := sched.Pass{Now: s.made.Decision.Now, Detail: detail, Bars: s.basis.Bars()}
	if s.basis.Members != nil {
		plan, err = p.PlanGang(s.basis.Snap, s.basis.Members, pass)
	} else {
		plan.Decision, err = p.Plan(s.basis.Snap, &s.basis.Job, pass)
	}
	<-sh.tools.slots
	if err != nil {
		sh.tools.log.Warn("a shadow has no answer", "tenant", string(sh.kept.Activation.Tenant), "error", err)
		return nil, false
	}
	sh.fuel.take(fuelOfAll(&plan, ""), sh.tools.rate(), now())
	return &plan, true
}

// compare takes in one decision and says whether the plugin faulted.
func (w *shadowWork) compare(ctx context.Context, s *shown) bool {
	sh := w.sh
	if err := w.ready(ctx, s); err != nil {
		sh.dropped.Add(1)
		if ctx.Err() == nil {
			sh.tools.log.Warn("a shadow cannot be built", "tenant", string(sh.kept.Activation.Tenant), "error", err)
		}
		return false
	}
	before := faultsOf(w.shade)
	would, ok := w.plan(ctx, w.shadePipe, s, sched.Full)
	if !ok {
		if ctx.Err() == nil {
			sh.dropped.Add(1)
		}
		return false
	}
	job := &s.basis.Job
	c := compare.Compared{
		Index: s.basis.Index, At: s.at, Name: job.Name, Shape: shapeHash(job.Shape), Live: s.made, Would: would, Faults: newFaults(w.shade, before),
		Fuel: fuelOfAll(would, sh.kept.Activation.Digest),
	}
	if s.basis.Members != nil {
		c.Name = cmp.Or(job.Gang.Name, job.Name)
	}
	for _, d := range decisionsOf(would) {
		for i := range d.Plugins {
			c.Rows += int64(d.Plugins[i].Rows)
		}
	}
	if !compare.Same(c.Live, c.Would) {
		w.ask(ctx, s, &c)
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.kept.Tally.Add(&c)
	sh.kept.Budget, sh.dirty, sh.policies = budgetOf(w.shade, &would.Decision), true, s.policies
	return len(c.Faults) > 0
}

// ask finds out what each policy says of the node that the other chose, where
// the decisions do not tell. A policy that answers differently when it is asked
// again tells nothing more.
func (w *shadowWork) ask(ctx context.Context, s *shown, c *compare.Compared) {
	live, would := c.Live, c.Would
	l, o := compare.Apart(live, would)
	c.Would = w.fuller(ctx, s, would, o, l.Node, func() *sched.Pipeline { return w.shadePipe })
	c.Live = w.fuller(ctx, s, live, l, o.Node, func() *sched.Pipeline {
		if w.livePi == nil {
			tenant := w.sh.kept.Activation.Tenant
			if s.policies.Activation(tenant) == nil {
				tenant = ""
			}
			st, err := w.sh.tools.live(ctx, s.policies, tenant)
			if err != nil {
				return nil
			}
			w.live, w.livePi = st, sched.NewPipeline(st.Policy)
		}
		return w.livePi
	})
}

// fuller gives a plan with all that its policy says about nodes in one of its
// decisions, where that does not tell of a node.
func (w *shadowWork) fuller(ctx context.Context, s *shown, plan *sched.GangPlan, d *poise.Decision, node string, by func() *sched.Pipeline) *sched.GangPlan {
	if compare.Knows(d, node) {
		return plan
	}
	pipe := by()
	if pipe == nil {
		return plan
	}
	all, ok := w.plan(ctx, pipe, s, sched.All)
	if !ok || !compare.Same(plan, all) {
		return plan
	}
	full := &sched.GangPlan{Decision: plan.Decision, Members: slices.Clone(plan.Members)}
	if full.Members == nil {
		full.Decision.Ranked, full.Decision.Refusals = all.Decision.Ranked, all.Decision.Refusals
		return full
	}
	at := d.Gang.Index
	full.Members[at].Ranked, full.Members[at].Refusals = all.Members[at].Ranked, all.Members[at].Refusals
	return full
}

// pause waits, and gives false where ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// fuelOf sums the fuel of a decision, of one plugin or, for "", of all.
func fuelOf(d *poise.Decision, digest string) int64 {
	sum := int64(0)
	for i := range d.Plugins {
		if digest == "" || d.Plugins[i].Digest == digest {
			sum += d.Plugins[i].Fuel
		}
	}
	return sum
}

// fuelOfAll is fuelOf for a plan, over all members of a gang that starts.
func fuelOfAll(plan *sched.GangPlan, digest string) int64 {
	sum := int64(0)
	for _, d := range decisionsOf(plan) {
		sum += fuelOf(&d, digest)
	}
	return sum
}

// faultsOf gives how often the plugin on top has faulted, by code.
func faultsOf(st *stack.Stack) map[abi.Code]int64 {
	if g := st.Layers[len(st.Layers)-1].Guest; g != nil {
		return g.Counters().Read().Faults
	}
	return nil
}

// newFaults gives the faults of the plugin on top since before, by code. One
// that is not asked because of a fault has that one each time.
func newFaults(st *stack.Stack, before map[abi.Code]int64) map[string]int64 {
	faults := map[string]int64{}
	top := &st.Layers[len(st.Layers)-1]
	if top.Guest == nil {
		code := "unknown"
		var f *policy.Fault
		if errors.As(top.Fault, &f) {
			code = string(f.Code)
		}
		faults[code] = 1
		return faults
	}
	for code, n := range faultsOf(st) {
		if n > before[code] {
			faults[string(code)] = n - before[code]
		}
	}
	return faults
}

// budgetOf is the fuel that the plugin on top may use for a decision about every
// node of the fleet.
func budgetOf(st *stack.Stack, d *poise.Decision) int64 {
	g := st.Layers[len(st.Layers)-1].Guest
	if g == nil {
		return 0
	}
	l := g.Module().Limits()
	return l.JobFuel + int64(d.Nodes)*l.RowFuel
}

// shapeHash tells the requests of jobs apart, over restarts too.
func shapeHash(s *state.Shape) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%q %q %q", fmt.Sprint(s.Request), fmt.Sprint(s.Selectors), fmt.Sprint(s.Tolerations)) // it has no error to give
	return h.Sum64()
}
