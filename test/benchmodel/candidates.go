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
	share := func(rows int) float64 { return 100 * float64(rows) / float64(len(jobs)) / float64(len(nodes)) }
	return []report.Figure{
		{Name: "candidates, openb default: by whole classes", Value: share(f.whole), Unit: "% of rows", Goal: report.AtMost(56)},
		{Name: "candidates, openb default: by blocks of classes", Value: share(f.looked), Unit: "% of rows", Goal: report.AtMost(54)},
		{Name: "candidates, openb default: placed", Value: float64(f.placed), Unit: "jobs"},
	}, nil
}

// fill is a fleet that fills up.
type fill struct {
	state    *state.State
	index    *model.Index
	pipeline *sched.Pipeline
	events   uint64
	classes  map[model.ClassID][]uint32
	looked   int // rows that the index gave for all jobs together
	whole    int // rows of all classes that could not be left out as a whole
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
	f := &fill{state: s, index: model.NewClassIndex(m), pipeline: sched.NewPipeline(p), classes: map[model.ClassID][]uint32{}}
	for _, n := range nodes {
		n.Labels = model.Labelled(n.Labels, m.Labels(&n))
		if err := f.apply(poise.NodeJoined{Node: n}); err != nil {
			return nil, err
		}
		if row, ok := s.Row(n.Name); ok {
			class := m.Assign(&n).Class
			f.classes[class] = append(f.classes[class], row)
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
	for _, rows := range f.classes {
		if open(snap, rows, &ask) {
			f.whole += len(rows)
		}
	}
	d, err := f.pipeline.Plan(snap, j, sched.Pass{Detail: sched.Brief})
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

// open says whether the largest idle amounts of some rows, each by itself, are
// enough for the ask: what the index would know without blocks.
func open(snap *state.Snapshot, rows []uint32, ask *model.Ask) bool {
	idle := make([]int64, len(ask.Dims))
	kind, allowed := ask.Device.Count == 0, ask.Device.Count == 0 || len(ask.Models) == 0
	most := int32(0) // devices of one row that have enough free
	for _, row := range rows {
		for i, d := range ask.Dims {
			if d.Dim >= 0 {
				idle[i] = max(idle[i], snap.Idle(row, d.Dim))
			}
		}
		kind = kind || int(snap.Kind(row)) == ask.Kind
		allowed = allowed || ask.Models[snap.Model(row)]
		enough := int32(0)
		for _, free := range snap.Free(row) {
			if int32(free) >= ask.Device.Milli {
				enough++
			}
		}
		most = max(most, enough)
	}
	for i, d := range ask.Dims {
		if idle[i] < d.Amount {
			return false
		}
	}
	return kind && allowed && most >= ask.Device.Count
}
