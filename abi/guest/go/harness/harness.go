// Package harness runs a plugin's functions natively, on nodes that a test
// writes down by the names of the plugin's columns, in blocks laid out as the
// host lays them out. It imports package poise and the standard library, and is
// not for a guest: only tests import it. Every run is checked as the host would
// check it, and made again row by row, since an answer that depends on other
// rows breaks the contract.
package harness

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	poise "github.com/poise-sched/poise/abi/guest/go"
)

// Node is a node by the names of the plugin's columns and labels, such as
// Node{"capacity:cpu": 4000, "zone": "a", "devices:gpu": []int{1000, 250}}.
// Labels and device models are text, devices a list, the others numbers; what is
// not given is 0 or absent. "candidate": false makes it no candidate.
type Node map[string]any

// Job is the job of a call. Fields are by name; tenant is text, the others
// numbers.
type Job struct {
	Request    map[string]float64 // by dimension, base units
	Devices    int
	Milli      int // on each device
	DeviceKind string
	Models     []string
	Selectors  int
	Fields     map[string]any
}

// Shape is a kind of task of the profile.
type Shape struct {
	Count   float64
	Devices int
	Milli   int
	Models  []string
	Request map[string]float64
}

// World is all that a call shows. Fleet and domains are counted from the nodes.
type World struct {
	Nodes   []Node
	Job     Job
	Params  map[string]string // values by name; the others have their defaults
	Profile []Shape
}

// manifest is what the plugin declares, as the host reads it.
type manifest struct {
	Columns, Labels, Domains []string
	Params                   []struct {
		Name, Type string
		Default    json.RawMessage
		Values     []string
	}
	Reasons        map[string]string
	JobFields      []string  `json:"job_fields"`
	LossRange      []float64 `json:"loss_range"`
	ChoosesDevices bool      `json:"chooses_devices"`
	WantsProfile   bool      `json:"wants_profile"`
}

// Open gives the call on all nodes of the world, for tests of a function that
// takes one.
func Open(t testing.TB, p *poise.Plugin, w World) *poise.Call {
	t.Helper()
	return lay(t, p, w, whole(w)).call
}

// Filter runs f and gives the text of the reason for each node, "" where it is
// kept or no candidate.
func Filter(t testing.TB, p *poise.Plugin, w World, f poise.FilterFunc) []string {
	t.Helper()
	run := func(rows []int) []string {
		l := lay(t, p, w, rows)
		l.call.Filter(f)
		texts := make([]string, len(rows))
		for i := range rows {
			code := l.u32(l.values + 4*i)
			if code == 0 || !l.call.Candidate(i) {
				continue
			}
			text, declared := l.manifest.Reasons[strconv.Itoa(int(code))]
			if !declared {
				t.Fatalf("node %d: reason %d, expected one that the plugin declares", rows[i], code)
			}
			texts[i] = text
		}
		return texts
	}
	all := run(whole(w))
	for i := range w.Nodes {
		if alone := run([]int{i})[0]; alone != all[i] {
			t.Fatalf("node %d: reason %q alone and %q among all, expected the same", i, alone, all[i])
		}
	}
	return all
}

// Score runs f and gives the loss and the device mask for each node; 0 where it
// is no candidate.
func Score(t testing.TB, p *poise.Plugin, w World, f poise.ScoreFunc) (losses []float64, masks []uint32) {
	t.Helper()
	run := func(rows []int) ([]float64, []uint32) {
		l := lay(t, p, w, rows)
		l.call.Score(f)
		losses, masks := make([]float64, len(rows)), make([]uint32, len(rows))
		for i, n := range rows {
			if !l.call.Candidate(i) {
				continue
			}
			losses[i] = l.f64(l.values + 8*i)
			if math.IsNaN(losses[i]) || math.IsInf(losses[i], 0) {
				t.Fatalf("node %d: loss %v, expected a finite number", n, losses[i])
			}
			if r := l.manifest.LossRange; r != nil && (losses[i] < r[0] || losses[i] > r[1]) {
				t.Fatalf("node %d: loss %v, expected it within the range %v", n, losses[i], r)
			}
			if l.masks != 0 {
				masks[i] = l.u32(l.masks + 4*i)
			}
		}
		return losses, masks
	}
	losses, masks = run(whole(w))
	for i := range w.Nodes {
		loss, mask := run([]int{i})
		if math.Float64bits(loss[0]) != math.Float64bits(losses[i]) || mask[0] != masks[i] {
			t.Fatalf("node %d: loss %v and mask %b alone, %v and %b among all, expected the same", i, loss[0], mask[0], losses[i], masks[i])
		}
	}
	return losses, masks
}

func whole(w World) []int {
	rows := make([]int, len(w.Nodes))
	for i := range rows {
		rows[i] = i
	}
	return rows
}
