package sched

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Part is one of the scorers of a Combined, with the range of its losses and its
// weight.
type Part struct {
	Name   string
	Scorer Scorer
	Lo, Hi float64
	Weight float64
}

// Combined adds up the losses of several scorers, each scaled by its range:
//
//	loss = sum over parts of Weight * (loss - Lo) / (Hi - Lo)
//
// A loss outside its range is a fault of the part. Of the device masks the first
// one that is not 0 counts.
type Combined struct {
	parts []Part
	loss  []float64
	mask  []uint32
}

var _ Scorer = (*Combined)(nil)

// NewCombined makes a Combined of parts with finite ranges and weights of 0 or
// more, not all of them 0.
func NewCombined(parts ...Part) (*Combined, error) {
	total := 0.0
	for _, p := range parts {
		if !(p.Lo < p.Hi) || p.Hi-p.Lo > 1e300 {
			return nil, combineError(p.Name, fmt.Sprintf("loss range: %v to %v, expected a finite range", p.Lo, p.Hi))
		}
		if !(p.Weight >= 0) || p.Weight > 1e6 {
			return nil, combineError(p.Name, fmt.Sprintf("weight: %v, expected 0 to 1e6", p.Weight))
		}
		total += p.Weight
	}
	if total == 0 {
		return nil, combineError("", "weights: all 0, expected one above 0")
	}
	return &Combined{parts: parts}, nil
}

func combineError(name, detail string) error {
	return &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("combine policy %q", name), Detail: detail}
}

// Score implements Scorer.
func (c *Combined) Score(b *state.Batch, loss []float64, devices []uint32) error {
	n := len(b.Rows)
	for len(c.loss) < n {
		c.loss, c.mask = append(c.loss, 0), append(c.mask, 0)
	}
	clear(loss)
	clear(devices)
	for k := range c.parts {
		p := &c.parts[k]
		if err := p.Scorer.Score(b, c.loss[:n], c.mask[:n]); err != nil {
			return err
		}
		for i := range n {
			l := c.loss[i]
			if !(l >= p.Lo && l <= p.Hi) {
				return &poise.Error{
					Kind: poise.Internal, Op: fmt.Sprintf("policy %q", p.Name),
					Detail: fmt.Sprintf("loss of node %q: %v, expected %v to %v", b.Snap.Name(b.Rows[i]), l, p.Lo, p.Hi),
				}
			}
			loss[i] += float64(p.Weight * ((l - p.Lo) / (p.Hi - p.Lo)))
			if devices[i] == 0 {
				devices[i] = c.mask[i]
			}
		}
	}
	return nil
}
