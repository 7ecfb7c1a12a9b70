package state

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

func inForce(s *State, tenant poise.TenantID) string {
	a := s.Policies().Activation(tenant)
	if a == nil {
		return "none"
	}
	return fmt.Sprintf("%s@%d quarantined=%v", a.Digest, a.Index, a.Quarantined)
}

func TestPolicies(t *testing.T) {
	d := newDriver(t, 0)
	f := func(body poise.Body, want string) {
		t.Helper()
		err := d.Apply(poise.Event{Index: d.Index() + 1, Body: body})
		if got := inForce(d.State, "a"); err != nil || got != want {
			t.Errorf("after %T: %s, %v, expected %s", body, got, err, want)
		}
	}
	bad := func(body poise.Body, want string) {
		t.Helper()
		before := inForce(d.State, "a")
		err := d.Apply(poise.Event{Index: d.Index() + 1, Body: body})
		if err == nil || !strings.Contains(err.Error(), want) || inForce(d.State, "a") != before {
			t.Errorf("%T: %v, expected %q and nothing changed", body, err, want)
		}
	}
	set := func(digest string) poise.PolicySet {
		return poise.PolicySet{Activation: poise.Activation{Tenant: "a", Plugin: "p", Digest: digest, Index: 99, Quarantined: true}}
	}
	bad(poise.PolicyRolledBack{Tenant: "a"}, "none in force")
	bad(poise.PolicyCleared{Tenant: "a"}, "none in force")
	bad(poise.PolicyQuarantined{Tenant: "a", Quarantined: true}, "none in force")
	bad(poise.PolicySet{Activation: poise.Activation{Tenant: "a", Plugin: "p"}}, "digest")
	bad(poise.PolicySet{Activation: poise.Activation{Tenant: "A", Plugin: "p", Digest: "d"}}, `id: "A"`)
	bad(poise.PolicySet{Activation: poise.Activation{Tenant: "a", Plugin: "p", Digest: "d", Weight: -1}}, "weight: -1")
	bad(poise.PolicySet{Activation: poise.Activation{Tenant: "a", Plugin: "p", Digest: "d", OnFailure: "shrug"}}, `on failure: "shrug"`)
	f(set("one"), "one@1 quarantined=false")
	f(poise.PolicyQuarantined{Tenant: "a", Quarantined: true}, "one@1 quarantined=true")
	f(set("two"), "two@3 quarantined=false")
	f(poise.PolicyRolledBack{Tenant: "a"}, "one@1 quarantined=true")
	f(poise.PolicyRolledBack{Tenant: "a"}, "none")
	for i := range maxHistory + 3 {
		f(set(fmt.Sprint(i)), fmt.Sprintf("%d@%d quarantined=false", i, 6+i))
	}
	if n := len(d.Policies().History("a")); n != maxHistory {
		t.Errorf("%d activations kept, expected %d", n, maxHistory)
	}
	f(poise.PolicyCleared{Tenant: "a"}, "none")

	bad(poise.TenantSet{Tenant: poise.Tenant{ID: "a/../b"}}, "a-z")
	bad(poise.TenantRemoved{Tenant: "a"}, "not known")
	f(poise.TenantSet{Tenant: poise.Tenant{ID: "a"}}, "none")
	f(poise.JobSubmitted{Job: poise.Job{ID: "j", Name: "j", Tenant: "a", Tasks: 1}}, "none")
	bad(poise.TenantRemoved{Tenant: "a"}, "has jobs")
	f(poise.JobWithdrawn{Job: "j"}, "none")
	f(set("last"), fmt.Sprintf("last@%d quarantined=false", d.Index()+1))
	f(poise.TenantRemoved{Tenant: "a"}, "none")
	bad(poise.SchedulerSet{Scheduler: poise.Scheduler{HalfLife: -1}}, "half-life: -1")
}

// An id of a tenant is 1 to 63 characters that cannot be taken for others.
func TestTenantID(t *testing.T) {
	f := func(id string, ok bool) {
		t.Helper()
		if err := poise.TenantID(id).Validate(); (err == nil) != ok {
			t.Errorf("%q: %v, expected ok %v", id, err, ok)
		}
	}
	f("a", true)
	f("team-7", true)
	f(strings.Repeat("x", 63), true)
	for _, id := range []string{"", "-a", "a-", "A", "a.b", "../a", "a\x00", "аdmin" /* a Cyrillic a */, strings.Repeat("x", 64)} {
		f(id, false)
	}
}

// What is in force is the same after it was written down, and a snapshot of the
// columns is not changed by it.
func TestPoliciesWrittenDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t, 0)
		tenants := []poise.TenantID{"", "a", "b"}
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			tenant := rapid.SampledFrom(tenants).Draw(t, "tenant")
			var body poise.Body
			switch rapid.IntRange(0, 6).Draw(t, "kind") {
			case 0, 1:
				body = poise.PolicySet{Activation: poise.Activation{
					Tenant: tenant, Plugin: "p", Digest: rapid.StringMatching("[a-f]{1,3}").Draw(t, "digest"),
					Params: map[string]string{"k": rapid.StringMatching("[a-z]?").Draw(t, "value")},
				}}
			case 2:
				body = poise.PolicyRolledBack{Tenant: tenant}
			case 3:
				body = poise.PolicyQuarantined{Tenant: tenant, Quarantined: rapid.Bool().Draw(t, "on")}
			case 4:
				body = poise.PolicyCleared{Tenant: tenant}
			case 5:
				body = poise.TenantSet{Tenant: poise.Tenant{ID: "a", Signed: rapid.Bool().Draw(t, "signed")}}
			default:
				body = poise.SchedulerSet{Scheduler: poise.Scheduler{Seed: uint64(d.Index()), HalfLife: float64(rapid.IntRange(0, 9).Draw(t, "half-life"))}}
			}
			version, before := d.View().Version(), imageText(t, d.State)
			if err := d.Apply(poise.Event{Index: d.Index() + 1, Body: body}); err != nil && imageText(t, d.State) != before {
				t.Fatalf("%T is refused and changes something", body)
			}
			if d.View().Version() != version {
				t.Fatalf("%T changes a row", body)
			}
		}
		again := writtenDown(t, d.State, 0)
		if got, want := imageText(t, again), imageText(t, d.State); got != want {
			t.Fatalf("written down\n%s\nexpected\n%s", got, want)
		}
		if again.demand.halfLife != d.demand.halfLife {
			t.Fatalf("half-life %v, expected %v", again.demand.halfLife, d.demand.halfLife)
		}
	})
}
