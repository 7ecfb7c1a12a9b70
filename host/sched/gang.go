package sched

import (
	"cmp"
	"iter"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// GangPlan is what PlanGang decides.
type GangPlan struct {
	// Decision speaks for the gang: that of the first member where it is placed, else
	// that of the member that did not fit, under the name of the first.
	Decision poise.Decision
	Members  []poise.Decision // by index, of all that start; nil unless placed
	// Refused are, where it is not placed, rows that have room now for members of a
	// shape, and that the policy keeps them off, as far as it was asked.
	Refused []RefusedRow
}

// RefusedRow is a row that a policy keeps the jobs of a shape off.
type RefusedRow struct{ Shape, Row uint32 }

// PlanGang decides where the members of one gang that start together go, on a Trial
// of the snapshot: the largest request first, then by index, each through the same
// steps as a single job. They are given by index. Where this fails and the time has come
// of the nodes that are kept for the gang, they go there. Nothing is held whatever comes of
// it. Errors and failure rules are those of Plan, for the gang as a whole.
func (p *Pipeline) PlanGang(snap *state.Snapshot, members []*state.Job, pass Pass) (GangPlan, error) {
	plan, err := p.planGang(snap, members, &pass)
	if err == nil && plan.Members == nil {
		var held GangPlan
		held, err = p.planHeld(snap, members, &pass, plan.Decision.Plugins)
		switch {
		case err != nil, held.Members != nil:
			plan = held
		case held.Decision.Job != "":
			plan.Decision.Plugins, plan.Refused = held.Decision.Plugins, append(plan.Refused, held.Refused...)
		}
	}
	if err == nil || p.policy.OnFailure == Abort {
		return plan, err
	}
	return p.failedGang(plan.Decision, err.Error(), snap, members, pass)
}

// FailGang is Fail for a gang.
func (p *Pipeline) FailGang(snap *state.Snapshot, members []*state.Job, pass Pass, fault string) (GangPlan, error) {
	if p.policy.OnFailure == Abort {
		d, err := p.Fail(snap, members[0], pass, fault)
		return GangPlan{Decision: d}, err
	}
	return p.failedGang(p.blank(snap, members[0], pass.Now), fault, snap, members, pass)
}

func (p *Pipeline) failedGang(d poise.Decision, fault string, snap *state.Snapshot, members []*state.Job, pass Pass) (GangPlan, error) {
	d.Gang = partOf(members[0])
	if p.policy.OnFailure == Reject {
		d, err := p.failed(d, fault, snap, members[0], pass)
		return GangPlan{Decision: d}, err
	}
	plan, err := p.fallback.PlanGang(snap, members, pass)
	instead := func(to *poise.Decision) {
		if to.Fault != "" {
			fault += "; " + to.Fault
		}
		to.Fault = fault
		to.Plugins = append(slices.Clone(d.Plugins), to.Plugins...)
	}
	instead(&plan.Decision)
	for i := range plan.Members {
		plan.Members[i].Fault = plan.Decision.Fault
	}
	if len(plan.Members) > 0 { // what the policy used is the gang's, and counted once
		plan.Members[0] = plan.Decision
	}
	return plan, err
}

func partOf(j *state.Job) *poise.GangPart {
	part := &poise.GangPart{ID: j.Gang.ID, Index: j.Gang.Index, Size: j.Gang.Size, Min: j.Gang.Least()}
	if t := j.Gang.Topology; t != nil {
		part.Topology = t.Mode + " by " + t.Key
	}
	return part
}

// gangOrder gives the order in which members are placed: the more devices, then cpu,
// then memory, the earlier; equal ones by index. Members of one shape stand together,
// so that what is known of a shape serves them all.
func gangOrder(members []*state.Job) []int {
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &members[a].Shape.Request, &members[b].Shape.Request
		xc, _ := x.Amounts.Find("cpu")
		yc, _ := y.Amounts.Find("cpu")
		xm, _ := x.Amounts.Find("memory")
		ym, _ := y.Amounts.Find("memory")
		return cmp.Or(cmp.Compare(y.Device.Total(), x.Device.Total()), cmp.Compare(yc, xc), cmp.Compare(ym, xm))
	})
	return order
}

// planGang decides without the failure rule. The decision of an error is as far as
// the policy came.
func (p *Pipeline) planGang(snap *state.Snapshot, members []*state.Job, pass *Pass) (GangPlan, error) {
	topology := members[0].Gang.Topology
	order := gangOrder(members)
	var use gangUse
	if topology == nil {
		return p.planMembers(snap, members, order, pass, nil, use, nil)
	}
	domains := NewDomains(snap, topology)
	if topology.Mode == poise.TopologySpread {
		domains.eligible(snap, members)
		return p.planMembers(snap, members, order, pass, domains, use, nil)
	}
	best, more, err := p.packInto(snap, members, order, pass, domains, &use)
	if err != nil {
		d := p.blank(snap, members[0], pass.Now)
		d.Plugins = use
		return GangPlan{Decision: d}, err
	}
	domains.only(best)
	plan, err := p.planMembers(snap, members, order, pass, domains, use, nil)
	if d := &plan.Decision; err == nil && d.Verdict != poise.Placed {
		for _, reason := range more { // what could help in another domain helps as well
			if !slices.Contains(d.Reasons, reason) {
				d.Reasons = append(d.Reasons, reason)
			}
		}
	}
	return plan, err
}

// planMembers places the members one after the other, each on its row where these are
// given. What plugins used before, and
// where a member has no place what they used for those that had one, is with the
// first decision or with the only one.
func (p *Pipeline) planMembers(snap *state.Snapshot, members []*state.Job, order []int, pass *Pass, domains *Domains, before gangUse, rows []uint32) (GangPlan, error) {
	trial := p.Trial(snap)
	trial.Begin(pass.Now)
	plan := GangPlan{Members: make([]poise.Decision, len(members))}
	each := *pass
	for n, i := range order {
		j := members[i]
		if rows != nil {
			each.On = &rows[i]
		} else if each.Bars = MemberBars(pass.Bars, trial, j); domains != nil {
			each.Bars = append(slices.Clip(each.Bars), domains)
		}
		d, err := p.plan(trial.View(), j, &each)
		d.Plugins = p.use()
		d.Gang = partOf(j)
		d.Gang.Fitted, d.Gang.Held = int32(n), rows != nil
		if n == 0 && before != nil {
			before.add(d.Plugins)
			d.Plugins = before
		}
		if err != nil || d.Verdict != poise.Placed {
			var use gangUse
			for _, at := range order[:n] {
				use.add(plan.Members[at].Plugins)
			}
			use.add(d.Plugins)
			d.Job, d.Plugins = members[0].ID, use
			if err == nil {
				p.moreReasons(&d, trial.View(), members, order[:n])
				if neverFits(snap, members, order) {
					d.Verdict = poise.NeverFits
				} else if d.Verdict == poise.NeverFits {
					d.Verdict = poise.FitsNotNow
				}
			}
			return GangPlan{Decision: d, Refused: p.refused(members, order[:n+1])}, err
		}
		row := p.chosen
		if domains != nil {
			d.Gang.Domain = domains.Name(row)
			domains.Add(row)
		}
		if err := trial.Place(j, row, d.Devices); err != nil {
			return GangPlan{Decision: d}, err
		}
		plan.Members[i] = d
	}
	plan.Decision = plan.Members[0]
	return plan, nil
}

// Trial forks a snapshot for tentative placements that the pipeline may be asked
// about: its caches follow.
func (p *Pipeline) Trial(snap *state.Snapshot) *state.Trial { return state.NewTrial(snap, p.tentative) }

// refused gives the rows that the policy keeps members off that it was asked about.
func (p *Pipeline) refused(members []*state.Job, asked []int) (all []RefusedRow) {
	if len(p.policy.Filters) == 0 {
		return nil
	}
	for shape, r := range p.rankingsOf(members, asked) {
		for row := range r.rows {
			if e := &r.rows[row]; e.known && e.native && e.reason != 0 {
				all = append(all, RefusedRow{shape.ID, uint32(row)})
			}
		}
	}
	return all
}

// moreReasons adds why the nodes refuse the shapes of members that had a place: with
// room for them elsewhere, the one that did not fit might.
func (p *Pipeline) moreReasons(d *poise.Decision, snap *state.Snapshot, members []*state.Job, before []int) {
	for _, r := range p.rankingsOf(members, before) {
		r.settle(snap)
		for _, c := range r.counts {
			if c.nodes > 0 && !slices.Contains(d.Reasons, c.reason) {
				d.Reasons = append(d.Reasons, c.reason)
			}
		}
	}
}

// rankingsOf gives what is kept for the shapes of some members, in their order;
// members of one shape come one upon the other and count once.
func (p *Pipeline) rankingsOf(members []*state.Job, some []int) iter.Seq2[*state.Shape, *ranking] {
	return func(yield func(*state.Shape, *ranking) bool) {
		var last *state.Shape
		for _, i := range some {
			shape := members[i].Shape
			if shape == last {
				continue
			}
			last = shape
			if r := p.cache.byKey[cacheKey{shape.ID, p.Key(members[i])}]; r != nil && !yield(shape, r) {
				return
			}
		}
	}
}
