package sched

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Filter narrows the candidates: it writes a reason per row of the batch, 0 to
// keep it. len(reasons) is len(b.Rows). An error voids the whole call.
type Filter interface {
	Filter(b *state.Batch, reasons []poise.Reason) error
}

// Scorer ranks candidates: it writes one finite loss per row of the batch,
// smaller is better, and a mask of the devices it chose, 0 to leave the choice
// to the host. An error voids the whole call. Answers may depend on the job's
// shape, the row and, for an Epocher, the epoch only: they are kept until one
// of these changes.
type Scorer interface {
	Score(b *state.Batch, loss []float64, devices []uint32) error
}

// Epocher is a Scorer whose answers also depend on an epoch of the snapshot.
type Epocher interface {
	Epoch(snap *state.Snapshot) uint64
}

// Preparer is a Filter or Scorer that has to know when a pass begins, which is
// one job's look at the rows that changed. The epoch that it gives only grows;
// another one means that all answers of before are void.
type Preparer interface {
	Prepare(snap *state.Snapshot, job *state.Job) (epoch uint64)
}

// Keyer is a Filter or Scorer whose answers depend on more of a job than its
// shape: jobs with one shape and one key are interchangeable for it.
type Keyer interface {
	Key(job *state.Job) string
}

// Reasoner is a Filter that has words for its reason codes.
type Reasoner interface {
	ReasonText(code uint8) string
}

// Accountant is a Filter or Scorer that says what it used since the pass began.
type Accountant interface {
	Use() poise.PluginUse
}

// Failure says what becomes of a job whose policy failed.
type Failure uint8

// The failure rules.
const (
	// Abort: Plan gives the error. For native policies, which do not fail.
	Abort Failure = iota
	// Reject: the job waits, with that reason.
	Reject
	// UseFallback: the job is planned under Policy.Fallback.
	UseFallback
)

// Explainer is a Scorer that can show how a loss came about: the name of the
// formula and the columns of its matrices, for a row and the devices chosen.
type Explainer interface {
	Explain(snap *state.Snapshot, job *state.Job, row uint32, devices []uint16) (string, []poise.Column)
}

// Shower is a Filter or Scorer that can show what it saw of a row in the pass
// that it was last prepared for.
type Shower interface {
	Show(row uint32) []poise.Reading
}

// Ties says how equal losses are ordered.
type Ties uint8

// The tie rules.
const (
	// ByName: the smallest node name.
	ByName Ties = iota
	// Seeded: the smallest hash of seed, job and node, then the node name.
	Seeded
	// Published: the smallest number in Policy.Order, then the node name.
	Published
)

var tieNames = [...]string{"name", "seeded", "published"}

// String gives the rule's name as the command line has it.
func (t Ties) String() string { return tieNames[t] }

// Policy is all that a decision depends on beside snapshot and job. The tie
// rule is part of a policy's definition.
type Policy struct {
	Name    string
	Filters []Filter // after the native filter, which always runs
	Scorer  Scorer
	// ProtectDevices puts nodes with devices into a second tier for jobs that
	// request none, so that they are kept for jobs that do.
	ProtectDevices bool
	Ties           Ties
	Seed           uint64
	// Order numbers the nodes by name for the rule Published.
	Order map[string]uint64
	// SeededDevices takes a share's device by hash of seed, job and device
	// among those that fit, where the scorer leaves the choice to the host; the
	// default is best fit.
	SeededDevices bool
	OnFailure     Failure
	Fallback      *Policy // with a rule of its own
	// WantsProfile: scorer or filters go by the demand profile.
	WantsProfile bool
}

// parts are the filters and the scorer, or those that it combines at any depth,
// each once.
func (p *Policy) parts() []any {
	var all []any
	var add func(part any)
	add = func(part any) {
		if c, ok := part.(*Combined); ok {
			for k := range c.parts {
				add(c.parts[k].Scorer)
			}
			return
		}
		if !slices.Contains(all, part) {
			all = append(all, part)
		}
	}
	for _, f := range p.Filters {
		add(f)
	}
	add(p.Scorer)
	return all
}

// hash mixes seed, job and a third value into 64 bits (FNV-1a over the bytes,
// finished as in splitmix64). It is part of the tie rule Seeded: never change it.
func hash(seed uint64, job poise.JobID, name string) uint64 {
	return hashOf(hashPrefix(seed, job), name)
}

// hashPrefix is the part of hash that the names of one decision share.
func hashPrefix(seed uint64, job poise.JobID) uint64 {
	h := uint64(14695981039346656037)
	for i := range 8 {
		h = (h ^ seed>>(8*i)&0xff) * 1099511628211
	}
	for i := range len(job) {
		h = (h ^ uint64(job[i])) * 1099511628211
	}
	return (h ^ 0xff) * 1099511628211 // no byte of UTF-8: job and name stay apart
}

func hashOf(h uint64, name string) uint64 {
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
