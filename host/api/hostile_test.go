package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/api/client"
)

// oddNames are names that would be mistaken for others, for paths, for commands
// of a terminal, or for more than one.
var oddNames = []string{
	"", " ", "a b", "a\nb", "a\x00b", "\x1b[2J", "../acme", "acme/../bolt", ".", "..", "acme/", "%2e%2e", "acme\u200b", "\u202eemca", "аcme", // a Cyrillic а
	"ＡＣＭＥ", "ACME", "acme.", "-acme", "acme-", "a_b", "é", "e\u0301", "\xff\xfe", "*", "'; DROP TABLE tokens; --", "${jndi:x}", "<script>", "default\t",
	strings.Repeat("a", 64), strings.Repeat("a", 1<<19), strings.Repeat("é", 1<<18),
}

// tame checks an answer to nonsense: a refusal of bounded length that can be
// shown on a terminal.
func (s *site) tame(at string, a *http.Response, text string) {
	s.t.Helper()
	if a.StatusCode < 400 || a.StatusCode >= 500 {
		s.t.Errorf("%s: %d %.300s, expected a refusal", at, a.StatusCode, text)
	}
	odd := strings.ContainsFunc(strings.TrimRight(text, "\n"), func(r rune) bool { return unicode.IsControl(r) })
	if len(text) > 64<<10 || !utf8.ValidString(text) || odd {
		s.t.Errorf("%s: %d bytes: %.300q", at, len(text), text)
	}
}

func TestOddNames(t *testing.T) {
	g := guarded(t, apitest.New())
	if _, err := dial(t, g.socket).CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	op := bearer(g.give(access.Operator, ""))
	for i, name := range oddNames {
		at := fmt.Sprintf("name %d %.20q", i, name)
		quoted := must(json.Marshal(name))(t)
		f := func(what, path, body string, header ...string) {
			t.Helper()
			a, text := g.ask("POST", path, body, append(header, "Authorization", op)...)
			g.tame(at+" "+what, a, text)
		}
		f("tenant", "/v1/tenants", fmt.Sprintf(`{"name": %s}`, quoted))
		if name != "" {
			f("token's tenant", "/v1/tokens", fmt.Sprintf(`{"role": "viewer", "tenant": %s}`, quoted))
		}
		f("role", "/v1/tokens", fmt.Sprintf(`{"role": %s, "tenant": "acme"}`, quoted))
		f("expiry", "/v1/tokens", fmt.Sprintf(`{"role": "root", "tenant": "acme", "expires_in": %s}`, quoted))
		if access.ValidateName(name) != nil {
			f("token's name", "/v1/tokens", fmt.Sprintf(`{"role": "viewer", "tenant": "acme", "name": %s}`, quoted))
		}
	}
	if got := g.backend.Tenants(); len(got) != 1 {
		t.Errorf("tenants %q, expected acme alone", got)
	}
	list, err := g.backend.TokensOf(t.Context(), "acme")
	if err != nil || len(list) != 1 {
		t.Errorf("%d tokens of acme, %v, expected the first alone", len(list), err)
	}
}

// The header of a tenant comes as it is written on the wire, and the path of a
// thing is one name whatever is in it.
func TestOddRequests(t *testing.T) {
	g := guarded(t, apitest.New())
	if _, err := dial(t, g.socket).CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	op, own := bearer(g.give(access.Operator, "")), bearer(g.give(access.TenantAdmin, "acme"))
	raw := func(lines ...string) (int, string) {
		t.Helper()
		c, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, strings.Join(lines, "\r\n")+"\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, _ := io.ReadAll(a.Body)
		return a.StatusCode, string(text)
	}
	f := func(want int, lines ...string) {
		t.Helper()
		if status, text := raw(lines...); status != want {
			t.Errorf("%.200q: %d %.300s, expected %d", lines, status, text, want)
		}
	}
	get := "GET /v1/jobs HTTP/1.1"
	f(200, get, "Authorization: "+op, "Poise-Tenant: acme")
	f(422, get, "Authorization: "+op, "Poise-Tenant: acme", "Poise-Tenant: bolt")
	f(422, get, "Authorization: "+op, "Poise-Tenant: ../acme")
	f(422, get, "Authorization: "+op, "Poise-Tenant: ")
	f(422, get, "Authorization: "+op, "Poise-Tenant: "+strings.Repeat("a", 1000))
	f(404, get, "Authorization: "+op, "Poise-Tenant: bolt")
	f(403, get, "Authorization: "+own, "Poise-Tenant: bolt")
	f(403, get, "Authorization: "+own, "Poise-Tenant: nobody")
	f(403, get, "Authorization: "+own, "Poise-Tenant: *")
	f(200, get, "Authorization: "+own, "Poise-Tenant: acme")
	f(400, get, "Authorization: "+own, "Poise-Tenant: a\x00b")
	f(401, get, "Authorization: "+own, "Authorization: "+op)
	f(200, get, "authorization: bearer "+strings.TrimPrefix(own, "Bearer "))
	f(401, get, "Authorization: "+strings.TrimPrefix(own, "Bearer "))
	f(401, get, "Authorization: Bearer  "+strings.TrimPrefix(own, "Bearer "))
	f(404, "DELETE /v1/tenants/..%2Facme HTTP/1.1", "Authorization: "+op)
	f(404, "DELETE /v1/tenants/ACME HTTP/1.1", "Authorization: "+op)
	f(404, "DELETE /v1/tenants/acme%00 HTTP/1.1", "Authorization: "+op)
	f(404, "DELETE /v1/tokens/%27%20OR%201=1 HTTP/1.1", "Authorization: "+op)
	f(409, "DELETE /v1/tenants/default HTTP/1.1", "Authorization: "+op)
	f(404, "GET /v1/jobs/..%2F..%2Fetc%2Fpasswd HTTP/1.1", "Authorization: "+own)
	if got := g.backend.Tenants(); len(got) != 1 || got[0] != "acme" {
		t.Errorf("tenants %q, expected acme alone", got)
	}
}

// JSON that is deep, large, or not what it should be gets a short refusal on
// every route that takes a body.
func TestHostileJSON(t *testing.T) {
	b := apitest.New()
	g := guarded(t, b)
	op := bearer(g.give(access.Operator, ""))
	deep := strings.Repeat("[", 1<<16)
	bodies := []string{
		deep, strings.Repeat(`{"a":`, 1<<14), strings.Repeat(`{"jobs":[`, 1<<16), `{"jobs":` + deep + `}`, `{"name":` + deep + strings.Repeat("]", 1<<16-20) + `}`,
		`{"name": "` + strings.Repeat(`\u0000`, 1<<14) + `"}`, `{"role": 1e999999999}`, `{"` + strings.Repeat("k", 1<<16) + `": 1}`, "\xff\xfe{}", `{"name": "a"`, `null`, `[]`, `"x"`, `0`, ``,
		strings.Repeat(" ", 1<<20-1) + "{", `{"jobs": [` + strings.Repeat("{},", 1<<14) + `{}]}`, `{"name":"a","name":["b"]}`, "{} {}",
	}
	for path, item := range must(routesWithBody(g.server))(t) {
		for i, body := range bodies {
			a, text := g.ask(item, path, body, "Authorization", op, "If-Match", `"1"`)
			if a.StatusCode == 404 && strings.Contains(path, "/v1/placements/") && body == "null" {
				continue
			}
			g.tame(fmt.Sprintf("%s %s body %d", item, path, i), a, text)
		}
	}
	if n := len(must(b.Jobs(t.Context(), "", client.JobFilter{Limit: 10}))(t).Jobs); n != 0 {
		t.Errorf("%d jobs came of it", n)
	}
	if _, err := dial(t, g.socket).CreateTenant(t.Context(), "fine"); err != nil {
		t.Error(err)
	}
}

// routesWithBody gives the method of each path that takes a body.
func routesWithBody(s *server) (map[string]string, error) {
	text, err := json.Marshal(s.api.OpenAPI())
	if err != nil {
		return nil, err
	}
	var doc struct {
		Paths map[string]map[string]struct {
			RequestBody *struct{} `json:"requestBody"`
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.RequestBody != nil {
				found[strings.NewReplacer("{", "", "}", "").Replace(path)] = strings.ToUpper(method)
			}
		}
	}
	return found, nil
}
