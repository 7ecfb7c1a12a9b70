package stack

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// broken stands for a plugin that is not asked: it could not be loaded, or it is
// in quarantine. It takes part as a filter, so that every plan meets its fault.
type broken struct {
	fault error
	use   poise.PluginUse
}

var _ sched.Plugin = (*broken)(nil)

func (b *broken) Filters() bool { return true }
func (b *broken) Scores() bool  { return false }

// Filter implements sched.Filter.
func (b *broken) Filter(*state.Batch, []poise.Reason) error { return b.fault }

// Score implements sched.Scorer.
func (b *broken) Score(*state.Batch, []float64, []uint32) error { return b.fault }

// Prepare implements sched.Preparer: no answer is ever kept.
func (b *broken) Prepare(snap *state.Snapshot, _ *state.Job) uint64 { return snap.Version() }

// Key implements sched.Keyer.
func (b *broken) Key(*state.Job) string { return "" }

// ReasonText implements sched.Reasoner.
func (b *broken) ReasonText(uint8) string { return "" }

// Use implements sched.Accountant.
func (b *broken) Use() poise.PluginUse { return b.use }
