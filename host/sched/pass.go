package sched

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Pass is what one decision depends on beside snapshot, job and policy.
type Pass struct {
	Now    poise.Time // recorded with the decision
	Detail Detail
	Bars   []Bar
	On     *uint32 // the row that the job goes to, whatever bars say, if the policy keeps it; nil = any
}

// Bar keeps one job off rows that the filters keep for every job of its shape:
// it is asked when a row is picked, so answers that are kept per shape stand.
type Bar interface {
	// Refuses says why the job may not take the row, 0 for nothing in the way.
	Refuses(row uint32) poise.Reason
}

// QuotaBar is a Bar that says which quota a row that it refuses is beyond.
type QuotaBar interface {
	Bar
	Miss(row uint32) *poise.QuotaMiss
}

// Lister is a Bar that names the rows that it may refuse. Where each bar of a
// pass does, nobody has to ask about all the others.
type Lister interface{ Rows() []uint32 }

// barred is what the bars of a pass take from the candidates of a ranking. The
// first bar that refuses a row has its reason counted.
type barred struct {
	bars   []Bar
	rows   []uint32 // refused, ascending
	counts []reasonCount
	lean   []Leaning // by row, of the candidates; nil where nobody leans
}

// bar asks the bars about the candidates. It costs a call per candidate, or per
// row that the bars list.
func (p *Pipeline) bar(r *ranking, bars []Bar) {
	b := &p.barred
	b.bars, b.rows, b.counts, b.lean = bars, b.rows[:0], b.counts[:0], nil
	if len(bars) == 0 || r.fitting == 0 {
		return
	}
	b.lean = leanings(r, bars)
	consider := func(row uint32) {
		if !r.candidate(row) {
			return
		}
		if reason := b.reason(row); reason != 0 {
			b.rows, b.counts = append(b.rows, row), tally(b.counts, reason, 1)
		}
	}
	if listed, ok := listedRows(bars); ok {
		for _, row := range listed {
			consider(row)
		}
		return
	}
	for row := range uint32(len(r.rows)) {
		consider(row)
	}
}

// listedRows gives the rows that bars may refuse, ascending, each once.
func listedRows(bars []Bar) (rows []uint32, ok bool) {
	for _, each := range bars {
		l, ok := each.(Lister)
		if !ok {
			return nil, false
		}
		rows = append(rows, l.Rows()...)
	}
	slices.Sort(rows)
	return slices.Compact(rows), true
}

func (b *barred) reason(row uint32) poise.Reason {
	for _, each := range b.bars {
		if reason := each.Refuses(row); reason != 0 {
			return reason
		}
	}
	return 0
}

// has says whether the row is refused.
func (b *barred) has(row uint32) bool {
	_, found := slices.BinarySearch(b.rows, row)
	return found
}

// verdict is that of a job all of whose candidates are refused.
func (b *barred) verdict() poise.Verdict {
	verdict := poise.OverQuota
	for _, c := range b.counts {
		switch c.reason.Code() {
		case poise.Reserved:
			return poise.BehindOthers
		case poise.PoolOverQuota:
		default:
			verdict = poise.FitsNotNow
		}
	}
	return verdict
}

// miss gives the quota that the first refused row is beyond.
func (b *barred) miss() *poise.QuotaMiss {
	for _, each := range b.bars {
		if q, ok := each.(QuotaBar); ok {
			if miss := q.Miss(b.rows[0]); miss != nil {
				return miss
			}
		}
	}
	return nil
}

// bestFree gives the best row that no bar refuses, and under the rule Seeded
// collects in ties those that are equal to it.
func (p *Pipeline) bestFree(r *ranking) (best uint32) {
	p.ties = p.ties[:0]
	r.tree.walk(&p.order, func(row uint32) bool {
		switch {
		case !r.candidate(row) || len(p.ties) > 0 && !r.equal(row, best):
			return false
		case p.barred.has(row):
			return true
		case len(p.ties) == 0:
			best = row
		}
		p.ties = append(p.ties, row)
		return p.policy.Ties == Seeded
	})
	return best
}
