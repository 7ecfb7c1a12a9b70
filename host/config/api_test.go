package config

import (
	"testing"
)

// What of the API's settings is wrong together, and that a rule joins none that a
// running daemon takes up: a reload mixes those with others of before.
func TestAPIConflicts(t *testing.T) {
	all := settings()
	f := func(set func(*API), key, expected string) {
		t.Helper()
		c := Defaults()
		set(&c.API)
		found := c.conflicts()
		if key == "" {
			if len(found) > 0 {
				t.Errorf("%v", found)
			}
			return
		}
		if len(found) != 1 || found[0].Key != key || found[0].Expected != expected || found[0].Value == "" {
			t.Errorf("%+v, expected %s: %s", found, key, expected)
		} else if s := lookUp(all, key); s == nil || s.live {
			t.Errorf("%s: unknown, or taken up while the daemon runs", key)
		}
	}
	f(func(a *API) { a.TLS.Cert, a.TLS.Key, a.TLS.ClientCA = "c", "k", "ca" }, "", "")
	f(func(a *API) { a.TLS.SelfSigned, a.TLS.Names, a.TLS.ClientCA = true, []string{"a"}, "ca" }, "", "")
	f(func(a *API) { a.OIDC.Issuer, a.OIDC.ClientID = "https://a", "poise" }, "", "")
	f(func(a *API) { a.TLS.Cert = "c" }, "api.tls.cert", "api.tls.key beside it")
	f(func(a *API) { a.TLS.Key = "k" }, "api.tls.key", "api.tls.cert beside it")
	f(func(a *API) { a.TLS.Cert, a.TLS.Key, a.TLS.SelfSigned = "c", "k", true }, "api.tls.self_signed", "false, as api.tls.cert has a certificate")
	f(func(a *API) { a.TLS.Names = []string{"a"} }, "api.tls.names", "nothing, as api.tls.self_signed is false")
	f(func(a *API) { a.TLS.ClientCA = "ca" }, "api.tls.client_ca", "api.tls.cert and api.tls.key, or api.tls.self_signed, beside it")
	f(func(a *API) { a.OIDC.Issuer = "https://a" }, "api.oidc.issuer", "api.oidc.client_id beside it")
	f(func(a *API) { a.OIDC.ClientID = "poise" }, "api.oidc.client_id", "api.oidc.issuer beside it")
}

func TestIsIssuer(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		if got := isIssuer(text); got != want {
			t.Errorf("%q: %v, expected %v", text, got, want)
		}
	}
	f("", true)
	f("https://login.example.org", true)
	f("https://login.example.org/realms/staff/", true)
	f("http://127.0.0.1:5556/dex", true)
	f("http://localhost:8080", true)
	f("http://[::1]:8080", true)
	f("http://login.example.org", false)
	f("http://127.0.0.1.example.org", false)
	f("https://", false)
	f("https://a:b@login.example.org", false)
	f("https://login.example.org?a=b", false)
	f("https://login.example.org#a", false)
	f("ftp://login.example.org", false)
	f("login.example.org", false)
	f("https://[::1", false)
}

func TestGrants(t *testing.T) {
	f := func(v any, want string) {
		t.Helper()
		k := grants(2)
		got := "refused"
		if all, ok := k.parse(v); ok {
			got = k.print(all)
			if again, ok := k.parse(got); !ok || k.print(again) != got {
				t.Errorf("%q reads as %v", got, again)
			}
		}
		if got != want {
			t.Errorf("%v: %q, expected %q", v, got, want)
		}
	}
	f("", "")
	f("ci=acme:submitter", "ci=acme:submitter")
	f("Platform Team=operator, /staff = acme:viewer", "/staff=acme:viewer,Platform Team=operator")
	f(map[string]any{"spiffe://example.org/agent.1": "admin"}, "spiffe://example.org/agent.1=admin")
	f("ci=acme:owner", "refused")
	f("ci=viewer", "refused")
	f("ci", "refused")
	f("=operator", "refused")
	f(map[string]any{"a,b": "operator"}, "refused")
	f(map[string]any{"a=b": "operator"}, "refused")
	f(map[string]any{" a": "operator"}, "refused")
	f(map[string]any{"a\n": "operator"}, "refused")
	f(map[string]any{"a": 1}, "refused")
	f("a=admin,b=admin,c=admin", "refused")
	f("a=admin,a=operator", "refused")
}
