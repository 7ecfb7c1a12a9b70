package advice

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// nearest gives the present node that comes nearest to holding a job of the group,
// nil where one holds it, though it is not like its class.
func (in *Input) nearest(g *group) (*poise.Miss, error) {
	d, err := sched.Unfit(in.snap, &g.job)
	switch {
	case err != nil:
		return nil, err
	case d != nil:
		return d.Nearest, nil
	case g.label == "" || !sched.GangUnfit(in.snap, []*state.Job{&g.job}):
		return nil, nil
	}
	// Nothing but the label is missing.
	pipeline, err := native()
	if err != nil {
		return nil, err
	}
	trial := pipeline.Trial(in.snap)
	trial.Empty()
	holds, err := pipeline.Plan(trial.View(), &g.job, sched.Pass{})
	if err != nil {
		return nil, err
	}
	return &poise.Miss{Node: holds.Node, Code: poise.NoTopologyLabel, Dim: g.label}, nil
}
