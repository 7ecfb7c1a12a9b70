package access

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// The table as people read it: every role and every action.
func TestTable(t *testing.T) {
	f := func(r Role, want ...Action) {
		t.Helper()
		for _, a := range slices.Sorted(maps.Keys(allowed)) {
			if got := r.Allows(a); got != slices.Contains(want, a) {
				t.Errorf("%s may %s: %v, expected %v", r, a, got, !got)
			}
		}
	}
	viewer := []Action{KnowSelf, ReadFleet, ReadJobs, ReadTenants, ReadPlugins}
	submitter := slices.Concat(viewer, []Action{PlanJobs, ChangeJobs})
	tenantAdmin := slices.Concat(submitter, []Action{ReadTokens, ChangeTokens, ChangePlugins, ReadAudit})
	operator := slices.Concat(tenantAdmin, []Action{ChangeFleet, RunTasks, ChangeTenants, ReadMetrics, ReadState})
	f(Viewer, viewer...)
	f(Submitter, submitter...)
	f(TenantAdmin, tenantAdmin...)
	f(Operator, operator...)
	f(Admin, operator...)
	f("")
	f("root")
	if Admin.Allows("nonsense") || !Role("").Allows(Open) {
		t.Error("an action that there is not is allowed, or one that is open is not")
	}
}

func TestRoles(t *testing.T) {
	for _, r := range roles {
		if err := r.Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, r := range []Role{"", "Admin", "admin ", "аdmin"} { // the last begins with a Cyrillic letter
		if r.Validate() == nil {
			t.Errorf("role %q passes", r)
		}
	}
}

// Whoever may make tokens makes none that can do more than they can.
func TestGrant(t *testing.T) {
	f := func(p Principal, role Role, tenant poise.TenantID, want poise.Kind) {
		t.Helper()
		err := p.MayGrant(role, tenant)
		if want == poise.Internal && err != nil || want != poise.Internal && (err == nil || poise.KindOf(err) != want) {
			t.Errorf("%s of %q makes a %s of %q: %v", p.Role, p.Tenant, role, tenant, err)
		}
	}
	const fine = poise.Internal
	admin, operator := Principal{Role: Admin}, Principal{Role: Operator}
	own := Principal{Role: TenantAdmin, Tenant: "acme"}
	f(admin, Admin, "", fine)
	f(admin, Viewer, "acme", fine)
	f(operator, Admin, "", poise.Denied)
	f(operator, Operator, "", fine)
	f(operator, TenantAdmin, "acme", fine)
	f(operator, Operator, "acme", poise.Invalid)
	f(operator, Viewer, "", poise.Invalid)
	f(operator, "root", "", poise.Invalid)
	f(own, TenantAdmin, "acme", fine)
	f(own, Viewer, "acme", fine)
	f(own, Viewer, "other", poise.Denied)
	f(own, Operator, "", poise.Denied)
	f(Principal{Role: Submitter, Tenant: "acme"}, Viewer, "acme", poise.Denied)
	f(Principal{}, Viewer, "acme", poise.Denied)
	rapid.Check(t, func(t *rapid.T) {
		p := Principal{Role: rapid.SampledFrom(roles).Draw(t, "role")}
		if !p.Role.Global() {
			p.Tenant = "acme"
		}
		made, tenant := rapid.SampledFrom(roles).Draw(t, "made"), rapid.SampledFrom([]poise.TenantID{"", "acme", "other"}).Draw(t, "tenant")
		if p.MayGrant(made, tenant) != nil {
			return
		}
		for a := range allowed {
			if made.Allows(a) && !p.Role.Allows(a) {
				t.Fatalf("%s made a %s, which may %s", p.Role, made, a)
			}
		}
		if p.Tenant != "" && tenant != p.Tenant {
			t.Fatalf("%s of %s made a token of %s", p.Role, p.Tenant, tenant)
		}
	})
}

func TestActFor(t *testing.T) {
	f := func(p Principal, tenant, want poise.TenantID, kind poise.Kind) {
		t.Helper()
		got, err := p.ActFor(tenant)
		if kind == poise.Internal && (err != nil || got.Tenant != want || got.Role != p.Role) || kind != poise.Internal && poise.KindOf(err) != kind {
			t.Errorf("%s of %q for %q: %+v, %v", p.Role, p.Tenant, tenant, got, err)
		}
	}
	f(Principal{Role: Admin}, "acme", "acme", poise.Internal)
	f(Principal{Role: Operator}, "../acme", "", poise.Invalid)
	f(Principal{Role: Viewer, Tenant: "acme"}, "acme", "acme", poise.Internal)
	f(Principal{Role: TenantAdmin, Tenant: "acme"}, "other", "", poise.Denied)
	if got := (Principal{Role: Admin}).Owner(); got != poise.DefaultTenant {
		t.Errorf("an admin's own tenant is %q", got)
	}
}

// A token shows who its owner is; anything else shows nothing.
func TestToken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var random [RandomBytes]byte
		copy(random[:], rapid.SliceOfN(rapid.Byte(), RandomBytes, RandomBytes).Draw(t, "random"))
		text, token := Mint(random)
		id, secret, ok := ParseToken(text)
		if !ok || id != token.ID || !token.Shows(secret) || !Ours(text) {
			t.Fatalf("%s: %s, %s, %v", text, id, secret, ok)
		}
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		changed := []byte(text)
		changed[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		if id, secret, ok := ParseToken(string(changed)); ok && id == token.ID && token.Shows(secret) {
			t.Fatalf("%q passes for %q", changed, text)
		}
		random[RandomBytes-1] ^= 1
		if _, other := Mint(random); other.Shows(secret) {
			t.Fatal("another secret passes")
		}
	})
}

func TestTokenValid(t *testing.T) {
	f := func(token Token, now poise.Time, want string) {
		t.Helper()
		err := token.Valid(now)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v at %d: %v, expected %q", token, now, err, want)
		}
	}
	f(Token{}, 1e15, "")
	f(Token{Expires: 10}, 9, "")
	f(Token{Expires: 10}, 10, "expired")
	f(Token{Revoked: 3}, 1, "revoked")
}

func TestTokenName(t *testing.T) {
	for _, name := range []string{"", "ci", "nightly build 2", "Zürich"} {
		if err := ValidateName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"a\nb", "\x1b[31m", "\u202eci", "\xff", strings.Repeat("a", 64), strings.Repeat("a", 1<<20)} {
		if err := ValidateName(name); err == nil || len(err.Error()) > 500 {
			t.Errorf("name %.20q: %v", name, err)
		}
	}
}

// Whatever text comes, it is a token only in the one spelling that Mint has.
func FuzzParseToken(f *testing.F) {
	text, _ := Mint([RandomBytes]byte{1, 0xab})
	f.Add(text)
	f.Add(strings.ToUpper(text))
	f.Add(text + "\x00")
	f.Add("poise_" + strings.Repeat("_", 77))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		id, secret, ok := ParseToken(text)
		if ok && text != "poise_"+id+"_"+secret {
			t.Errorf("%q reads as %q and %q", text, id, secret)
		}
		if ok && (!Ours(text) || len(id) != 12 || len(secret) != 64) {
			t.Errorf("%q passes", text)
		}
		if !ok && id+secret != "" {
			t.Errorf("%q is none and gives %q, %q", text, id, secret)
		}
	})
}
