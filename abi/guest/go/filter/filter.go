// Package filter exports poise_filter: a module that imports it takes part in that
// extension point. It imports package poise alone, and Export is called once, in
// a package variable, since a module of Go has no main that runs. The call is
// static: nothing is allocated for it.
package filter

import poise "github.com/poise-sched/poise/abi/guest/go"

// exported is the function of the module; nil until Export was called.
var exported poise.FilterFunc

// Export makes f the module's filter, in this form: var _ = filter.Export(f).
func Export(f poise.FilterFunc) poise.FilterFunc {
	if exported != nil {
		panic("a module has one filter")
	}
	exported = f
	return f
}
