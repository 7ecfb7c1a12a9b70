package conformance

import (
	"fmt"
	"slices"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/policy"
)

// The checks of what an answer may depend on: on its row, the job and the
// blocks, and on nothing else.

func (k *kit) deterministic() (Outcome, string, error) {
	return k.twins(k.module, abi.MaxRows, "in one instance", "in another")
}

// engines compares native code with the interpreter, which takes its time: few
// rows.
func (k *kit) engines() (Outcome, string, error) {
	return k.twins(k.interpreted, 32, "in native code", "in the interpreter")
}

func (k *kit) twins(other *policy.Module, most int, first, second string) (Outcome, string, error) {
	n, fuel := 0, int64(0)
	err := k.both(other, most, func(q question, a, b *policy.Probe) error {
		x, err := q.put(a, abi.MaxRows)
		if err != nil {
			return err
		}
		y, err := q.put(b, abi.MaxRows)
		if err != nil {
			return err
		}
		if err := q.same(x, y, first, second); err != nil {
			return err
		}
		if x.Fuel != y.Fuel {
			return violates("%s, job %q: %d units of fuel %s, %d %s, expected the same", q.export, q.job.Name, x.Fuel, first, y.Fuel, second)
		}
		n, fuel = n+len(q.rows), fuel+x.Fuel
		return nil
	})
	return Pass, fmt.Sprintf("%s answers and %s units of fuel alike", short(n), short(int(fuel))), err
}

// both hands every question to f with two instances, each of which hears nothing
// but its own side: one of the plugin and one of other.
func (k *kit) both(other *policy.Module, most int, f func(q question, a, b *policy.Probe) error) error {
	a, err := k.probe(k.module)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := k.probe(other)
	if err != nil {
		return err
	}
	defer b.Close()
	return k.everyQuestion(k.usual, most, func(q question) error { return f(q, a, b) })
}

func (k *kit) rowOrder() (Outcome, string, error) {
	n := 0
	err := k.both(k.module, abi.MaxRows, func(q question, a, b *policy.Probe) error {
		x, err := q.put(a, abi.MaxRows)
		if err != nil {
			return err
		}
		turned := q
		turned.rows = slices.Clone(q.rows)
		slices.Reverse(turned.rows)
		y, err := turned.put(b, abi.MaxRows)
		if err != nil {
			return err
		}
		slices.Reverse(y.Reasons)
		slices.Reverse(y.Losses)
		slices.Reverse(y.Masks)
		n += len(q.rows)
		return q.same(x, y, "with the rows in one order", "in the reverse one")
	})
	return Pass, short(n) + " rows in two orders", err
}

func (k *kit) callSplit() (Outcome, string, error) {
	n := 0
	for _, most := range []int{1, 7, 64} {
		n = 0
		if err := k.both(k.module, abi.MaxRows, func(q question, a, b *policy.Probe) error {
			x, err := q.put(a, abi.MaxRows)
			if err != nil {
				return err
			}
			y, err := q.put(b, most)
			if err != nil {
				return err
			}
			n += len(q.rows)
			return q.same(x, y, "in one call", fmt.Sprintf("in calls of %d rows", most))
		}); err != nil {
			return Fail, "", err
		}
	}
	return Pass, short(n) + " rows in calls of 1, 7, 64 and all", nil
}

// bystanders asks about every third candidate, while all rows of the fleet are in
// the table.
func (k *kit) bystanders() (Outcome, string, error) {
	n := 0
	err := k.both(k.module, abi.MaxRows, func(q question, a, b *policy.Probe) error {
		few := q
		few.rows = nil
		for i := 0; i < len(q.rows); i += 3 {
			few.rows = append(few.rows, q.rows[i])
		}
		x, err := few.put(a, abi.MaxRows)
		if err != nil {
			return err
		}
		y, err := few.among(b)
		if err != nil {
			return err
		}
		n += len(few.rows)
		return few.same(x, y, "alone", "among rows that are no candidates")
	})
	return Pass, short(n) + " candidates among others", err
}

// among asks about the rows with all others of the fleet between them.
func (q question) among(p *policy.Probe) (policy.Said, error) {
	var said policy.Said
	all := make([]uint32, 0, q.fleet.snap.Rows())
	for row := range uint32(q.fleet.snap.Rows()) {
		all = append(all, row)
	}
	if err := p.Begin(q.fleet.snap, q.job); err != nil {
		return said, err
	}
	for part := range slices.Chunk(all, p.Room()) {
		wanted := make([]bool, len(part))
		for i, row := range part {
			_, wanted[i] = slices.BinarySearch(q.rows, row)
		}
		s, err := p.Ask(q.export, part, wanted)
		if err != nil {
			return said, err
		}
		for i := range part {
			switch {
			case !wanted[i]:
			case q.export == abi.Filter:
				said.Reasons = append(said.Reasons, s.Reasons[i])
			default:
				said.Losses, said.Masks = append(said.Losses, s.Losses[i]), append(said.Masks, s.Masks[i])
			}
		}
	}
	return said, nil
}

// noState asks each question, then all others, then each again, in one instance
// that is not set back.
func (k *kit) noState() (Outcome, string, error) {
	p, err := k.probe(k.module)
	if err != nil {
		return Fail, "", err
	}
	defer p.Close()
	var before []policy.Said
	n := 0
	if err := k.everyQuestion(k.usual, abi.MaxRows, func(q question) error {
		said, err := q.put(p, abi.MaxRows)
		before = append(before, said)
		return err
	}); err != nil {
		return Fail, "", err
	}
	err = k.everyQuestion(k.usual, abi.MaxRows, func(q question) error {
		said, err := q.put(p, abi.MaxRows)
		if err != nil {
			return err
		}
		n++
		return q.same(before[n-1], said, "the first time", "after other questions")
	})
	return Pass, fmt.Sprintf("%d questions in one instance, asked twice", n), err
}
