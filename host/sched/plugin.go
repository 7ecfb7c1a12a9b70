package sched

// Plugin is a policy plugin bound to its parameters: package policy has it.
type Plugin interface {
	Filter
	Scorer
	Preparer
	Keyer
	Reasoner
	Accountant
	Filters() bool // takes part as a filter
	Scores() bool  // takes part as a scorer
}

// Activation says how a plugin stands in a policy.
type Activation struct {
	Name         string
	Plugin       Plugin
	Seeded       bool // its tie rule
	WantsProfile bool
	// Weight of the plugin's loss beside the base's with weight 1; 0 replaces the
	// base. LossRange is the plugin's, BaseRange the base's.
	Weight               float64
	LossRange, BaseRange [2]float64
	// OnFailure is Reject or UseFallback: the base, where a filter of the plugin
	// counts as keep. Abort stands for the default: Reject for a plugin that
	// filters, else UseFallback.
	OnFailure Failure
	// Instead is what UseFallback falls back to; nil = the base.
	Instead *Policy
}

// With puts a plugin on top of a policy: it narrows what the policy keeps, and
// its loss replaces or joins the policy's.
func (p Policy) With(a Activation) (Policy, error) {
	base := p
	stacked := Policy{
		Name: a.Name, Filters: append([]Filter{}, p.Filters...), Scorer: p.Scorer, ProtectDevices: p.ProtectDevices,
		Ties: p.Ties, Seed: p.Seed, Order: p.Order, SeededDevices: p.SeededDevices, WantsProfile: p.WantsProfile || a.WantsProfile,
		OnFailure: a.OnFailure, Fallback: &base,
	}
	if a.Instead != nil {
		stacked.Fallback = a.Instead
		stacked.WantsProfile = stacked.WantsProfile || a.Instead.WantsProfile
	}
	if a.Plugin.Filters() {
		stacked.Filters = append(stacked.Filters, a.Plugin)
	}
	if a.Seeded {
		stacked.Ties = Seeded
	}
	if a.OnFailure == Abort {
		stacked.OnFailure = UseFallback
		if a.Plugin.Filters() {
			stacked.OnFailure = Reject
		}
	}
	switch {
	case !a.Plugin.Scores():
	case a.Weight == 0:
		stacked.Scorer, stacked.ProtectDevices, stacked.SeededDevices = a.Plugin, false, false
		if len(p.Filters) == 0 && stacked.OnFailure == Reject {
			stacked.WantsProfile = a.WantsProfile // the base's scorer is out of use
		}
	default:
		combined, err := NewCombined(
			Part{Name: p.Name, Scorer: p.Scorer, Lo: a.BaseRange[0], Hi: a.BaseRange[1], Weight: 1},
			Part{Name: a.Name, Scorer: a.Plugin, Lo: a.LossRange[0], Hi: a.LossRange[1], Weight: a.Weight},
		)
		if err != nil {
			return p, err
		}
		stacked.Scorer = combined
	}
	return stacked, nil
}
