package state

import (
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// pool is what quotas may set a node apart by: the model of its devices and its
// class, "" = none. A task is charged to the pool that its node was in when it
// was placed there.
type pool struct{ model, class string }

// PoolImage is a pool as plain data.
type PoolImage struct {
	Model, Class string `json:",omitempty"`
}

func (p pool) image() *PoolImage { return &PoolImage{Model: p.model, Class: p.class} }

func (s *Snapshot) pool(row uint32) pool {
	return pool{s.models[s.Model(row)], labelOf(s.Labels(row), poise.ClassLabel)}
}

func labelOf(labels []poise.Label, key string) string {
	for i := range labels {
		if labels[i].Key == key {
			return labels[i].Value
		}
	}
	return ""
}

// poolOf gives the pool of a task that was kept: where it was not kept with it,
// that of its node.
func (s *State) poolOf(t *TaskImage) pool {
	if t.Pool != nil {
		return pool{t.Pool.Model, t.Pool.Class}
	}
	if int(t.Row) < s.live.rows && s.live.Present(t.Row) {
		return s.live.pool(t.Row)
	}
	return pool{}
}

// pools is what of the usage is counted by pool: of the resources that some quota
// names so.
type pools struct {
	total   map[string]*sum
	tenants map[poise.TenantID]map[string]*sum
}

func newPools() pools {
	return pools{total: map[string]*sum{}, tenants: map[poise.TenantID]map[string]*sum{}}
}

// both gives what was counted under a name as a whole resource and as a pool's
// part of one. At most one of the two is more than nothing, unless a resource is
// named as a pool is.
func both(whole, part *sum) int64 {
	var all sum
	all.add(whole.amount())
	all.add(part.amount())
	return all.amount()
}

// names gives the names under which quotas may know what a node of the pool has.
func (p pool) names(resource string, device bool, yield func(name string)) {
	if device && p.model != "" {
		yield(resource + poise.ModelMark + p.model)
	}
	if p.class != "" {
		yield(resource + poise.ClassMark + p.class)
	}
}

// countPools adds what the row's node has to the pools that it is in, or takes
// it away.
func (s *State) countPools(row uint32, sign int64) {
	if len(s.policies.pools) == 0 {
		return
	}
	p := s.live.pool(row)
	add := func(resource string, device bool, amount int64) {
		p.names(resource, device, func(name string) { s.intoPool(s.usage.pools.total, name, sign*amount) })
	}
	for d, name := range s.live.dims {
		add(name, false, s.live.Capacity(row, d))
	}
	if kind := s.live.kinds[s.live.Kind(row)]; kind != "" {
		add(kind, true, int64(s.live.Devices(row))*poise.WholeDevice)
	}
}

// holdPools adds what a task holds of pools to a tenant, or takes it away.
func (s *State) holdPools(t *Task, id poise.TenantID, sign int64) {
	if len(s.policies.pools) == 0 {
		return
	}
	held := s.usage.pools.tenants[id]
	if held == nil {
		held = map[string]*sum{}
		s.usage.pools.tenants[id] = held
	}
	add := func(resource string, device bool, amount int64) {
		t.pool.names(resource, device, func(name string) { s.intoPool(held, name, sign*amount) })
	}
	r := &t.Shape.Request
	for _, a := range r.Amounts {
		add(a.Name, false, a.Value)
	}
	if r.Device.Count > 0 {
		add(r.Device.Kind, true, r.Device.Total())
	}
}

func (s *State) intoPool(sums map[string]*sum, name string, v int64) {
	if _, named := slices.BinarySearch(s.policies.pools, name); named {
		into(sums, name, v)
	}
}

// Holds gives what the task holds of each resource, and under which names: that of
// the resource, and those of its part in the pool that the task was placed in.
func (t *Task) Holds(yield func(resource, name string, amount int64)) {
	add := func(resource string, device bool, amount int64) {
		yield(resource, resource, amount)
		t.pool.names(resource, device, func(name string) { yield(resource, name, amount) })
	}
	r := &t.Shape.Request
	for _, a := range r.Amounts {
		add(a.Name, false, a.Value)
	}
	if r.Device.Count > 0 {
		add(r.Device.Kind, true, r.Device.Total())
	}
}

// recount counts anew what pools have.
func (s *State) recount() {
	clear(s.usage.pools.total)
	for row := range uint32(s.live.rows) {
		if s.live.Present(row) {
			s.countPools(row, 1)
		}
	}
}

// poolQuota gives the tenant's quota of the only pool in which a shape may take
// a resource, or nil.
func poolQuota(t *poise.Tenant, shape *Shape, resource string) *poise.Quota {
	if d := &shape.Request.Device; d.Kind == resource && len(d.Models) == 1 {
		if q := t.Quota(resource + poise.ModelMark + d.Models[0]); q != nil {
			return q
		}
	}
	for i := range shape.Selectors {
		if s := &shape.Selectors[i]; s.Key == poise.ClassLabel && s.Op == poise.In && len(s.Values) == 1 {
			return t.Quota(resource + poise.ClassMark + s.Values[0])
		}
	}
	return nil
}

// PoolBar keeps a job off the nodes of pools of which a tenant would hold more
// than it may.
type PoolBar struct {
	snap *Snapshot
	over []overPool
}

// overPool is one such pool, by model or by class.
type overPool struct {
	model, class string
	miss         *poise.QuotaMiss
}

// PoolBar gives what quotas of pools keep the job off on a snapshot, nil for
// nothing.
func (s *State) PoolBar(snap *Snapshot, j *Job) *PoolBar {
	var over []overPool
	r := &j.Shape.Request
	for _, name := range s.policies.pools {
		if resource, class, ok := strings.Cut(name, poise.ClassMark); ok {
			ask, _ := r.Amounts.Find(resource)
			if r.Device.Count > 0 && r.Device.Kind == resource {
				ask = r.Device.Total()
			}
			if miss := s.overQuota(j.Tenant, name, ask); miss != nil {
				over = append(over, overPool{class: class, miss: miss})
			}
		} else if model, ok := strings.CutPrefix(name, r.Device.Kind+poise.ModelMark); ok && r.Device.Count > 0 {
			if miss := s.overQuota(j.Tenant, name, r.Device.Total()); miss != nil {
				over = append(over, overPool{model: model, miss: miss})
			}
		}
	}
	if over == nil {
		return nil
	}
	return &PoolBar{snap: snap, over: over}
}

// Refuses implements sched.Bar.
func (b *PoolBar) Refuses(row uint32) poise.Reason {
	if b.Miss(row) != nil {
		return poise.NewReason(poise.PoolOverQuota, 0)
	}
	return 0
}

// Miss gives the quota that keeps the job off the row, or nil.
func (b *PoolBar) Miss(row uint32) *poise.QuotaMiss {
	p := b.snap.pool(row)
	for i := range b.over {
		if o := &b.over[i]; o.model != "" && o.model == p.model || o.class != "" && o.class == p.class {
			return o.miss
		}
	}
	return nil
}
