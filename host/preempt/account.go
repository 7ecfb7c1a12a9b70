package preempt

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// victim is tasks that end together: one, or all that run of a gang that could not
// go on without it.
type victim struct {
	jobs     []*state.Job
	extra    bool
	priority int32
	lost     poise.Span // work that is done again, of all tasks
	takes    []amount   // what ends with it, by name
}

// amount is what tasks hold of a resource of one name: that of a dimension, of a
// kind of device, or of a pool's part of one.
type amount struct {
	resource, name string
	value          int64
}

// victimOf gives what would end with a job that runs.
func victimOf(s *state.State, j *state.Job, now poise.Time) *victim {
	v := &victim{jobs: []*state.Job{j}, extra: j.Extra(), priority: j.Priority}
	if g := s.GangOf(j); g != nil && !v.extra {
		v.jobs = g.Running()
	}
	for _, each := range v.jobs {
		v.lost += max(0, poise.Span(now-each.Task().Placed))
		v.count(each)
	}
	return v
}

// count adds what a job's task holds.
func (v *victim) count(j *state.Job) {
	j.Task().Holds(func(resource, name string, value int64) {
		if i := slices.IndexFunc(v.takes, func(a amount) bool { return a.name == name }); i >= 0 {
			v.takes[i].value += value
		} else {
			v.takes = append(v.takes, amount{resource, name, value})
		}
	})
}

// covers says whether all that end with another victim end with this one.
func (v *victim) covers(o *victim) bool {
	return v != o && slices.Contains(v.jobs, o.jobs[0])
}

// right is why tasks of a tenant may be taken for a job.
type right uint8

const (
	none right = iota
	shrink
	priority
	reclaim
)

// account says who may be taken for a job, and keeps count of what is.
type account struct {
	state    *state.State
	settings *Settings
	now      poise.Time
	job      *state.Job // for which; of a gang the sum of those that start
	head     *state.Job // the one that waits
	path     []poise.TenantID
	within   []bool // by place in path: with the job the tenant is within its guarantee
	taken    map[poise.TenantID]map[string]int64
	again    poise.Time // when more may be taken than now, 0 = not by time alone
}

func newAccount(s *state.State, settings *Settings, members []*state.Job, now poise.Time) *account {
	a := &account{state: s, settings: settings, now: now, head: members[0], job: members[0], taken: map[poise.TenantID]map[string]int64{}}
	if len(members) > 1 {
		a.job = state.Sum(members)
	}
	a.path = pathOf(s, a.head.Tenant)
	for _, id := range a.path {
		a.within = append(a.within, s.Within(id, a.job))
	}
	for _, j := range s.Leaving() { // their tenants hold less soon
		v := &victim{jobs: []*state.Job{j}}
		v.count(j)
		a.take(v, 1)
	}
	return a
}

// pathOf gives a tenant and those above it, from below.
func pathOf(s *state.State, id poise.TenantID) []poise.TenantID {
	path := []poise.TenantID{id}
	for t := s.Policies().Tenant(id); t != nil && t.Parent != ""; t = s.Policies().Tenant(t.Parent) {
		path = append(path, t.Parent)
	}
	return path
}

// allowed says by which right a victim may end, none where it may not, or not now.
// Lacking are the resources of which there is too little.
func (a *account) allowed(v *victim, lacking []string) right {
	if slices.ContainsFunc(v.jobs, func(j *state.Job) bool { return j.Yielding() || slices.Contains(a.head.Yield.Took, j.ID) }) {
		return none
	}
	j := v.jobs[0]
	if a.head.Extra() {
		return none
	}
	if needs(a.head, v) {
		return none
	}
	if v.extra {
		if a.due(max(a.head.Submitted+poise.Time(a.settings.Patience), j.Task().Placed+poise.Time(a.settings.Hold), j.Yield.Rests)) {
			return shrink
		}
		return none
	}
	above := pathOf(a.state, j.Tenant)
	if a.settings.Priority && j.Priority < a.head.Priority && slices.Contains(above, a.head.Tenant) && a.spares(v, above, lacking) && a.due(a.rested(v, priority)) {
		return priority
	}
	if !a.settings.Reclaim {
		return none
	}
	for i, id := range a.path {
		if a.within[i] && !slices.Contains(above, id) && a.spares(v, above, lacking) && a.due(a.rested(v, reclaim)) {
			return reclaim
		}
	}
	return none
}

// due says whether a time has come, and keeps the earliest that has not.
func (a *account) due(at poise.Time) bool {
	if at <= a.now {
		return true
	}
	if a.again == 0 || at < a.again {
		a.again = at
	}
	return false
}

// needs says whether a job has to be near what a victim is: it would not fit any more
// where that has ended.
func needs(j *state.Job, v *victim) bool {
	if j.Kind == nil {
		return false
	}
	for i := range j.Kind.Pod.Rules {
		rule := &j.Kind.Pod.Rules[i]
		if rule.Apart || !rule.Required() {
			continue
		}
		for _, each := range v.jobs {
			if k := each.Task().Kind; k != nil && k.Pod.Cluster == j.Kind.Pod.Cluster && rule.Finds(k.Pod.Space, k.Labels) {
				return true
			}
		}
	}
	return false
}

// rested is when the jobs have run long enough to be displaced, and those that were
// spared may be asked again. Priorities cannot
// go round in a circle, so a job that displaced others rests from reclaims alone.
func (a *account) rested(v *victim, by right) (at poise.Time) {
	for _, j := range v.jobs {
		at = max(at, j.Yield.Rests)
		if j.Yield.Times > 0 || j.Yield.Forced && by == reclaim {
			at = max(at, j.Task().Placed+poise.Time(a.settings.Cooldown))
		}
	}
	return at
}

// spares says whether each tenant that the victim belongs to, up to the first that
// the job belongs to as well, keeps what it is guaranteed of what is lacking.
func (a *account) spares(v *victim, above []poise.TenantID, lacking []string) bool {
	for _, id := range above {
		if slices.Contains(a.path, id) {
			return true
		}
		t := a.state.Policies().Tenant(id)
		if t == nil {
			continue
		}
		for _, each := range v.takes {
			q := t.Quota(each.name)
			if q == nil || q.Guaranteed == 0 || each.value == 0 || !slices.Contains(lacking, each.resource) {
				continue
			}
			if a.state.Used(id, each.name)-a.taken[id][each.name]-each.value < q.Guaranteed {
				return false
			}
		}
	}
	return true
}

// take counts a victim, or where sign is -1 lets it go again.
func (a *account) take(v *victim, sign int64) {
	for _, id := range pathOf(a.state, v.jobs[0].Tenant) {
		sums := a.taken[id]
		if sums == nil {
			sums = map[string]int64{}
			a.taken[id] = sums
		}
		for _, each := range v.takes {
			sums[each.name] += sign * each.value
		}
	}
}

// before says whether the job goes before another one that waits.
func (a *account) before(o *state.Job) bool {
	if o.Tenant == a.head.Tenant {
		return o.Priority < a.head.Priority
	}
	return slices.Contains(a.within, true) && !a.state.Within(o.Tenant, o)
}
