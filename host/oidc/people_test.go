package oidc

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/oidc/oidctest"
	"github.com/poise-sched/poise/host/poise"
)

// hall is a daemon's way to tell people, and their provider.
type hall struct {
	*People
	t        testing.TB
	provider *oidctest.Provider
	grants   map[string]string
	mu       sync.Mutex
	ahead    time.Duration // of this machine's clock
	log      *bytes.Buffer
}

func newHall(t testing.TB) *hall {
	h := &hall{t: t, provider: oidctest.New(t), log: &bytes.Buffer{}, grants: map[string]string{"staff": "acme:submitter", "Platform Team": "operator"}}
	h.provider.Person("jane@example.org", "staff", "others")
	h.People = New(Options{
		Issuer: h.provider.URL, ClientID: oidctest.ClientID, UserClaim: "sub", GroupsClaim: "groups", TenantHeader: "Poise-Tenant",
		Grants: func() map[string]string { return h.grants }, Log: slog.New(slog.NewTextHandler(h.log, nil)), Now: h.now,
	})
	return h
}

func (h *hall) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Add(h.ahead)
}

func (h *hall) later(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ahead += d
}

func (h *hall) ask(token string, tenant ...string) (*access.Principal, error) {
	h.t.Helper()
	r := httptest.NewRequestWithContext(h.t.Context(), http.MethodGet, "/v1/whoami", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	for _, name := range tenant {
		r.Header.Set("Poise-Tenant", name)
	}
	return h.Principal(r)
}

func (h *hall) is(token, want string, tenant ...string) {
	h.t.Helper()
	p, err := h.ask(token, tenant...)
	if err != nil || p == nil {
		h.t.Errorf("%v, %v, expected %q", p, err, want)
	} else if got := fmt.Sprintf("%s %s %s", p.Who, p.Role, p.Tenant); got != want {
		h.t.Errorf("%q, expected %q", got, want)
	}
}

func (h *hall) refuses(token string, kind poise.Kind, why string) {
	h.t.Helper()
	want(h.t, func() error { _, err := h.ask(token); return err }(), kind, why)
}

func want(t testing.TB, err error, kind poise.Kind, text string) {
	t.Helper()
	if err == nil || poise.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, expected %s with %q", err, kind, text)
	}
}

type claims = map[string]any

func TestPeople(t *testing.T) {
	h := newHall(t)
	good := h.provider.Token(nil)
	h.is(good, "person jane@example.org submitter acme")
	h.is(h.provider.Token(claims{"aud": []string{"other", "poise"}, "azp": "poise"}), "person jane@example.org submitter acme")
	h.is(h.provider.Token(claims{"groups": "staff"}), "person jane@example.org submitter acme")
	h.is(h.provider.Token(claims{"groups": []string{"staff", "Platform Team"}}), "person jane@example.org operator ")
	if n := h.provider.Reads(); n != 1 {
		t.Errorf("the keys were read %d times, expected once", n)
	}

	hour := func(n int) int64 { return time.Now().Add(time.Duration(n) * time.Hour).Unix() }
	for _, c := range []struct {
		why   string
		other claims
	}{
		{"expected audience", claims{"aud": "another"}},
		{"expected audience", claims{"aud": nil}},
		{"issued by a different provider", claims{"iss": "https://evil.example.org"}},
		{"issued by a different provider", claims{"iss": h.provider.URL + "/"}},
		{"it ended at", claims{"iat": hour(-2), "exp": hour(-1)}},
		{"it ended at", claims{"exp": nil}},
		{"before the nbf", claims{"nbf": hour(1)}},
		{"expected none of the future", claims{"iat": hour(1), "exp": hour(2)}},
		{"expected at most 24h", claims{"exp": hour(25)}},
		{"expected at most 24h", claims{"iat": nil}},
		{"azp:", claims{"aud": []string{"other", "poise"}, "azp": "other"}},
		{"sub: no text", claims{"sub": nil}},
		{"cannot unmarshal number", claims{"sub": 7}},
		{"sub: no text", claims{"sub": "a\x1b[2Jb"}},
		{"sub: no text", claims{"sub": strings.Repeat("a", 300)}},
		{"none of the person's groups", claims{"groups": nil}},
		{"none of the person's groups", claims{"groups": []string{}}},
		{"none of the person's groups", claims{"groups": []string{"Staff", "staff "}}},
		{"none of the person's groups", claims{"groups": claims{"staff": true}}},
		{"none of the person's groups", claims{"groups": []any{"staff", 1}}},
	} {
		h.refuses(h.provider.Token(c.other), poise.Denied, c.why)
	}

	// The clocks may be a minute apart, either way, and no more.
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	h.is(h.provider.Token(claims{"exp": in(-skew + 10*time.Second)}), "person jane@example.org submitter acme")
	h.refuses(h.provider.Token(claims{"exp": in(-skew - 10*time.Second)}), poise.Denied, "it ended at")
	h.is(h.provider.Token(claims{"iat": in(skew - 10*time.Second)}), "person jane@example.org submitter acme")
	h.refuses(h.provider.Token(claims{"iat": in(skew + 10*time.Second)}), poise.Denied, "of the future")
}

// A person who may act for several tenants says for which.
func TestTenants(t *testing.T) {
	h := newHall(t)
	h.grants = map[string]string{"a": "acme:viewer", "a2": "acme:tenant-admin", "b": "bolt:viewer", "bad": "acme:owner"}
	h.is(h.provider.Token(claims{"groups": []string{"a", "a2"}}), "person jane@example.org tenant-admin acme")
	h.is(h.provider.Token(claims{"groups": []string{"a2", "a"}}), "person jane@example.org tenant-admin acme")
	both := h.provider.Token(claims{"groups": []string{"b", "a"}})
	h.is(both, "person jane@example.org viewer acme", "acme")
	h.is(both, "person jane@example.org viewer bolt", "bolt")
	h.refuses(both, poise.Invalid, `tenant: none, expected one of ["acme" "bolt"], which the person's groups are for: --tenant NAME`)
	h.is(both, "person jane@example.org viewer acme", "other") // whom the API then lets act for acme alone
	h.refuses(h.provider.Token(claims{"groups": []string{"bad"}}), poise.Invalid, "grant: ")
}

// What is signed by anything but a key of the provider, for signatures.
func TestForgeries(t *testing.T) {
	h := newHall(t)
	h.is(h.provider.Token(nil), "person jane@example.org submitter acme")
	body := claims{"iss": h.provider.URL, "aud": "poise", "sub": "evil", "groups": []string{"Platform Team"}, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	kid := h.provider.Key().KeyID
	sign := func(alg jose.SignatureAlgorithm, key any, kid string) string {
		t.Helper()
		text, err := oidctest.Sign(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, body)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key := h.provider.Key()
	public, err := x509.MarshalPKIXPublicKey(key.Public().Key)
	if err != nil {
		t.Fatal(err)
	}
	h.refuses(sign(jose.ES256, other, kid), poise.Denied, "failed to verify signature")
	h.refuses(sign(jose.ES256, other, ""), poise.Denied, "failed to verify signature")
	h.refuses(sign(jose.RS256, rsaKey, kid), poise.Denied, "failed to verify signature")
	h.refuses(sign(jose.HS256, public, kid), poise.Denied, "unexpected signature algorithm")
	h.refuses(sign(jose.ES256, other, "key-7"), poise.Denied, `signed with key "key-7", expected one that`)
	head := func(alg string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"` + alg + `","kid":"` + kid + `"}`))
	}
	parts := strings.Split(h.provider.Token(nil), ".")
	for _, alg := range []string{"none", "None", "NONE", "HS256", "", "RS1"} {
		for _, signature := range []string{"", parts[2]} {
			h.refuses(head(alg)+"."+parts[1]+"."+signature, poise.Denied, "ID token: ")
		}
	}
	embedded, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: other}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := embedded.Sign([]byte(`{"iss":"` + h.provider.URL + `","aud":"poise","sub":"evil","groups":"staff","exp":9999999999}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	h.refuses(text, poise.Denied, "failed to verify signature")
	h.refuses(parts[0]+"."+parts[1]+"."+parts[2][:len(parts[2])-4], poise.Denied, "ID token: ")
	h.refuses("eyJ.eyJ.x", poise.Denied, "ID token: ")
	for _, text := range []string{"", "poise_1_2", "ey", "ey.a", "ey.a.b.c", "a.b.c"} {
		if p, err := h.ask(text); p != nil || err != nil {
			t.Errorf("%q: %v, %v, expected it to be for others", text, p, err)
		}
	}
}

func TestUserClaim(t *testing.T) {
	h := newHall(t)
	h.options.UserClaim = "email"
	h.is(h.provider.Token(claims{"email": "j@example.org"}), "person j@example.org submitter acme")
	h.is(h.provider.Token(claims{"email": "j@example.org", "email_verified": true}), "person j@example.org submitter acme")
	h.refuses(h.provider.Token(claims{"email": "j@example.org", "email_verified": false}), poise.Denied, "email: not verified")
	h.refuses(h.provider.Token(nil), poise.Denied, "email: no text")
}

// A person who left a group has what it gives no longer than the token lasts, and
// what an administrator takes from a group is gone at once.
func TestGroupRemoved(t *testing.T) {
	h := newHall(t)
	old := h.provider.Token(nil)
	h.provider.Person("jane@example.org")
	h.is(old, "person jane@example.org submitter acme")
	h.refuses(h.provider.Token(nil), poise.Denied, "none of the person's groups")
	h.later(time.Hour + 2*skew)
	h.refuses(old, poise.Denied, "it ended at")
	h.later(-time.Hour - 2*skew)
	delete(h.grants, "staff")
	h.refuses(old, poise.Denied, "none of the person's groups")
}
