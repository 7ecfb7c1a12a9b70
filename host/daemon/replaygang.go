package daemon

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// partInGang names what a decision says of the gang.
const partInGang = "part in the gang"

func partText(g *poise.GangPart) string {
	if g == nil {
		return "none"
	}
	return fmt.Sprintf("%+v", *g)
}

// all gives the decisions of a record: one, or one per member of a gang that starts.
func (d *gangDecision) all() []poise.Decision {
	return append([]poise.Decision{d.Decision}, d.Members...)
}

// againGang decides again about a gang of which job is the first member.
func (r *replay) againGang(p *plans, was *made, job *state.Job, pass sched.Pass, recorded bool) error {
	g := r.state.GangOf(job)
	members, all := g.Core(), was.all()
	if !g.Ready() || len(members) != len(all) {
		return r.differs(was, "gang", fmt.Sprintf("%d members start", len(all)), fmt.Sprintf("%d members may", len(members)))
	}
	var plan sched.GangPlan
	var err error
	switch {
	case recorded:
		return r.gangFromRecord(p, was, members, pass)
	case was.overtaken():
		plan, err = p.pipeline.FailGang(r.state.View(), members, pass, loop.Overtaken)
	default:
		plan, err = p.pipeline.PlanGang(r.state.View(), members, pass)
	}
	if err != nil {
		return err
	}
	if plan.Members == nil {
		return r.differs(was, "verdict", was.Verdict.String(), plan.Decision.Verdict.String())
	}
	for i := range all {
		field, a, b := difference(&all[i], &plan.Members[i])
		if x, y := partText(all[i].Gang), partText(plan.Members[i].Gang); field == "" && x != y {
			field, a, b = partInGang, x, y
		}
		if field != "" {
			return r.differs(was, fmt.Sprintf("task %d: %s", i, field), a, b)
		}
	}
	r.same(false)
	return nil
}

// gangFromRecord makes the decisions about the members again in the order in which
// they were made, each beside those before it, with the recorded answers of plugins.
// The domain of a packed gang is taken from the record as well.
func (r *replay) gangFromRecord(p *plans, was *made, members []*state.Job, pass sched.Pass) error {
	all := was.all()
	order := make([]int, len(all))
	for i := range all {
		if order[i] = i; all[i].Gang == nil {
			return r.differs(was, fmt.Sprintf("task %d", i), "no member of a gang", "one")
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(all[a].Gang.Fitted, all[b].Gang.Fitted) })
	trial := state.NewTrial(r.state.View(), &state.Tentative{})
	trial.Begin(pass.Now)
	domains, bars := sched.Placing(r.state.View(), members, all[0].Gang.Domain), pass.Bars
	for _, i := range order {
		d := &all[i]
		if pass.Bars = sched.MemberBars(bars, trial, members[i]); domains != nil {
			pass.Bars = append(slices.Clip(pass.Bars), domains)
		}
		row, there := r.state.Row(d.Node)
		if pass.On = nil; d.Gang.Held && there {
			pass.On = &row
		}
		is, field, err := r.fromRecord(p, d, trial.View(), members[i], pass)
		if err != nil {
			return err
		}
		a, b := fmt.Sprintf("%s, fault %q", d.Policy, d.Fault), is.Policy
		if field == "" {
			field, a, b = difference(d, &is)
		}
		if field != "" {
			return r.differs(was, fmt.Sprintf("task %d: %s", i, field), a, b)
		}
		if !there {
			return r.differs(was, fmt.Sprintf("task %d: node", i), d.Node, "not there")
		}
		if err := trial.Place(members[i], row, d.Devices); err != nil {
			return r.differs(was, fmt.Sprintf("task %d: node", i), d.Node, err.Error())
		}
		part := *d.Gang
		part.ID, part.Index, part.Size, part.Min = members[i].Gang.ID, int32(i), members[i].Gang.Size, members[i].Gang.Least()
		if domains != nil {
			part.Domain = domains.Name(row)
			domains.Add(row)
		}
		if part != *d.Gang {
			return r.differs(was, fmt.Sprintf("task %d: %s", i, partInGang), partText(d.Gang), partText(&part))
		}
	}
	r.same(true)
	return nil
}
