package sched

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Leaner is a Bar that has a job rather take some rows than others of the same
// tier, whatever their loss. A pass heeds the first one, and looks at each candidate
// for it.
type Leaner interface {
	Bar
	Lean(row uint32) Leaning
}

// Leaning is what a Leaner says of a row: the larger Near the better, and of equal
// ones the smaller Uneven.
type Leaning struct{ Near, Uneven int64 }

func (a Leaning) compare(b Leaning) int {
	return cmp.Or(cmp.Compare(b.Near, a.Near), cmp.Compare(a.Uneven, b.Uneven))
}

// PodLean is the Leaner of preferences about pods, as kube-scheduler's plugins
// InterPodAffinity and PodTopologySpread score them, each for itself: first the sum
// of the weights of rules that find something near, the job's own and those of what
// is there; then how many pods of its kind are where it would go.
type PodLean struct {
	snap   *state.Snapshot
	near   map[string]map[string]int64 // weight by label and value
	spread []spread
}

var (
	_ Leaner = (*PodLean)(nil)
	_ Lister = (*PodLean)(nil)
)

// hardWeight is what a required rule to be near the job weighs, of a pod that is
// there, as kube-scheduler has it.
const hardWeight = 1

// NewPodLean gives the Leaner of a job, nil where nothing is preferred. It costs as
// much as NewPodBar.
func NewPodLean(snap *state.Snapshot, kinds []*state.PodKind, j *state.Job) *PodLean {
	if j.Kind == nil {
		return nil
	}
	l := &PodLean{snap: snap, near: map[string]map[string]int64{}}
	for _, kind := range kinds {
		if kind.Pod.Cluster != j.Kind.Pod.Cluster {
			continue
		}
		l.rules(j.Kind, kind, kind, false)
		l.rules(kind, j.Kind, kind, true)
	}
	l.spread = newSpreads(snap, kinds, j, true)
	if len(l.near)+len(l.spread) == 0 {
		return nil
	}
	return l
}

// rules adds what the rules of one pod that find another weigh, at the nodes of those
// that are there.
func (l *PodLean) rules(of, found, there *state.PodKind, required bool) {
	for i := range of.Pod.Rules {
		rule := &of.Pod.Rules[i]
		weight := int64(rule.Weight)
		switch {
		case rule.Required() && (rule.Apart || !required), !rule.Finds(found.Pod.Space, found.Labels):
			continue
		case rule.Required():
			weight = hardWeight
		case rule.Apart:
			weight = -weight
		}
		there.Each(func(row uint32, all, _ int32) {
			if value, ok := poise.LabelValue(l.snap.Labels(row), rule.Key); ok {
				sums := l.near[rule.Key]
				if sums == nil {
					sums = map[string]int64{}
					l.near[rule.Key] = sums
				}
				sums[value] += weight * int64(all)
			}
		})
	}
}

// Refuses implements Bar: a preference keeps nobody away.
func (*PodLean) Refuses(uint32) poise.Reason { return 0 }

// Rows implements Lister.
func (*PodLean) Rows() []uint32 { return nil }

// Lean implements Leaner. What is counted by a spread rule weighs the more, the more
// domains there are. A node without the label of one is the last to be taken.
func (l *PodLean) Lean(row uint32) (lean Leaning) {
	labels := l.snap.Labels(row)
	for key, sums := range l.near {
		if value, ok := poise.LabelValue(labels, key); ok {
			lean.Near += sums[value]
		}
	}
	for i := range l.spread {
		s := &l.spread[i]
		value, ok := poise.LabelValue(labels, s.rule.Key)
		if !ok {
			lean.Uneven = math.MaxInt64
			return lean
		}
		lean.Uneven += int64(s.counts[value]) * int64(bits.Len(uint(len(s.counts)+1)))
	}
	return lean
}

// leanings gives what the first Leaner of a pass says of each candidate, by row; nil
// where there is none.
func leanings(r *ranking, bars []Bar) []Leaning {
	i := slices.IndexFunc(bars, func(b Bar) bool { _, ok := b.(Leaner); return ok })
	if i < 0 {
		return nil
	}
	leaner, all := bars[i].(Leaner), make([]Leaning, len(r.rows))
	for row := range uint32(len(r.rows)) {
		if r.candidate(row) {
			all[row] = leaner.Lean(row)
		}
	}
	return all
}
