package sched

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// JobBars gives what the rules of pods say of a job that becomes a pod in whichever
// cluster it goes to: the Bar and the Leaner of that pod in each, none where no rule
// is about it. kinds are those that are on nodes and have rules; as gives the job as
// the pod of a cluster.
func JobBars(snap *state.Snapshot, kinds []*state.PodKind, as func(cluster string) *state.Job) []Bar {
	bar, lean := &jobBar{snap, map[string]*PodBar{}}, &jobLean{snap, map[string]*PodLean{}}
	asked := map[string]bool{}
	for _, kind := range kinds {
		cluster := kind.Pod.Cluster
		if asked[cluster] {
			continue
		}
		asked[cluster] = true
		j := as(cluster)
		if b := NewPodBar(snap, kinds, j); b != nil {
			bar.in[cluster] = b
		}
		if l := NewPodLean(snap, kinds, j); l != nil {
			lean.in[cluster] = l
		}
	}
	var bars []Bar
	if len(bar.in) > 0 {
		bars = append(bars, bar)
	}
	if len(lean.in) > 0 {
		bars = append(bars, lean)
	}
	return bars
}

// jobBar is a PodBar for each cluster in which a rule keeps the job off rows.
type jobBar struct {
	snap *state.Snapshot
	in   map[string]*PodBar
}

// jobLean is a PodLean for each cluster in which there is a preference about it.
type jobLean struct {
	snap *state.Snapshot
	in   map[string]*PodLean
}

var (
	_ Bar    = (*jobBar)(nil)
	_ Leaner = (*jobLean)(nil)
	_ Lister = (*jobLean)(nil)
)

// Refuses implements Bar.
func (b *jobBar) Refuses(row uint32) poise.Reason {
	if in := b.in[b.snap.Cluster(row)]; in != nil {
		return in.Refuses(row)
	}
	return 0
}

// Refuses implements Bar: a preference keeps nobody away.
func (*jobLean) Refuses(uint32) poise.Reason { return 0 }

// Rows implements Lister.
func (*jobLean) Rows() []uint32 { return nil }

// Lean implements Leaner. Where nobody prefers anything, nothing speaks for or
// against a row.
func (l *jobLean) Lean(row uint32) (lean Leaning) {
	if in := l.in[l.snap.Cluster(row)]; in != nil {
		return in.Lean(row)
	}
	return lean
}
