package loop

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
)

func (f *fair) quota(id, parent poise.TenantID, ask resource.List, quotas ...poise.Quota) {
	f.t.Helper()
	f.apply(poise.TenantSet{Tenant: poise.Tenant{ID: id, Parent: parent, Quotas: quotas}})
	f.asks[id] = ask
}

// finish ends so many of a tenant's running jobs.
func (f *fair) finish(id poise.TenantID, n int) {
	f.t.Helper()
	for _, j := range f.loop.State().All() {
		if j.Tenant == id && !j.Waiting() && n > 0 {
			f.apply(poise.JobFinished{Job: j.ID})
			n--
		}
	}
}

// misses tells what keeps the tenants' first jobs waiting.
func (f *fair) misses() string {
	f.t.Helper()
	var all []string
	seen := map[poise.TenantID]bool{}
	for _, j := range f.loop.State().Waiting() {
		if seen[j.Tenant] {
			continue
		}
		seen[j.Tenant] = true
		d, err := f.loop.Try(j, f.now, sched.Brief)
		if err != nil {
			f.t.Fatal(err)
		}
		text := fmt.Sprintf("%s: %s", j.Tenant, d.Verdict)
		if q := d.Quota; q != nil {
			text += fmt.Sprintf(" (%s holds %d+%d of %d %s, %d withheld)", q.Tenant, q.Used, q.Ask, q.Limit, q.Resource, q.Withheld)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func TestLimits(t *testing.T) {
	f := newFair(t, amounts(10, 100))
	cpu := func(limit int64) poise.Quota { return poise.Quota{Resource: "cpu", Limit: limit} }
	f.quota("org", "", nil, cpu(5))
	f.quota("a", "org", amounts(1, 0), cpu(4))
	f.quota("b", "org", amounts(1, 0))
	if n := count(f.turns(10, "a")); n["a"] != 4 {
		t.Errorf("%v, expected 4 of a", n)
	}
	if n := count(f.turns(10, "b")); n["b"] != 1 {
		t.Errorf("%v, expected what the limit of org leaves, 1 of b", n)
	}
	const want = "a: over quota (a holds 4+1 of 4 cpu, 0 withheld); b: over quota (org holds 5+1 of 5 cpu, 0 withheld)"
	if got := f.misses(); got != want {
		t.Errorf("%s\nexpected\n%s", got, want)
	}
	// What is not asked for does not count: over its cpu limit, a may still use memory.
	f.asks["a"] = amounts(0, 7)
	if n := count(f.turns(2, "a")); n["a"] != 2 {
		t.Errorf("%v, expected 2 of a that ask for no cpu", n)
	}
	// One that ends lets one in, of whoever is within his limits.
	f.finish("b", 1)
	if got := f.turns(0); got != "b" {
		t.Errorf("%q, expected b", got)
	}
	// A limit that is raised lets those in that it held up; one that is lowered
	// below what is held stops nothing.
	f.quota("org", "", nil, cpu(7))
	f.quota("a", "org", nil, cpu(1))
	if got := f.turns(0); got != "b b" {
		t.Errorf("%q, expected two of b", got)
	}
	if w := f.loop.State().QuotaWarnings(); len(w) != 1 || !strings.Contains(w[0], `tenant "a" holds`) {
		t.Errorf("%q, expected a warning about a", w)
	}
}

// What a tenant leaves idle others borrow, but for the reserved part; a tenant
// within its guarantee goes before those who borrow.
func TestGuarantees(t *testing.T) {
	f := newFair(t, amounts(10, 100))
	f.quota("a", "", amounts(1, 0), poise.Quota{Resource: "cpu", Guaranteed: 6, Reserved: 2})
	f.quota("b", "", amounts(1, 0))
	if n := count(f.turns(20, "b")); n["b"] != 8 {
		t.Errorf("%v, expected all of the fleet but what is reserved, 8", n)
	}
	if got, want := f.misses(), "b: over quota (b holds 8+1 of 8 cpu, 2 withheld)"; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
	if n := count(f.turns(20, "a")); n["a"] != 2 {
		t.Errorf("%v, expected the reserved 2", n)
	}
	f.finish("b", 5)
	if n := count(f.turns(0)); n["a"] != 4 || n["b"] != 1 {
		t.Errorf("%v, expected a up to its guarantee before b", n)
	}
	if w := f.loop.State().QuotaWarnings(); len(w) != 0 {
		t.Errorf("%q, expected none", w)
	}
	f.quota("c", "", nil, poise.Quota{Resource: "cpu", Guaranteed: 5})
	if w := f.loop.State().QuotaWarnings(); len(w) != 1 || !strings.Contains(w[0], "guaranteed") {
		t.Errorf("%q, expected a warning", w)
	}
}

// Whatever happens, no placement takes a tenant or one above it beyond a limit,
// and at rest no job waits that fits and is within its quotas.
func TestQuotas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t)
		d.join(rapid.Int64Range(0, 20).Draw(t, "cpu"))
		tenants := []poise.TenantID{"here", "away", "own"}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				i := rapid.IntRange(0, 2).Draw(t, "tenant")
				set := poise.Tenant{ID: tenants[i]}
				q := poise.Quota{Resource: "cpu", Guaranteed: rapid.Int64Range(0, 8).Draw(t, "guaranteed")}
				q.Reserved = rapid.Int64Range(0, q.Guaranteed).Draw(t, "reserved")
				if rapid.Bool().Draw(t, "limited") {
					q.Limit = max(q.Guaranteed, rapid.Int64Range(1, 12).Draw(t, "limit"))
				}
				set.Quotas = []poise.Quota{q}
				if i > 0 && d.loop.State().Policies().Tenant(tenants[i-1]) != nil && rapid.Bool().Draw(t, "nested") {
					set.Parent = tenants[i-1]
				}
				d.apply(poise.TenantSet{Tenant: set})
			case 1:
				id := poise.JobID(fmt.Sprint("j", rapid.IntRange(1, max(d.jobs, 1)).Draw(t, "job")))
				if j := d.loop.State().Job(id); j != nil && !j.Waiting() {
					d.apply(poise.JobFinished{Job: id})
				}
			case 2:
				d.land()
			case 3:
				d.own(!d.owned)
			case 4:
				d.submit(string(rapid.SampledFrom(tenants).Draw(t, "tenant")), rapid.Int64Range(0, 6).Draw(t, "asks"))
			default:
				d.next()
			}
		}
		d.quiet()
		for _, j := range d.loop.State().Waiting() {
			decision, err := d.loop.Try(j, d.now, sched.Brief)
			if err != nil || decision.Verdict == poise.Placed {
				t.Fatalf("job %s waits, is within its quotas and fits on %s (%v)", j.ID, decision.Node, err)
			}
		}
	})
}
