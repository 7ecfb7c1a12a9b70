package kube

import (
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// SpaceOf is the namespace that the jobs of a tenant are in that become pods, where it
// has another name than the tenant; "" = not any more.
type SpaceOf struct {
	Tenant poise.TenantID
	Space  string
}

func (SpaceOf) isChange() {}

// tellSpaces tells which tenants have their jobs in a namespace of another name,
// where it is not what was said.
func (w *world) tellSpaces() {
	if !w.relabelled {
		return
	}
	w.relabelled = false
	now := map[poise.TenantID]string{}
	for name := range w.spaces {
		if t := w.tenant(name); string(t) != name {
			if space, _ := w.spaceOf(t); space != string(t) {
				now[t] = space
			}
		}
	}
	for _, t := range slices.Sorted(maps.Keys(w.spaced)) {
		if now[t] == "" {
			w.out = append(w.out, SpaceOf{Tenant: t})
		}
	}
	for _, t := range slices.Sorted(maps.Keys(now)) {
		if w.spaced[t] != now[t] {
			w.out = append(w.out, SpaceOf{t, now[t]})
		}
	}
	w.spaced = now
}

// spacesTold gives what was told, by tenant.
func (w *world) spacesTold() []SpaceOf {
	var all []SpaceOf
	for _, t := range slices.Sorted(maps.Keys(w.spaced)) {
		all = append(all, SpaceOf{t, w.spaced[t]})
	}
	return all
}
