package policy

import (
	"fmt"
	"sync/atomic"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Guest is a plugin with its parameters, as filter and scorer of package sched.
// It asks the plugin about rows in calls of bounded fuel and keeps nothing of
// what it answers; it follows the snapshots of one State and belongs to one
// goroutine, as the pipeline that uses it does.
type Guest struct {
	module   *Module
	name     string // of the plugin, with its version
	limits   Limits
	settings []abi.Setting
	byTenant bool // answers depend on the job's tenant beside its declared fields
	byJob    bool // and on the job itself
	counters *Counters
	mirror   *mirror
	pass     pass
	timer    timer
	// small takes up to smallRows rows: most passes look at few rows, and setting
	// a small arena up costs less. large takes the others.
	small, large *slot

	whole bool // instances have their whole memory: it reached for what was left off

	impure  atomic.Bool // said to be row-pure, and the audit found that it is not
	epoch   uint64
	changes uint64 // of the mirror, in this epoch
	demand  *poise.Demand
	profile abi.ProfileBlock
}

// smallRows is the row capacity of the small arena, and what a call is made with
// at the least where the budget of a row allows it.
const smallRows = 64

// NewGuest binds a plugin to parameters. A wrong one gives a Fault of the code
// configure that names it.
func NewGuest(m *Module, params map[string]string) (*Guest, error) {
	settings, err := m.Manifest.Settings(params)
	if err != nil {
		return nil, &Fault{Code: abi.CodeConfigure, Plugin: m.code.plugin(), Digest: m.Digest, Detail: "parameter " + err.Error()}
	}
	return &Guest{
		module: m, name: m.code.plugin(), limits: m.Limits(), settings: settings, counters: NewCounters(), mirror: newMirror(m.Manifest),
		byTenant: m.Manifest.Wants(abi.TenantTasks) || len(m.Manifest.Domains) > 0,
		byJob:    m.Manifest.Wants(abi.JobTasks),
	}, nil
}

// Module is the plugin's module.
func (g *Guest) Module() *Module { return g.module }

// Counters are what the plugin has done since the Guest was made.
func (g *Guest) Counters() *Counters { return g.counters }

// Symbols are the texts that have to have a number before the first pass: apply
// the event to the State.
func (g *Guest) Symbols() poise.SymbolsWanted {
	m := g.module.Manifest
	w := poise.SymbolsWanted{}
	w.Labels = append(append(w.Labels, m.Labels...), m.Domains...)
	for _, s := range g.settings {
		if s.IsSymbol {
			w.Values = append(w.Values, s.Symbol)
		}
	}
	return w
}

// Filters says whether the plugin refuses nodes.
func (g *Guest) Filters() bool { return g.module.Exports(abi.Filter) }

// Scores says whether the plugin ranks nodes.
func (g *Guest) Scores() bool { return g.module.Exports(abi.Score) }

// rowPure says whether answers may be kept.
func (g *Guest) rowPure() bool { return g.module.Manifest.RowPure && !g.impure.Load() }

// Prepare implements sched.Preparer: it begins a pass.
func (g *Guest) Prepare(snap *state.Snapshot, job *state.Job) uint64 {
	g.mirror.follow(snap)
	m := g.module.Manifest
	again := !g.rowPure() || g.changes != g.mirror.changes
	if d := snap.Demand(); m.WantsProfile && d != g.demand {
		g.demand, g.profile, again = d, g.mirror.profileBlock(d), true
	}
	if g.changes = g.mirror.changes; again {
		g.epoch++
	}
	g.begin(snap, job)
	return g.epoch
}

// Key implements sched.Keyer. It may be called while a pass runs.
func (g *Guest) Key(job *state.Job) string {
	m := g.module.Manifest
	if !g.rowPure() {
		return ""
	}
	key := ""
	for _, field := range m.JobFields {
		switch field {
		case abi.FieldPriority:
			key += fmt.Sprintf("p%d,", job.Priority)
		case abi.FieldTasks:
			key += fmt.Sprintf("n%d,", job.Tasks)
		case abi.FieldRunTime:
			key += fmt.Sprintf("r%d,", job.RunTime)
		case abi.FieldTenant:
			key += fmt.Sprintf("t%q,", job.Tenant)
		}
	}
	if g.byTenant {
		key += fmt.Sprintf("o%q,", job.Tenant)
	}
	switch {
	case g.byJob && job.Gang != nil:
		key += fmt.Sprintf("o%q,g%q,", job.Tenant, job.Gang.ID)
	case g.byJob:
		key += fmt.Sprintf("j%q,", job.ID)
	}
	return key
}

// ReasonText implements sched.Reasoner.
func (g *Guest) ReasonText(code uint8) string {
	text, _ := g.module.Manifest.Reason(uint32(code))
	return text
}

// Use implements sched.Accountant.
func (g *Guest) Use() poise.PluginUse { return g.pass.use }

// Filter implements sched.Filter.
func (g *Guest) Filter(b *state.Batch, reasons []poise.Reason) error {
	return g.ask(b, abi.Filter, said{reasons: reasons})
}

// Score implements sched.Scorer.
func (g *Guest) Score(b *state.Batch, loss []float64, devices []uint32) error {
	return g.ask(b, abi.Score, said{loss: loss, devices: devices})
}

// fault makes a Fault of this plugin and the job of the pass.
func (g *Guest) fault(code abi.Code, export, format string, args ...any) *Fault {
	return &Fault{
		Code: code, Plugin: g.name, Digest: g.module.Digest, Export: export, Job: string(g.pass.job.ID),
		Detail: fmt.Sprintf(format, args...),
	}
}

// Close frees the instances.
func (g *Guest) Close() {
	for _, s := range []*slot{g.small, g.large} {
		if s != nil {
			s.in.close()
		}
	}
	g.small, g.large = nil, nil
}

// newInstance makes an instance; a failure carries the job.
func (g *Guest) newInstance() (*instance, *Fault) {
	in, err := g.module.instantiate()
	if err != nil {
		return nil, asFault(abi.CodeConfigure, err)
	}
	return in, nil
}
