package advice

import (
	"slices"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// gang is one that waits to start.
type gang struct {
	core    []*state.Job // those that start together, by arrival; none where it is blocked or over quota
	of      []*group     // of each
	blocked bool         // it is not complete, or a member of it is blocked
	over    bool         // over quota
}

// gathering finds the gangs that wait to start.
type gathering struct {
	of    map[*state.Gang]*gang
	order []*gang // by the arrival of their first member, without those that may not start
}

// whole gives the gang that a job waits with, nil where it waits by itself.
func (g *gathering) whole(s *state.State, j *state.Job, at poise.Time) *gang {
	if s.Alone(j) {
		return nil
	}
	of := s.GangOf(j)
	if known := g.of[of]; known != nil {
		return known
	}
	core := of.Core()
	found := &gang{
		blocked: !of.Ready() || slices.ContainsFunc(core, func(m *state.Job) bool { return m.NotBefore > at }),
		over:    len(core) > 0 && s.OverQuota(state.Sum(core)) != nil,
	}
	if g.of[of] = found; !found.blocked && !found.over {
		g.order = append(g.order, found)
	}
	return found
}

// topologyLabel gives the label that a job's node has to have for the topology of its
// gang, "" where any node does.
func topologyLabel(j *state.Job) string {
	if j.Gang == nil || j.Gang.Topology == nil {
		return ""
	}
	return j.Gang.Topology.Key
}

// native gives the pipeline of jobs without a policy.
func native() (*sched.Pipeline, error) {
	scorer, err := balance.NewSpread(nil)
	if err != nil {
		return nil, err
	}
	return sched.NewPipeline(sched.Policy{Name: "idle-balance-spread", Scorer: scorer}), nil
}

// filling is jobs that take the room that there is.
type filling struct {
	pipeline *sched.Pipeline
	trial    *state.Trial
	rows     map[string]uint32
	needed   map[uint32]bool
}

// place has a job take room, and says whether it found any.
func (f *filling) place(j *state.Job) (bool, error) {
	var pass sched.Pass
	if topologyLabel(j) != "" {
		pass.Bars = []sched.Bar{sched.NewDomains(f.trial.View(), j.Gang.Topology)}
	}
	d, err := f.pipeline.Plan(f.trial.View(), j, pass)
	if err != nil || d.Verdict != poise.Placed {
		return false, err
	}
	return true, f.take(j, &d)
}

func (f *filling) take(j *state.Job, d *poise.Decision) error {
	row := f.rows[d.Node]
	f.needed[row] = true
	return f.trial.Place(j, row, d.Devices)
}

// placeGang has the members that start together take room: each for itself, or
// where they are to be near each other or spread, all of them or none.
func (f *filling) placeGang(g *gang) error {
	if g.core[0].Gang.Topology == nil {
		for i, j := range g.core {
			switch ok, err := f.place(j); {
			case err != nil:
				return err
			case !ok:
				g.of[i].lacking++
			}
		}
		return nil
	}
	byIndex := slices.Clone(g.core)
	slices.SortFunc(byIndex, func(a, b *state.Job) int { return int(a.Gang.Index - b.Gang.Index) })
	plan, err := f.pipeline.PlanGang(f.trial.View(), byIndex, sched.Pass{})
	if err != nil {
		return err
	}
	for i := range plan.Members {
		if err := f.take(byIndex[i], &plan.Members[i]); err != nil {
			return err
		}
	}
	if len(plan.Members) == 0 {
		for _, of := range g.of {
			of.lacking++
		}
	}
	return nil
}
