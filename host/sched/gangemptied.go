package sched

import (
	"cmp"

	"github.com/poise-sched/poise/host/state"
)

// emptied places the gang on some rows once all that runs there has ended, nil where
// first fit finds no place for a member. Someday lets each member have what is idle for
// it now, which may be what another one needs that asks for more; here none takes a
// place before that one does. The rows go first that hold least else for each member
// of the first request that they hold, so that a node that only others want, or that
// they want more, is left to them.
func (g *gathering) emptied(rows [][]uint32) []uint32 {
	p := g.placing(sometime)
	for _, e := range g.ends {
		p.trial.Release(e.task)
	}
	for _, t := range g.endless {
		p.trial.Release(t)
	}
	of := map[uint32]emptiedRow{}
	for _, area := range rows {
		for _, row := range area {
			of[row] = g.emptiedRow(p.trial.View(), row)
		}
	}
	g.looked += len(of) + len(g.members)
	order := ordered(g.snap, rows, func(a, b uint32) int { return of[a].compare(of[b]) })
	if len(p.put(order, g.order)) > 0 {
		return nil
	}
	return p.rows
}

// emptiedRow is how many members a row holds that is empty, each request for itself,
// and no more of one than the gang has members.
type emptiedRow struct {
	first  int64   // of the first request
	others int64   // of all others
	misses float64 // what it lacks now for one of the first, in parts of it
}

func (g *gathering) emptiedRow(empty *state.Snapshot, row uint32) emptiedRow {
	r := emptiedRow{misses: g.asks[0].fit.misses(g.snap, row)}
	for i := range g.asks {
		n := int64(min(g.places(empty, row, &g.asks[i]), int32(len(g.members))))
		if i == 0 {
			r.first = n
		} else {
			r.others += n
		}
	}
	if r.first == 0 {
		r.others++ // it stands behind each that holds one
	}
	return r
}

// compare orders rows by how many others one of the first request takes the places of,
// then by how many of the first there are, then by what is missing now.
func (r emptiedRow) compare(s emptiedRow) int {
	return cmp.Or(cmp.Compare(r.others*s.first, s.others*r.first), cmp.Compare(s.first, r.first), cmp.Compare(r.misses, s.misses))
}

// places is how many jobs of a request a row has room for at most, none where
// something keeps them off it.
func (g *gathering) places(view *state.Snapshot, row uint32, a *request) int32 {
	if g.avoid(row, a.any) {
		return 0
	}
	return a.fit.most(view, row)
}
