package sim

import (
	"testing"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// What the node classes leave out changes what is looked at, never what is
// decided, and the explanation says so.
func TestModelChangesNoDecision(t *testing.T) {
	tr := example(t)
	m, err := model.Build(tr.nodes, model.Defaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := Inflate(tr.nodes, tr.arrivals, 1.3, 42)
	if err != nil {
		t.Fatal(err)
	}
	run := func(m *model.Model, full bool) (*Result, int) {
		left := 0
		c := configOf(t, idleBalance, nil)
		c.Model = m
		c.Policy.Ties = sched.Published
		if full {
			c.Explain = func(*state.Job) bool { return true }
			c.Observe = func(_ *state.Job, d *poise.Decision) {
				for _, l := range d.LeftOut {
					left += l.Nodes
				}
			}
		}
		r, err := RunInflate(c, tr.nodes, list)
		if err != nil {
			t.Fatal(err)
		}
		return r, left
	}
	without, _ := run(nil, false)
	with, _ := run(m, false)
	explained, left := run(m, true)
	if with.Digest != without.Digest || explained.Digest != without.Digest {
		t.Errorf("digest %s with classes, %s explained, expected %s", with.Digest, explained.Digest, without.Digest)
	}
	if with.RowsLookedAt >= without.RowsLookedAt || left == 0 {
		t.Errorf("looked at %d rows with classes and %d without, left out %d", with.RowsLookedAt, without.RowsLookedAt, left)
	}
}

// The same on the published experiment.
func TestModelChangesNoPublishedDecision(t *testing.T) {
	if testing.Short() {
		t.Skip("34 runs of the published experiment")
	}
	workloads := []string{
		"default", "gpuspec33", "cpu050", "cpu100", "cpu200", "cpu250", "gpushare40", "gpushare60", "gpushare80", "gpushare100",
		"gpuspec10", "gpuspec20", "gpuspec25", "multigpu20", "multigpu30", "multigpu40", "multigpu50",
	}
	if raced {
		workloads = workloads[:2]
	}
	for _, workload := range workloads {
		t.Run(workload, func(t *testing.T) {
			t.Parallel()
			tr := openb(t, workload)
			m, err := model.Build(tr.nodes, model.Defaults(), nil)
			if err != nil {
				t.Fatal(err)
			}
			list, err := Inflate(tr.nodes, tr.arrivals, 1.3, 42)
			if err != nil {
				t.Fatal(err)
			}
			digests := map[string]bool{}
			for _, m := range []*model.Model{nil, m} {
				c := configOf(t, idleBalance, nil)
				c.Model, c.Policy.Ties = m, sched.Published
				r, err := RunInflate(c, tr.nodes, list)
				if err != nil {
					t.Fatal(err)
				}
				digests[r.Digest] = true
			}
			if len(digests) != 1 {
				t.Errorf("digests %v, expected one", digests)
			}
		})
	}
}

// Jobs select classes by name and by prefix.
func TestSelectByClass(t *testing.T) {
	tr := example(t)
	m, err := model.Build(tr.nodes, model.Defaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	job := tr.arrivals[0]
	job.Job.Request.Device = poise.DeviceRequest{}
	job.Job.Selectors = []poise.Selector{{Key: model.ClassLabel, Op: poise.Prefix, Values: []string{"gpu-v100"}}}
	placed := ""
	c := configOf(t, idleBalance, nil)
	c.Model, c.Observe = m, func(_ *state.Job, d *poise.Decision) { placed = d.Node }
	w, err := NewWorld(&c, patient(), sortedNodes(tr.nodes))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.submit(&job); err != nil {
		t.Fatal(err)
	}
	if _, err := w.attempt(0); err != nil {
		t.Fatal(err)
	}
	if placed != "v100-0" {
		t.Errorf("placed on %q, expected the first V100 node", placed)
	}
}
