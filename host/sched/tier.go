package sched

import (
	"math"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// A tier comes before the loss: of two candidates the one of the lower tier is
// better. From the highest bit on it holds how many taints there are that the job
// had better avoid (3 bits, 7 standing for more), by how much the node falls short
// of all that the job prefers (12 bits), and whether the node has devices that are
// kept for other jobs (1 bit): what a job asks for goes before what a policy does.
const (
	protected  uint16 = 1
	shortBits         = 12
	maxShort          = 1<<shortBits - 2 // so that no candidate has the tier of the others
	maxMinded         = 7
	mindedBits        = shortBits + 1

	refused = math.MaxUint16 // the tier of rows that are not candidates
)

// prefer sums the weights of what the shape prefers.
func (f *fit) prefer() {
	f.preferred = 0
	for i := range f.shape.Prefer {
		f.preferred += int64(f.shape.Prefer[i].Weight)
	}
}

// tier gives the tier of a candidate, without the bit of protected devices. Sums of
// weights beyond 4,094 are told apart in as many steps.
func (f *fit) tier(snap *state.Snapshot, row uint32) uint16 {
	short := f.preferred
	if short > 0 {
		labels := snap.Labels(row)
		for i := range f.shape.Prefer {
			if p := &f.shape.Prefer[i]; p.Term.Matches(labels) {
				short -= int64(p.Weight)
			}
		}
		if f.preferred > maxShort {
			short = short * maxShort / f.preferred
		}
	}
	return uint16(short)<<1 | uint16(min(f.minded(snap, row), maxMinded))<<mindedBits
}

// minded counts the taints that the shape had better avoid.
func (f *fit) minded(snap *state.Snapshot, row uint32) int {
	if !snap.Tainted(row) {
		return 0
	}
	n, taints := 0, snap.Taints(row)
	for i := range taints {
		if poise.Minds(f.shape.Tolerations, &taints[i]) {
			n++
		}
	}
	return n
}
