package cli

import (
	"runtime"
	"slices"
	"time"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// benchBatch is how many candidates a scorer is asked about at a time, as by a
// pipeline.
const benchBatch = 4096

// benchPass is one look of a guest at all candidates.
type benchPass struct {
	took    time.Duration
	longest time.Duration // of what a call took, an audit's second look included
	fuel    int64
	rows    int64
	call    int64 // fuel of the call that used most
}

// bench measures one plugin on one scene.
type bench struct {
	guest  *policy.Guest
	limits policy.Limits
	perRow int64 // fuel that a row adds to the budget
	snap   *state.Snapshot
	job    *state.Job
	rows   []uint32 // candidates

	reasons []poise.Reason
	loss    []float64
	masks   []uint32
}

// candidates is a scorer that writes down what it is asked about.
type candidates struct{ rows []uint32 }

var _ sched.Scorer = (*candidates)(nil)

func (c *candidates) Score(b *state.Batch, _ []float64, _ []uint32) error {
	c.rows = append(c.rows, b.Rows...)
	return nil
}

// newBench binds a plugin to a scene. shapes is how many the plugin sees.
func newBench(m *policy.Module, params map[string]string, sc *scene, shapes int) (*bench, error) {
	g, err := policy.NewGuest(m, params)
	if err != nil {
		return nil, err
	}
	defaults, err := parseParams(nil)
	if err != nil {
		return nil, err
	}
	native := &candidates{}
	p := sched.NewPipeline(sched.Policy{Name: "native filter", Scorer: native})
	s, err := sc.build(g.Symbols(), &defaults.params, p)
	if err != nil {
		return nil, err
	}
	b := &bench{guest: g, limits: m.Limits(), snap: s.View(), job: s.Job(sc.job.ID)}
	if _, err := p.Plan(b.snap, b.job, sched.Pass{Detail: sched.Brief}); err != nil {
		return nil, err
	}
	b.rows = native.rows
	n := len(b.rows)
	b.reasons, b.loss, b.masks = make([]poise.Reason, n), make([]float64, n), make([]uint32, n)
	b.perRow = b.limits.RowFuel
	if m.Manifest.WantsProfile {
		slots := 1
		if m.Manifest.Wants(abi.Devices) {
			for row := range uint32(b.snap.Rows()) {
				slots = max(slots, b.snap.Devices(row))
			}
		}
		b.perRow += b.limits.ShapeFuel * int64(shapes) * int64(slots)
	}
	return b, nil
}

// ask puts rows from to to to the guest.
func (b *bench) ask(export string, from, to int) error {
	batch := state.Batch{Snap: b.snap, Job: b.job, Rows: b.rows[from:to]}
	if export == abi.Filter {
		return b.guest.Filter(&batch, b.reasons[from:to])
	}
	return b.guest.Score(&batch, b.loss[from:to], b.masks[from:to])
}

// pass looks at all candidates, in pieces that the guest takes in one call: it
// sizes them as package policy sizes calls.
func (b *bench) pass(export string) (benchPass, error) {
	var p benchPass
	b.guest.Prepare(b.snap, b.job)
	limit := min(max(b.limits.CallFuel/b.perRow, 1), benchBatch)
	least := min(limit, 64)
	for at := 0; at < len(b.rows); {
		n := 1
		for at+n < len(b.rows) && int64(n) < limit && int64(b.rows[at+n]-b.rows[at]) < limit {
			n++
		}
		before := b.guest.Use()
		began := time.Now()
		if err := b.ask(export, at, at+n); err != nil {
			return p, err
		}
		took := time.Since(began)
		use := b.guest.Use()
		fuel := use.Fuel - before.Fuel
		p.took += took
		p.longest = max(p.longest, took)
		p.call = max(p.call, min(fuel, b.limits.CallFuel))
		limit = min(max(b.limits.CallFuel*3/4/max(fuel/int64(use.Rows-before.Rows), 1), least), benchBatch)
		at += n
	}
	use := b.guest.Use()
	p.fuel, p.rows = use.Fuel, int64(use.Rows)
	return p, nil
}

// native looks at all candidates with the default scorer, which remembers
// nothing of the round before.
func (b *bench) native() (time.Duration, error) {
	defaults, err := parseParams(nil)
	if err != nil {
		return 0, err
	}
	p, err := newPolicy(idleBalance, &defaults, nil)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for at := 0; at < len(b.rows); at += benchBatch {
		to := min(at+benchBatch, len(b.rows))
		batch := state.Batch{Snap: b.snap, Job: b.job, Rows: b.rows[at:to]}
		if err := p.Scorer.Score(&batch, b.loss[at:to], b.masks[at:to]); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// Rounds of one scene: enough for a median, and none that would keep the author
// waiting.
const (
	benchRounds = 9
	benchTime   = 800 * time.Millisecond
)

// measure interleaves passes of the exports with those of the default scorer.
func (b *bench) measure(exports []string) ([]benchRow, error) {
	passes := map[string][]benchPass{}
	var natives []time.Duration
	for _, export := range exports { // the first pass makes instances
		if _, err := b.pass(export); err != nil {
			return nil, err
		}
	}
	for began := time.Now(); len(natives) < benchRounds && (len(natives) == 0 || time.Since(began) < benchTime); {
		runtime.GC()
		took, err := b.native()
		if err != nil {
			return nil, err
		}
		natives = append(natives, took)
		for _, export := range exports {
			p, err := b.pass(export)
			if err != nil {
				return nil, err
			}
			passes[export] = append(passes[export], p)
		}
	}
	rows := make([]benchRow, len(exports))
	for i, export := range exports {
		rows[i] = b.row(export, passes[export], natives)
	}
	return rows, nil
}

// row sums up the passes of one export. Which calls are sized and audited how
// changes from pass to pass, so fuel is that of the first: how many there are
// depends on the machine.
func (b *bench) row(export string, passes []benchPass, natives []time.Duration) benchRow {
	var took, longest, ratio []float64
	for i, p := range passes {
		took = append(took, p.took.Seconds())
		longest = append(longest, p.longest.Seconds()*1000)
		ratio = append(ratio, p.took.Seconds()/max(natives[i].Seconds(), 1e-9))
	}
	first := &passes[0]
	return benchRow{
		Nodes: b.snap.Nodes(), Candidates: len(b.rows), Export: export, Rounds: len(passes),
		RowsPerSecond: float64(len(b.rows)) / max(median(took), 1e-9),
		FuelPerRow:    float64(first.fuel) / float64(max(first.rows, 1)),
		JobBudget:     float64(first.fuel) / float64(b.limits.JobFuel+first.rows*b.perRow),
		CallBudget:    float64(first.call) / float64(b.limits.CallFuel),
		LongestCallMs: median(longest), ToNative: median(ratio),
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
