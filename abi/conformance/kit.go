package conformance

import (
	"context"
	"errors"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
)

// Options say how a plugin is checked.
type Options struct {
	Params map[string]string
	// Soak makes 1,000,000 calls that have to go without growth, not 10,000.
	Soak bool
	// Fleet is how many nodes the plugin is meant for: what it costs is looked at
	// for so many too, and for ten times as many, up to 100,000. 0 = unknown.
	Fleet int
	// Done is told of each check when it is over; may be nil.
	Done func(Result)
}

// demand is one check: its name and what makes it. The text says what was looked
// at where it is met.
type demand struct {
	name string
	run  func(k *kit) (Outcome, string, error)
}

// demands lists the checks in their order, for a fleet of so many nodes.
func demands(fleet int) []demand {
	all := []demand{
		{"deterministic", (*kit).deterministic},
		{"engines", (*kit).engines},
		{"row-order", (*kit).rowOrder},
		{"call-split", (*kit).callSplit},
		{"bystanders", (*kit).bystanders},
		{"no-state", (*kit).noState},
		{"reasons", (*kit).reasons},
		{"losses", (*kit).losses},
		{"masks", (*kit).masks},
		{"no-rows", (*kit).noRows},
		{"one-row", (*kit).oneRow},
		{"full-table", (*kit).fullTable},
		{"all-refused", (*kit).allRefused},
		{"absent", (*kit).absent},
		{"extremes", (*kit).extremes},
		{"new-values", (*kit).newValues},
		{"no-profile", (*kit).noProfile},
		{"full-profile", (*kit).fullProfile},
		{"no-growth", (*kit).noGrowth},
	}
	for _, nodes := range sizes(fleet) {
		all = append(all, demand{"fuel-" + short(nodes), func(k *kit) (Outcome, string, error) { return k.fuel(nodes) }})
	}
	return all
}

// Names lists the names of the checks in their order, for a fleet of unknown
// size.
func Names() []string {
	var names []string
	for _, d := range demands(0) {
		names = append(names, d.name)
	}
	return names
}

// kit checks one plugin.
type kit struct {
	module, interpreted *policy.Module
	options             Options
	exports             []string
	symbols             poise.SymbolsWanted
	usual               *fleet // 256 nodes of all sorts
}

// Check asks a plugin all that the contract demands of it. interpreted is the
// same plugin, loaded by an engine without native code. The error is about the
// parameters or the kit; what is wrong with the plugin is in the report.
func Check(ctx context.Context, module, interpreted *policy.Module, o Options) (Report, error) {
	k, err := newKit(module, interpreted, o)
	if err != nil {
		return nil, err
	}
	var report Report
	for _, d := range demands(o.Fleet) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, err := k.try(d)
		if err != nil {
			return nil, err
		}
		report = append(report, r)
		if o.Done != nil {
			o.Done(r)
		}
	}
	return report, nil
}

func newKit(module, interpreted *policy.Module, o Options) (*kit, error) {
	g, err := policy.NewGuest(module, o.Params)
	if err != nil {
		return nil, err
	}
	k := &kit{module: module, interpreted: interpreted, options: o, symbols: g.Symbols()}
	if g.Filters() {
		k.exports = append(k.exports, abi.Filter)
	}
	if g.Scores() {
		k.exports = append(k.exports, abi.Score)
	}
	k.usual, err = k.fleet(variant{nodes: 256, shapes: 16, values: "v"})
	return k, err
}

// try makes one check.
func (k *kit) try(d demand) (Result, error) {
	outcome, detail, err := d.run(k)
	var v violation
	var f *policy.Fault
	switch {
	case errors.As(err, &v):
		return Result{d.name, Fail, string(v)}, nil
	case errors.As(err, &f):
		return Result{d.name, Fail, faultText(f)}, nil
	}
	return Result{d.name, outcome, detail}, err
}

// faultText leaves out the name of the plugin, which the report is about.
func faultText(f *policy.Fault) string {
	about := *f
	about.Plugin, about.Digest = "", ""
	return about.Error()
}

func (k *kit) fleet(v variant) (*fleet, error) { return newFleet(k.module.Manifest, k.symbols, v) }

func (k *kit) has(export string) bool {
	for _, e := range k.exports {
		if e == export {
			return true
		}
	}
	return false
}
