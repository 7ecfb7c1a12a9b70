package conformance

import (
	"fmt"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/policy"
)

// The checks of answers: on the usual fleet one by one, and then all of them on
// fleets that are out of the ordinary.

func (k *kit) reasons() (Outcome, string, error) {
	if !k.has(abi.Filter) {
		return Skip, "exports no " + abi.Filter, nil
	}
	n, err := k.verdicts(k.usual, k.badReason)
	return Pass, fmt.Sprintf("%s answers, %d declared", short(n), len(k.module.Manifest.Reasons)), err
}

func (k *kit) losses() (Outcome, string, error) {
	if !k.has(abi.Score) {
		return Skip, "exports no " + abi.Score, nil
	}
	n, err := k.verdicts(k.usual, k.badLoss)
	within := "no loss_range declared"
	if r := k.module.Manifest.LossRange; len(r) == 2 {
		within = fmt.Sprintf("within %v to %v", r[0], r[1])
	}
	return Pass, fmt.Sprintf("%s answers, %s", short(n), within), err
}

func (k *kit) masks() (Outcome, string, error) {
	if !k.module.Manifest.ChoosesDevices {
		return Skip, "leaves the choice of devices to the host", nil
	}
	n, err := k.verdicts(k.usual, k.badMask)
	return Pass, short(n) + " answers", err
}

// verdicts judges all answers about a fleet, given by one instance, and counts
// them.
func (k *kit) verdicts(f *fleet, bad func(question, policy.Said) error) (int, error) {
	p, err := k.probe(k.module)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	n := 0
	err = k.everyQuestion(f, abi.MaxRows, func(q question) error {
		said, err := q.put(p, abi.MaxRows)
		if err != nil {
			return err
		}
		n += len(q.rows)
		return bad(q, said)
	})
	return n, err
}

// scene judges all answers about a fleet of its own.
func (k *kit) scene(v variant, text string) (Outcome, string, error) {
	f, err := k.fleet(v)
	if err != nil {
		return Fail, "", err
	}
	n, err := k.verdicts(f, k.judge)
	return Pass, fmt.Sprintf("%s answers, %s", short(n), text), err
}

func (k *kit) oneRow() (Outcome, string, error) {
	return k.scene(variant{nodes: 2, shapes: 16, values: "v"}, "a fleet of two nodes")
}

func (k *kit) absent() (Outcome, string, error) {
	return k.scene(variant{nodes: 64, bare: true}, "no node has an amount, a device or a label")
}

func (k *kit) extremes() (Outcome, string, error) {
	return k.scene(variant{nodes: 256, shapes: 16, huge: true, values: "v"},
		"nodes of 8Ei, of 9.3e15 milli-cores, of nothing, with 32 devices, smaller than their tasks")
}

func (k *kit) newValues() (Outcome, string, error) {
	return k.scene(variant{nodes: 128, shapes: 16, values: "unheard-of-"}, "labels of other values")
}

func (k *kit) noProfile() (Outcome, string, error) {
	if !k.module.Manifest.WantsProfile {
		return Skip, "wants no profile", nil
	}
	return k.scene(variant{nodes: 128, values: "v"}, "no job seen yet")
}

func (k *kit) fullProfile() (Outcome, string, error) {
	if !k.module.Manifest.WantsProfile {
		return Skip, "wants no profile", nil
	}
	return k.scene(variant{nodes: 128, shapes: abi.MaxShapes, values: "v"}, fmt.Sprintf("%d kinds of task", abi.MaxShapes))
}

// fullTable asks about as many rows in one call as there can be.
func (k *kit) fullTable() (Outcome, string, error) {
	f, err := k.fleet(variant{nodes: 2 * abi.MaxRows, shapes: 16, values: "v"})
	if err != nil {
		return Fail, "", err
	}
	p, err := k.probe(k.module)
	if err != nil {
		return Fail, "", err
	}
	defer p.Close()
	room := 0
	err = k.everyQuestion(f, abi.MaxRows, func(q question) error {
		said, err := q.put(p, abi.MaxRows)
		if err != nil {
			return err
		}
		room = max(room, min(len(q.rows), p.Room()))
		return k.judge(q, said)
	})
	if err == nil && room < abi.MaxRows {
		return Warn, fmt.Sprintf("%d rows in one call: poise_alloc gave 0 for %d, which means no memory; where it has some, it must not begin at address 0", room, abi.MaxRows), nil
	}
	return Pass, fmt.Sprintf("%d rows in one call", room), err
}

// noRows makes calls without a row.
func (k *kit) noRows() (Outcome, string, error) {
	return k.calls(func(p *policy.Probe, q question) error {
		_, err := p.Ask(q.export, nil, nil)
		return err
	}, "calls without a row")
}

// allRefused makes calls in which no row is a candidate: nothing is read, but
// nothing may go wrong either.
func (k *kit) allRefused() (Outcome, string, error) {
	return k.calls(func(p *policy.Probe, q question) error {
		rows := make([]uint32, k.usual.snap.Rows())
		for i := range rows {
			rows[i] = uint32(i)
		}
		rows = rows[:min(len(rows), p.Room())]
		_, err := p.Ask(q.export, rows, make([]bool, len(rows)))
		return err
	}, "calls about rows that the host refused")
}

// calls makes one call for each question.
func (k *kit) calls(call func(*policy.Probe, question) error, text string) (Outcome, string, error) {
	p, err := k.probe(k.module)
	if err != nil {
		return Fail, "", err
	}
	defer p.Close()
	n := 0
	err = k.everyQuestion(k.usual, abi.MaxRows, func(q question) error {
		if err := p.Begin(q.fleet.snap, q.job); err != nil {
			return err
		}
		n++
		return call(p, q)
	})
	return Pass, fmt.Sprintf("%d %s", n, text), err
}
