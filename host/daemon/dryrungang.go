package daemon

import (
	"context"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// draftAll drafts jobs.
func draftAll(s *state.State, jobs []*poise.Job, at poise.Time) ([]*state.Job, error) {
	drafts := make([]*state.Job, len(jobs))
	for i, j := range jobs {
		var err error
		if drafts[i], err = s.Draft(j, at); err != nil {
			return nil, err
		}
	}
	return drafts, nil
}

// starters are the members of a gang that start together.
func starters(members []*state.Job) []*state.Job {
	return slices.DeleteFunc(slices.Clone(members), (*state.Job).Extra)
}

// try plans drafts in the loop's lane.
func (c *core) try(drafts []*state.Job, at poise.Time) ([]poise.Decision, error) {
	if len(drafts) == 1 {
		d, err := c.loop.Try(drafts[0], at, sched.Full)
		return []poise.Decision{d}, err
	}
	plan, err := c.loop.TryGang(drafts, at, sched.Full)
	return decisionsOf(&plan), err
}

// planOn plans a draft.
func planOn(p *sched.Pipeline, on *draft) ([]poise.Decision, error) {
	pass := sched.Pass{Now: on.at, Detail: sched.Full, Bars: on.bars}
	if len(on.jobs) == 1 {
		d, err := p.Plan(on.snap, on.jobs[0], pass)
		return []poise.Decision{d}, err
	}
	plan, err := p.PlanGang(on.snap, starters(on.jobs), pass)
	return decisionsOf(&plan), err
}

func decisionsOf(plan *sched.GangPlan) []poise.Decision {
	if plan.Members != nil {
		return plan.Members
	}
	return []poise.Decision{plan.Decision}
}

// PlanGang implements api.Backend.
func (d *Daemon) PlanGang(ctx context.Context, tenant poise.TenantID, specs []client.JobSpec) ([]client.Why, error) {
	own, jobs, whys := make([]Spec, len(specs)), make([]*poise.Job, len(specs)), make([]client.Why, len(specs))
	for i := range specs {
		read, err := api.ParseJob(specs[i])
		if err != nil {
			return nil, err
		}
		own[i].Job, jobs[i] = read.Job, &own[i].Job
		jobs[i].ID, jobs[i].Tenant = poise.JobID(fmt.Sprintf("plan-%d", i)), tenant
		if g := jobs[i].Gang; g == nil || jobs[0].Gang == nil || g.ID != jobs[0].Gang.ID {
			return nil, &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("plan job %q", jobs[i].Name), Detail: "gang: another than the first job has, or none, expected the members of one gang"}
		}
		whys[i].Job = client.Job{ID: string(jobs[i].ID), Name: jobs[i].Name, Tenant: string(tenant), State: client.Waiting, Spec: specs[i]}
	}
	if err := formGangs(own, newID); err != nil {
		return nil, err
	}
	slices.SortFunc(jobs, func(a, b *poise.Job) int { return int(a.Gang.Index - b.Gang.Index) })
	slices.SortFunc(whys, func(a, b client.Why) int { return int(a.Job.Spec.Gang.Index - b.Job.Spec.Gang.Index) })
	decisions, at, err := d.try(ctx, jobs...)
	if err != nil {
		return nil, err
	}
	for i := range decisions {
		whys[i].Decision, whys[i].At = client.NewDecision(&decisions[i]), client.At(at)
	}
	return whys[:len(decisions)], nil
}
