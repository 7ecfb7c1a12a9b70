// Package score exports poise_score: a module that imports it takes part in that
// extension point. It imports package poise alone, and Export is called once, in
// a package variable, since a module of Go has no main that runs. The call is
// static: nothing is allocated for it.
package score

import poise "github.com/poise-sched/poise/abi/guest/go"

// exported is the function of the module; nil until Export was called.
var exported poise.ScoreFunc

// Export makes f the module's score, in this form: var _ = score.Export(f).
func Export(f poise.ScoreFunc) poise.ScoreFunc {
	if exported != nil {
		panic("a module has one score")
	}
	exported = f
	return f
}
