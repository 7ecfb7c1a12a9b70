package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
)

// enterSnapshot readies the plugin and the state of a snapshot file, the job
// waiting: the plugin stands as a tenant's on what stands under those in the file.
// leave frees what is under it.
func (sc *scene) enterSnapshot(m *policy.Module, params map[string]string, weight float64) (e *entry, fleet *state.State, leave func(), err error) {
	fleet = sc.snapshot.State
	policies := fleet.Policies().Clone()
	s := policies.Scheduler()
	if s == nil {
		return nil, nil, nil, &poise.Error{Kind: poise.Invalid, Op: "decide on the snapshot", Detail: "scheduler: not in it, expected one of a daemon that has begun to decide"}
	}
	if weight > 0 {
		if policies.Activation("") != nil {
			return nil, nil, nil, usagef("--weight %v: the snapshot has a policy of the cluster, expected none: the loss is added to that of idle-balance-spread", weight)
		}
		spread := *s
		spread.Policy = idleBalanceSpread
		if err := policies.Apply(poise.Event{Body: poise.SchedulerSet{Scheduler: spread}}); err != nil {
			return nil, nil, nil, err
		}
	}
	ctx := context.Background()
	b := newBuilder(sc.snapshot)
	var under *stack.Stack
	leave = func() {
		if under != nil {
			under.Close()
		}
		b.Close(ctx)
	}
	if under, err = b.Build(ctx, policies, ""); err == nil {
		e, err = plugOn(under.Policy, m, params, weight)
	}
	if err == nil {
		err = sc.submit(fleet, e.symbols)
	}
	if err != nil {
		leave()
		return nil, nil, nil, err
	}
	return e, fleet, leave, nil
}

// submit adds the job, or the gang, to the state of a snapshot, with what the plugin
// wants to have a number. What the demand profile counted stays as it was.
func (sc *scene) submit(s *state.State, symbols poise.SymbolsWanted) error {
	sc.rename(s)
	for _, body := range append([]poise.Body{symbols}, sc.submitted()...) {
		if err := s.Apply(poise.Event{Index: s.Index() + 1, At: s.View().At(), Body: body}); err != nil {
			return err
		}
	}
	return nil
}

// rename gives the job, or the members of the gang, ids of their own where the
// snapshot has one of theirs.
func (sc *scene) rename(s *state.State) {
	const own = "job-of-this-run"
	members := []*manifest.Job{&sc.job}
	for i := range sc.beside {
		members = append(members, &sc.beside[i])
	}
	known := func(j *manifest.Job) bool {
		return s.Job(j.ID) != nil || s.GangOf(&state.Job{Tenant: j.Tenant, Gang: j.Gang}) != nil
	}
	if !slices.ContainsFunc(members, known) {
		return
	}
	for i, j := range members {
		if j.ID = own; i > 0 {
			j.ID = poise.JobID(fmt.Sprintf("%s-%d", own, i))
		}
		if j.Gang != nil {
			g := *j.Gang
			g.ID, j.Gang = own, &g
		}
	}
}

// pipelineOn plans under the policy on the state, with its model of classes.
func pipelineOn(p sched.Policy, s *state.State) (*sched.Pipeline, error) {
	pipeline := sched.NewPipeline(p)
	if record, ok := s.View().Classes().(*model.Record); ok {
		classes, err := model.Restore(*record)
		if err != nil {
			return nil, err
		}
		pipeline.UseIndex(model.NewClassIndex(classes))
	}
	return pipeline, nil
}
