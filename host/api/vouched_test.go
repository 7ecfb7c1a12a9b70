package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// What others say of a caller holds if the tenant is there, and what they refuse
// is a caller that nobody knows.
func TestVouched(t *testing.T) {
	g := guarded(t, apitest.New(), func(r *http.Request) (*access.Principal, error) {
		switch r.Header.Get("Authorization") {
		case "Bearer acme":
			return &access.Principal{Who: "jane", Role: access.Viewer, Tenant: "acme"}, nil
		case "Bearer default":
			return &access.Principal{Who: "jane", Role: access.Viewer, Tenant: "default"}, nil
		case "Bearer old":
			return nil, &poise.Error{Kind: poise.Denied, Detail: "it has ended"}
		}
		return nil, nil
	})
	ask := func(token, want string) {
		t.Helper()
		if _, text := g.ask("GET", "/v1/whoami", "", "Authorization", "Bearer "+token); !strings.Contains(text, want) {
			t.Errorf("%s: %s, expected %s", token, text, want)
		}
	}
	g.refused(401, "GET", "/v1/whoami", "", "Authorization", "Bearer acme")
	ask("acme", `tenant: \"acme\", which jane is to act for, is not there`)
	ask("default", `"role":"viewer","tenant":"default"`)
	g.refused(401, "GET", "/v1/whoami", "", "Authorization", "Bearer old")
	ask("old", "it has ended")
	g.refused(401, "GET", "/v1/whoami", "") // programs on this machine are told apart too
	if _, err := dial(t, g.socket).CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	ask("acme", `"role":"viewer","tenant":"acme"`)
}

// Anybody learns where people log in.
func TestOIDCRoute(t *testing.T) {
	g := guarded(t, apitest.New())
	c := dial(t, strings.TrimPrefix(g.url, "http://"))
	if _, err := c.OIDC(t.Context()); poise.KindOf(err) != poise.NotFound || !strings.Contains(err.Error(), "api.oidc.issuer") {
		t.Error(err)
	}
	g.server.oidc = &client.OIDC{Issuer: "https://login.example.org", ClientID: "poise"}
	if got := must(c.OIDC(t.Context()))(t); got != *g.server.oidc {
		t.Errorf("%+v", got)
	}
}
