package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/sim/baseline"
	"github.com/poise-sched/poise/host/state"
)

// candidates measures how much of the openb fleet the classes leave to be looked
// at, while the default workload fills it in the order of its file, by best fit
// and without departures.
func candidates(traces string) ([]report.Figure, error) {
	if _, err := os.Stat(traces); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "no openb trace in %s: its figures are left out\n", traces)
		return nil, nil
	}
	nodes, err := manifest.ReadNodes(filepath.Join(traces, "openb_node_list_all_node.csv.gz"))
	if err != nil {
		return nil, err
	}
	jobs, err := manifest.ReadJobs(filepath.Join(traces, "openb_pod_list_default.csv.gz"))
	if err != nil {
		return nil, err
	}
	f, err := newFill(nodes)
	if err != nil {
		return nil, err
	}
	for i := range jobs {
		if err := f.place(&jobs[i].Job); err != nil {
			return nil, err
		}
	}
	share := 100 * float64(f.looked) / float64(len(jobs)) / float64(len(nodes))
	return []report.Figure{
		{Name: "candidates, openb default: rows in blocks of classes", Value: share, Unit: "% of rows", Goal: report.AtMost(54)},
		{Name: "candidates, openb default: placed", Value: float64(f.placed), Unit: "jobs"},
	}, nil
}

// fill is a fleet that fills up.
type fill struct {
	state    *state.State
	index    *model.Index
	pipeline *sched.Pipeline
	events   uint64
	looked   int // rows that the index gave for all jobs together
	placed   int
	rows     []uint32
	left     []model.LeftOut
}

func newFill(nodes []poise.Node) (*fill, error) {
	m, err := model.Build(nodes, model.Defaults(), nil)
	if err != nil {
		return nil, err
	}
	p, err := baseline.New("best-fit", nil)
	if err != nil {
		return nil, err
	}
	s, err := state.New(state.Settings{})
	if err != nil {
		return nil, err
	}
	f := &fill{state: s, index: model.NewClassIndex(m), pipeline: sched.NewPipeline(p)}
	for _, n := range nodes {
		n.Labels = model.Labelled(n.Labels, m.Labels(&n))
		if err := f.apply(poise.NodeJoined{Node: n}); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *fill) apply(body poise.Body) error {
	f.events++
	return f.state.Apply(poise.Event{Index: f.events, Body: body})
}

// place counts the candidates of a job and puts it on the node that a pipeline
// without the index chooses, which must be among them.
func (f *fill) place(job *poise.Job) error {
	if err := f.apply(poise.JobSubmitted{Job: *job}); err != nil {
		return err
	}
	snap, j := f.state.View(), f.state.Job(job.ID)
	var ask model.Ask
	ask.Resolve(j.Shape, snap)
	f.rows, f.left = f.index.Candidates(snap, &ask, f.rows[:0], f.left[:0])
	f.looked += len(f.rows)
	d, err := f.pipeline.Plan(snap, j, sched.Brief)
	if err != nil {
		return err
	}
	if d.Verdict != poise.Placed {
		return f.apply(poise.JobWithdrawn{Job: j.ID})
	}
	if row, ok := f.state.Row(d.Node); !ok || !slices.Contains(f.rows, row) {
		return fmt.Errorf("BUG: job %s goes to node %s, which the index left out", j.ID, d.Node)
	}
	f.placed++
	return f.apply(poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: d.Node, Devices: d.Devices}})
}
