package conformance

import (
	"fmt"
	"math"
	"slices"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// recorder is a native filter that notes which rows come to it.
type recorder struct{ rows []uint32 }

func (r *recorder) Filter(b *state.Batch, _ []poise.Reason) error {
	r.rows = append(r.rows, b.Rows...)
	return nil
}

func (r *recorder) Score(*state.Batch, []float64, []uint32) error { return nil }

// candidates gives the rows that Poise's own filters keep, in order.
func candidates(f *fleet, job *state.Job) ([]uint32, error) {
	r := &recorder{}
	if _, err := sched.NewPipeline(sched.Policy{Filters: []sched.Filter{r}, Scorer: r}).Plan(f.snap, job, sched.Pass{Detail: sched.Brief}); err != nil {
		return nil, err
	}
	slices.Sort(r.rows)
	return r.rows, nil
}

// everyQuestion calls f for each export and each job of the fleet, with the job's
// candidates, at most so many.
func (k *kit) everyQuestion(fl *fleet, most int, f func(q question) error) error {
	for _, job := range fl.jobs {
		rows, err := candidates(fl, job)
		if err != nil {
			return err
		}
		for _, export := range k.exports {
			if err := f(question{fl, job, export, rows[:min(len(rows), most)]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// question is what a plugin is asked.
type question struct {
	fleet  *fleet
	job    *state.Job
	export string
	rows   []uint32
}

// put asks in calls of at most so many rows.
func (q question) put(p *policy.Probe, most int) (policy.Said, error) {
	var all policy.Said
	if err := p.Begin(q.fleet.snap, q.job); err != nil {
		return all, err
	}
	for rows := range slices.Chunk(q.rows, min(most, p.Room())) {
		said, err := p.Ask(q.export, rows, nil)
		if err != nil {
			return all, err
		}
		all.Reasons = append(all.Reasons, said.Reasons...)
		all.Losses = append(all.Losses, said.Losses...)
		all.Masks = append(all.Masks, said.Masks...)
		all.Fuel += said.Fuel
	}
	return all, nil
}

// probe makes an instance that was never asked before.
func (k *kit) probe(m *policy.Module) (*policy.Probe, error) {
	return policy.NewProbe(m, k.options.Params)
}

// about names the question and a row of it.
func (q question) about(i int) string {
	return fmt.Sprintf("%s, job %q, node %q", q.export, q.job.Name, q.fleet.snap.Name(q.rows[i]))
}

// same compares answers bit for bit; first and second say how each was got.
func (q question) same(a, b policy.Said, first, second string) error {
	for i := range q.rows {
		var x, y string
		if q.export == abi.Filter {
			if a.Reasons[i] == b.Reasons[i] {
				continue
			}
			x, y = fmt.Sprintf("reason %d", a.Reasons[i]), fmt.Sprint(b.Reasons[i])
		} else {
			switch {
			case math.Float64bits(a.Losses[i]) != math.Float64bits(b.Losses[i]):
				x, y = fmt.Sprintf("loss %v", a.Losses[i]), fmt.Sprint(b.Losses[i])
			case a.Masks[i] != b.Masks[i]:
				x, y = fmt.Sprintf("device mask %b", a.Masks[i]), fmt.Sprintf("%b", b.Masks[i])
			default:
				continue
			}
		}
		return violates("%s: %s %s, %s %s, expected the same", q.about(i), x, first, y, second)
	}
	return nil
}

// judge says which answer is none that the contract allows.
func (k *kit) judge(q question, said policy.Said) error {
	for _, v := range []func(question, policy.Said) error{k.badReason, k.badLoss, k.badMask} {
		if err := v(q, said); err != nil {
			return err
		}
	}
	return nil
}

func (k *kit) badReason(q question, said policy.Said) error {
	for i, code := range said.Reasons {
		_, declared := k.module.Manifest.Reason(code)
		switch {
		case code == policy.Unwritten:
			return violates("%s: nothing written, expected a reason or 0", q.about(i))
		case code != 0 && !declared:
			return violates("%s: reason %d, expected 0 or a key of the manifest's reasons", q.about(i), code)
		}
	}
	return nil
}

func (k *kit) badLoss(q question, said policy.Said) error {
	r := k.module.Manifest.LossRange
	for i, l := range said.Losses {
		switch {
		case math.Float64bits(l) == math.MaxUint64:
			return violates("%s: nothing written, expected a loss", q.about(i))
		case math.IsNaN(l) || math.IsInf(l, 0):
			return violates("%s: loss %v, expected a finite number", q.about(i), l)
		case len(r) == 2 && (l < r[0] || l > r[1]):
			return violates("%s: loss %v, expected %v to %v as declared", q.about(i), l, r[0], r[1])
		}
	}
	return nil
}

func (k *kit) badMask(q question, said policy.Said) error {
	if !k.module.Manifest.ChoosesDevices {
		return nil
	}
	ask := &q.job.Shape.Request.Device
	for i, mask := range said.Masks {
		if mask != 0 && !q.fleet.snap.MaskFits(q.rows[i], mask, ask) {
			if mask == policy.Unwritten {
				return violates("%s: no device mask written, expected one or 0", q.about(i))
			}
			return violates("%s: device mask %b, expected 0 or %d devices with %d milli free", q.about(i), mask, ask.Count, ask.Milli)
		}
	}
	return nil
}
