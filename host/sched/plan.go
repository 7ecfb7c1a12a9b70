package sched

import (
	"fmt"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Detail says how much of a Decision is filled in.
type Detail uint8

// The details of a Decision. Brief leaves out Refused, Nearest, Helps, Ranked and
// Refusals; Full has the best few in Ranked and no Refusals; All has every node
// in one of these two.
const (
	Brief Detail = iota
	Full
	All
)

// Pipeline plans jobs under one policy. It keeps what the policy answered and
// belongs to one goroutine and one State.
type Pipeline struct {
	policy   Policy
	parts    []any // of the policy
	fallback *Pipeline
	cache    cache
	order    order
	joins    uint64 // of the snapshot that order.published was made for
	nodes    int    // of the same
	work     scratch
	ties     []uint32
	chosen   uint32 // row of the last decision that placed a job
	// tentative numbers what trials change, those of the fallback too.
	tentative *state.Tentative
	barred    barred // of the present pass
}

// NewPipeline makes a pipeline for a policy.
func NewPipeline(p Policy) *Pipeline {
	pipeline := &Pipeline{policy: p, parts: p.parts(), cache: newCache(cacheRows)}
	pipeline.tentative = &state.Tentative{}
	if p.OnFailure == UseFallback {
		pipeline.fallback = NewPipeline(*p.Fallback)
		pipeline.fallback.share(pipeline.tentative)
	}
	return pipeline
}

// share makes the pipeline and its fallbacks number what trials change as another
// does.
func (p *Pipeline) share(t *state.Tentative) {
	if p.tentative = t; p.fallback != nil {
		p.fallback.share(t)
	}
}

// UseIndex makes the pipeline leave out rows that an index of node classes shows
// to be hopeless. It changes what is looked at, never what is decided.
func (p *Pipeline) UseIndex(x *model.Index) {
	p.order.index = x
	if p.fallback != nil {
		p.fallback.UseIndex(x)
	}
}

// Policy is the policy that the pipeline plans under.
func (p *Pipeline) Policy() *Policy { return &p.policy }

// Plan decides where the job would go on the snapshot. A job that fits nowhere
// is a Decision too. Where a filter or scorer fails, nothing of its answers is
// kept and the failure rule of the policy says what is decided; under Abort the
// failure is the error.
func (p *Pipeline) Plan(snap *state.Snapshot, job *state.Job, pass Pass) (poise.Decision, error) {
	d, err := p.plan(snap, job, &pass)
	d.Plugins = p.use()
	if err == nil || p.policy.OnFailure == Abort {
		return d, err
	}
	return p.failed(d, err.Error(), snap, job, pass)
}

// use gives what the plugins of the policy used in the pass that was last.
func (p *Pipeline) use() []poise.PluginUse {
	var all []poise.PluginUse
	for _, part := range p.parts {
		if a, ok := part.(Accountant); ok {
			all = append(all, a.Use())
		}
	}
	return all
}

// Fail decides about a job whose policy gave no answer that could be used, by
// the failure rule. Under Abort the fault is the error.
func (p *Pipeline) Fail(snap *state.Snapshot, job *state.Job, pass Pass, fault string) (poise.Decision, error) {
	d := p.blank(snap, job, pass.Now)
	if p.policy.OnFailure == Abort {
		return d, &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("policy %q", p.policy.Name), Detail: fault}
	}
	return p.failed(d, fault, snap, job, pass)
}

// OverQuota is the decision about a job that may not be placed, whatever fits.
func (p *Pipeline) OverQuota(snap *state.Snapshot, job *state.Job, now poise.Time, miss *poise.QuotaMiss) poise.Decision {
	d := p.blank(snap, job, now)
	d.Verdict, d.Quota = poise.OverQuota, miss
	return d
}

// failed applies the failure rule; d is as far as the policy came.
func (p *Pipeline) failed(d poise.Decision, fault string, snap *state.Snapshot, job *state.Job, pass Pass) (poise.Decision, error) {
	d.Fault = fault
	if p.policy.OnFailure == Reject {
		d.Verdict, d.Reasons = poise.FitsNotNow, []poise.Reason{poise.NewReason(poise.PolicyFaulted, 0)}
		return d, nil
	}
	instead, err := p.fallback.Plan(snap, job, pass)
	instead.Plugins = append(d.Plugins, instead.Plugins...)
	if instead.Fault != "" {
		d.Fault += "; " + instead.Fault
	}
	instead.Fault = d.Fault
	return instead, err
}

// blank is the decision before anything is decided.
func (p *Pipeline) blank(snap *state.Snapshot, job *state.Job, now poise.Time) poise.Decision {
	return poise.Decision{
		Job: job.ID, Now: now, Policy: p.policy.Name, Ties: p.policy.Ties.String(), Seed: p.policy.Seed,
		Version: snap.Version(), Epoch: snap.Epoch(), Nodes: snap.Nodes(),
	}
}

func (p *Pipeline) plan(snap *state.Snapshot, job *state.Job, pass *Pass) (poise.Decision, error) {
	d := p.blank(snap, job, pass.Now)
	r, looked, err := p.catchUp(snap, job)
	if err != nil {
		return d, err
	}
	bars := pass.Bars
	if pass.On != nil {
		bars = nil
	}
	p.bar(r, bars)
	if pass.On != nil && !r.candidate(*pass.On) {
		d.Verdict, d.Reasons = poise.FitsNotNow, []poise.Reason{r.rows[*pass.On].reason}
		return d, nil
	}
	d.Looked, d.Fitting = looked, r.fitting-len(p.barred.rows)
	if d.Fitting == 0 || pass.Detail != Brief {
		r.settle(snap)
	}
	var row uint32
	if d.Fitting == 0 {
		if d.Verdict, d.Reasons = r.refusal(&p.barred); d.Verdict == poise.OverQuota {
			d.Quota = p.barred.miss()
		}
	} else {
		if pass.On != nil {
			row = *pass.On
		} else {
			row = p.pick(r, job)
		}
		p.chosen, d.Node = row, snap.Name(row)
		d.Devices = p.devices(snap, job, row, r.rows[row].mask)
	}
	if pass.Detail != Brief {
		p.explain(&d, r, snap, job, row, pass.Detail)
	}
	return d, nil
}

// catchUp gives the ranking for a job on the snapshot, and how many rows were looked
// at.
func (p *Pipeline) catchUp(snap *state.Snapshot, job *state.Job) (*ranking, int, error) {
	p.arrange(snap)
	r := p.cache.ranking(job.Shape, p.Key(job), snap.Rows())
	looked, err := r.catchUp(&p.policy, p.epoch(snap, job), job, &p.order, &p.work)
	return r, looked, err
}

// Key is what the policy's answers for the job depend on beside its shape.
func (p *Pipeline) Key(job *state.Job) string {
	key := ""
	for _, part := range p.parts {
		if k, ok := part.(Keyer); ok {
			key += k.Key(job)
		}
	}
	return key
}

// epoch begins a pass. It is the sum of what the parts say, which grows when one
// of them does.
func (p *Pipeline) epoch(snap *state.Snapshot, job *state.Job) uint64 {
	epoch := uint64(0)
	for _, part := range p.parts {
		epoch += epochOf(part, snap, job)
	}
	return epoch
}

func epochOf(part any, snap *state.Snapshot, job *state.Job) uint64 {
	switch e := part.(type) {
	case Preparer:
		return e.Prepare(snap, job)
	case Epocher:
		return e.Epoch(snap)
	}
	return 0
}

// arrange readies the order for the snapshot. Of two snapshots with as many
// joins, the one with fewer nodes has only nodes that the other has too.
func (p *Pipeline) arrange(snap *state.Snapshot) {
	p.order.snap = snap
	if p.policy.Ties != Published || p.joins == snap.Joins() && p.nodes >= snap.Nodes() {
		return
	}
	p.joins, p.nodes = snap.Joins(), snap.Nodes()
	p.order.published = make([]uint64, snap.Rows())
	for row := range uint32(snap.Rows()) {
		if snap.Present(row) {
			p.order.published[row] = p.policy.Order[snap.Name(row)]
		}
	}
}

// refusal gives the distinct reasons of the refused rows, and whether any node
// could hold the job once it is empty and ready, or now but for the bars.
func (r *ranking) refusal(b *barred) (poise.Verdict, []poise.Reason) {
	verdict := poise.NeverFits
	reasons := make([]poise.Reason, 0, len(r.counts))
	for _, c := range r.counts {
		if c.nodes == 0 {
			continue
		}
		reasons = append(reasons, c.reason)
		if !c.reason.Code().Lasting() {
			verdict = poise.FitsNotNow
		}
	}
	if len(b.rows) > 0 {
		verdict = b.verdict()
		for _, c := range b.counts {
			reasons = append(reasons, c.reason)
		}
	}
	return verdict, reasons
}

// pick gives the best row that no bar refuses. There is at least one.
func (p *Pipeline) pick(r *ranking, job *state.Job) uint32 {
	if p.barred.lean != nil {
		return p.allRanked(r, job)[0]
	}
	best := r.tree.win[1]
	if len(p.barred.rows) > 0 {
		best = p.bestFree(r)
	}
	if p.policy.Ties != Seeded {
		return best
	}
	if len(p.barred.rows) == 0 {
		p.ties = r.tree.tied(p.ties[:0], 1, func(row uint32) bool {
			return r.candidate(row) && r.equal(row, best)
		})
	}
	prefix := hashPrefix(p.policy.Seed, job.ID)
	low := hashOf(prefix, p.order.snap.Name(best))
	for _, row := range p.ties {
		h := hashOf(prefix, p.order.snap.Name(row))
		if h < low || h == low && p.order.snap.Rank(row) < p.order.snap.Rank(best) {
			best, low = row, h
		}
	}
	return best
}

// devices gives the indexes of the devices that the job takes on the row: the
// scorer's if it chose, else the lowest free ones for whole devices and best fit
// (least free that is enough, then lowest) for a share.
func (p *Pipeline) devices(snap *state.Snapshot, job *state.Job, row uint32, mask uint32) []uint16 {
	ask := &job.Shape.Request.Device
	if ask.Count == 0 {
		return nil
	}
	chosen := make([]uint16, 0, ask.Count)
	if mask != 0 {
		for i := range uint16(poise.MaxDevices) {
			if mask>>i&1 != 0 {
				chosen = append(chosen, i)
			}
		}
		return chosen
	}
	free := snap.Free(row)
	if !ask.Shared() {
		for i := 0; len(chosen) < int(ask.Count); i++ {
			if int32(free[i]) >= ask.Milli {
				chosen = append(chosen, uint16(i))
			}
		}
		return chosen
	}
	best, key := -1, uint64(0)
	for i, f := range free {
		if int32(f) < ask.Milli {
			continue
		}
		k := uint64(f)
		if p.policy.SeededDevices {
			k = hash(p.policy.Seed, job.ID, string(rune('0'+i)))
		}
		if best < 0 || k < key {
			best, key = i, k
		}
	}
	return append(chosen, uint16(best))
}
