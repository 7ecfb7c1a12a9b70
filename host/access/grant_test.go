package access

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

func TestParseGrant(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		g, err := ParseGrant(text)
		got := g.String()
		if err != nil {
			got = "refused"
		}
		if got != want {
			t.Errorf("%q: %s (%v), expected %s", text, got, err, want)
		}
		if err != nil && poise.KindOf(err) != poise.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	}
	f("acme:submitter", "acme:submitter")
	f("default:tenant-admin", "default:tenant-admin")
	f("admin", "admin")
	f("operator", "operator")
	for _, text := range []string{"", ":", "viewer", "acme", "acme:", ":viewer", ":operator", "acme:operator", "acme:admin", "acme:owner", "Acme:viewer", "acme:viewer:x", "acme: viewer", "admin:"} {
		f(text, "refused")
	}
}

// A role that is stronger may do all that the other may.
func TestStronger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SampledFrom(roles).Draw(t, "a"), rapid.SampledFrom(roles).Draw(t, "b")
		if a.Stronger(b) == b.Stronger(a) && a != b {
			t.Fatalf("%s and %s: both or neither is the stronger", a, b)
		}
		if !a.Stronger(b) {
			return
		}
		for action := range allowed {
			if b.Allows(action) && !a.Allows(action) {
				t.Fatalf("%s is stronger than %s and may not %s", a, b, action)
			}
		}
	})
}
