package daemon

import (
	"context"

	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	compare "github.com/poise-sched/poise/host/shadow"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
)

// rerunEvents bounds the events that a redecision goes through.
const rerunEvents = 100_000

// redecision is what the fleet would be like by now if the shadow had been in
// force.
type redecision struct {
	From, To    uint64 // indexes of the events between which jobs were decided anew
	Live, Would compare.Fleet
	Moves       compare.Moves
	Err         error
	Running     bool
}

// redecide decides the recorded jobs anew, from the last snapshot before the
// shadow began, or from the first that is near enough, up to an event.
func (sh *shadow) redecide(ctx context.Context, s past, to uint64) *redecision {
	k := sh.now()
	from := k.From
	if to > rerunEvents && from < to-rerunEvents {
		infos, err := s.Snapshots(ctx)
		if err != nil {
			return &redecision{Err: err}
		}
		from = to
		for _, i := range infos {
			if i.Seq >= to-rerunEvents {
				from = min(from, i.Seq)
			}
		}
	}
	r := &redecision{To: to}
	r.Err = sh.rerun(ctx, s, r, from, &k.Activation)
	return r
}

func (sh *shadow) rerun(ctx context.Context, s past, r *redecision, from uint64, a *poise.Activation) error {
	var policies *state.Policies
	sh.mu.Lock()
	policies = sh.policies
	sh.mu.Unlock()
	if policies == nil {
		return &poise.Error{Kind: poise.Unavailable, Op: "decide recorded jobs anew", Detail: "the shadow has seen no decision yet"}
	}
	shade, err := sh.tools.build(ctx, policies, a)
	if err != nil {
		return err
	}
	defer shade.Close()
	bare := state.NewPolicies()
	if err := bare.Apply(poise.Event{Body: poise.SchedulerSet{Scheduler: *policies.Scheduler()}}); err != nil {
		return err
	}
	plain, err := sh.tools.live(ctx, bare, "")
	if err != nil {
		return err
	}
	defer plain.Close()
	live, err := baseAt(ctx, s, from)
	if err != nil {
		return err
	}
	would, err := baseAt(ctx, s, from)
	if err != nil {
		return err
	}
	r.From = live.Index()
	mine := func(t poise.TenantID) bool {
		if a.Tenant == "" {
			return live.Policies().Activation(t) == nil
		}
		return t == a.Tenant
	}
	again := compare.NewRerun(live, would, mine, sh.planner(ctx, shade), sh.planner(ctx, plain))
	if err := again.Want(shade.Symbols); err != nil {
		return err
	}
	at := poise.Time(0)
	err = forward(ctx, s, live, r.To, func(ev poise.Event) error {
		at = ev.At
		return again.Follow(ev)
	})
	if err == nil {
		r.Live, r.Would, r.Moves, err = again.Finish(at)
	}
	return err
}

// planner gives what plans by a stack.
func (sh *shadow) planner(ctx context.Context, st *stack.Stack) compare.Planner {
	return &redecider{ctx: ctx, sh: sh, pipe: sched.NewPipeline(st.Policy)}
}

// redecider plans by a stack, in a slot and within the fuel of the shadow.
type redecider struct {
	ctx  context.Context
	sh   *shadow
	pipe *sched.Pipeline
}

// Plan implements shadow.Planner.
func (r *redecider) Plan(s *state.State, j *state.Job) (poise.Decision, error) {
	plan, err := r.plan(s, j, func(pass sched.Pass) (plan sched.GangPlan, err error) {
		plan.Decision, err = r.pipe.Plan(s.View(), j, pass)
		return plan, err
	})
	return plan.Decision, err
}

// PlanGang implements shadow.Planner.
func (r *redecider) PlanGang(s *state.State, members []*state.Job) (sched.GangPlan, error) {
	return r.plan(s, members[0], func(pass sched.Pass) (sched.GangPlan, error) { return r.pipe.PlanGang(s.View(), members, pass) })
}

func (r *redecider) plan(s *state.State, j *state.Job, by func(sched.Pass) (sched.GangPlan, error)) (sched.GangPlan, error) {
	sh := r.sh
	if !pause(r.ctx, sh.fuel.take(0, sh.tools.rate(), now())) {
		return sched.GangPlan{}, unavailable(r.ctx)
	}
	select {
	case sh.tools.slots <- struct{}{}:
	case <-r.ctx.Done():
		return sched.GangPlan{}, unavailable(r.ctx)
	}
	at := s.View().At()
	plan, err := by(sched.Pass{Now: at, Detail: sched.Brief, Bars: loop.Bars(s, s.View(), j, at)})
	<-sh.tools.slots
	sh.fuel.take(fuelOfAll(&plan, ""), sh.tools.rate(), now())
	return plan, err
}
