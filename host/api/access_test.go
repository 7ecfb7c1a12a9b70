package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// gate is an API that asks who calls.
type gate struct {
	*site
	backend *apitest.Backend
	socket  string
}

// guarded serves b on loopback and on a socket; others come between tokens and
// the socket's user.
func guarded(t *testing.T, b *apitest.Backend, others ...Authenticator) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s")
	u, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(b, Options{
		Access: NewAccess(b, l.Addr(), others...), Limits: generous, Log: slog.New(slog.DiscardHandler),
	})
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "figures") })
	for _, at := range []net.Listener{l, u} {
		run(t, Server(s.handler(metrics), Timeouts{Request: 20 * time.Second, Idle: time.Minute}), at)
	}
	return &gate{&site{t, s, "http://" + l.Addr().String(), nil}, b, path}
}

// give makes a token over the socket.
func (g *gate) give(role access.Role, tenant string) client.NewToken {
	g.t.Helper()
	return must(dial(g.t, g.socket).CreateToken(g.t.Context(), client.TokenSpec{Role: string(role), Tenant: tenant}))(g.t)
}

func bearer(t client.NewToken) string { return "Bearer " + t.Text }

// Every operation has its action, and every action its operations.
func TestActions(t *testing.T) {
	s := &server{}
	s.routes(http.NewServeMux())
	seen := map[string]bool{}
	for path, item := range s.api.OpenAPI().Paths {
		text, err := json.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		var ops map[string]struct {
			ID     string `json:"operationId"`
			Action string `json:"x-action"`
		}
		if err := json.Unmarshal(text, &ops); err != nil {
			t.Fatal(err)
		}
		for method, op := range ops {
			if op.Action == "" || op.Action != string(actions[op.ID]) {
				t.Errorf("%s %s: action %q, expected %q", method, path, op.Action, actions[op.ID])
			}
			seen[op.ID] = true
		}
	}
	for id, a := range actions {
		if !seen[id] {
			t.Errorf("%s has an action and no route", id)
		}
		if a != access.Open && !access.Admin.Allows(a) {
			t.Errorf("%s: nobody may %s", id, a)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an operation without an action is registered")
		}
	}()
	handle(s, http.MethodGet, "/v1/none", "none", "", func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
}

// Programs of the machine act without a token while nobody else is there, unless
// they come by another name or from elsewhere.
func TestSingleUser(t *testing.T) {
	g := guarded(t, apitest.New())
	f := func(status int, path string, header ...string) {
		t.Helper()
		if a, text := g.ask("GET", path, "", header...); a.StatusCode != status {
			t.Errorf("%s %v: %d %s, expected %d", path, header, a.StatusCode, text, status)
		}
	}
	f(200, "/v1/jobs")
	f(200, "/metrics")
	f(403, "/v1/nodes/n/assignments")
	f(401, "/v1/jobs", "X-Forwarded-For", "10.0.0.1")
	f(401, "/v1/jobs", "Forwarded", "for=10.0.0.1")
	f(401, "/v1/jobs", "Authorization", "Basic YTpi")
	f(403, "/v1/jobs", client.TenantHeader, "acme")
	f(200, "/v1/jobs", client.TenantHeader, "default")
	rebound := func(host string, status int) {
		t.Helper()
		r, err := http.NewRequest("GET", g.url+"/v1/jobs", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != status {
			t.Errorf("host %q: %d, expected %d", host, a.StatusCode, status)
		}
	}
	rebound("localhost:1", 200)
	rebound("LocalHost", 200)
	rebound("[::1]:80", 200)
	rebound("127.9.9.9", 200)
	rebound("attacker.example", 401)
	rebound("127.0.0.1.attacker.example", 401)
	rebound("10.0.0.1", 401)

	c := dial(t, g.socket)
	if _, err := c.CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	f(401, "/v1/jobs")
	f(401, "/metrics")
	f(200, "/healthz")
	if err := c.RemoveTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	f(200, "/v1/jobs")
	for _, addr := range []net.Addr{&net.TCPAddr{IP: net.IPv4zero}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, &net.UnixAddr{}, nil} {
		if NewAccess(g.backend, addr).SingleUser() {
			t.Errorf("listening on %v, programs need no token", addr)
		}
	}
}

// The socket's own user administers, and may act for any one tenant.
func TestSocket(t *testing.T) {
	g := guarded(t, apitest.New())
	c := dial(t, g.socket)
	self := must(c.Self(t.Context()))(t)
	if self.Role != "admin" || self.Tenant != "" || !strings.HasPrefix(self.Who, "user ") && self.Who != "socket" {
		t.Errorf("%+v", self)
	}
	if _, err := c.CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	if self = must(c.As("", "acme").Self(t.Context()))(t); self.Tenant != "acme" || self.Role != "admin" {
		t.Errorf("%+v", self)
	}
	token := g.give(access.Viewer, "acme")
	if self = must(c.As(token.Text, "").Self(t.Context()))(t); self.Role != "viewer" {
		t.Errorf("a token over the socket: %+v", self)
	}
	r, err := http.NewRequest("GET", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign := func(p peer) error {
		_, err := socketPeer(r.WithContext(context.WithValue(t.Context(), peerKey{}, p)))
		return err
	}
	if err := foreign(peer{uid: 1 << 20, known: true}); err == nil || !strings.Contains(err.Error(), "user 1048576, expected the daemon's own user or root") {
		t.Errorf("another user: %v", err)
	}
	if err := foreign(peer{err: errors.New("no")}); err == nil {
		t.Error("an unknown user passes")
	}
	if err := foreign(peer{uid: 0, known: true}); err != nil {
		t.Errorf("root: %v", err)
	}
	if p, err := socketPeer(r); p != nil || err != nil {
		t.Errorf("no socket: %v, %v", p, err)
	}
}

// A revoked token is refused from the answer on, though it was in use, and what
// it had opened ends.
func TestRevoke(t *testing.T) {
	g := guarded(t, apitest.New())
	c := dial(t, g.socket)
	if _, err := c.CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	token := g.give(access.Submitter, "acme")
	for range 3 {
		if a, text := g.ask("GET", "/v1/jobs", "", "Authorization", bearer(token)); a.StatusCode != 200 {
			t.Fatalf("%d %s", a.StatusCode, text)
		}
	}
	if n := g.backend.Lookups(); n != 1 {
		t.Errorf("%d lookups of one token, expected 1", n)
	}
	r, err := http.NewRequest("GET", g.url+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", bearer(token))
	stream, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if err := c.RevokeToken(t.Context(), token.ID); err != nil {
		t.Fatal(err)
	}
	if p := g.refused(401, "GET", "/v1/jobs", "", "Authorization", bearer(token)); p.Detail != "token: it was revoked, expected another" {
		t.Error(p.Detail)
	}
	if _, err := c.As("", "acme").Submit(t.Context(), []client.JobSpec{{Name: "zz-after", Request: map[string]client.Quantity{}, Command: []string{"true"}}}, ""); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(stream.Body) // it ends by itself
	if strings.Contains(string(text), "job-submitted") {
		t.Errorf("a stream goes on: %s", text)
	}

	first := must(c.CreateTenant(t.Context(), "bolt"))(t).Token
	g.refused(404, "DELETE", "/v1/tokens/"+token.ID, "", "Authorization", bearer(first)) // acme's
	if a, _ := g.ask("GET", "/v1/jobs", "", "Authorization", bearer(first)); a.StatusCode != 200 {
		t.Error(a.StatusCode)
	}
	if err := c.RemoveTenant(t.Context(), "bolt"); err != nil {
		t.Fatal(err)
	}
	g.refused(401, "GET", "/v1/jobs", "", "Authorization", bearer(first))
	op := g.give(access.Operator, "")
	admin := g.give(access.Admin, "")
	g.refused(403, "DELETE", "/v1/tokens/"+admin.ID, "", "Authorization", bearer(op))
	g.refused(403, "POST", "/v1/tokens", `{"role": "admin"}`, "Authorization", bearer(op))
	if a, _ := g.ask("DELETE", "/v1/tokens/"+op.ID, "", "Authorization", bearer(admin)); a.StatusCode != 204 {
		t.Error(a.StatusCode)
	}
}

func TestExpire(t *testing.T) {
	g := guarded(t, apitest.New())
	c := dial(t, g.socket)
	if _, err := c.CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	token := must(c.CreateToken(t.Context(), client.TokenSpec{Role: "viewer", Tenant: "acme", ExpiresIn: "1h"}))(t)
	g.ask("GET", "/v1/jobs", "", "Authorization", bearer(token))
	g.server.access.tokens.now = func() time.Time { return time.Now().Add(59 * time.Minute) }
	if a, _ := g.ask("GET", "/v1/jobs", "", "Authorization", bearer(token)); a.StatusCode != 200 {
		t.Error(a.StatusCode)
	}
	g.server.access.tokens.now = func() time.Time { return time.Now().Add(time.Hour) }
	if p := g.refused(401, "GET", "/v1/jobs", "", "Authorization", bearer(token)); p.Detail != "token: it has expired, expected a new one" {
		t.Error(p.Detail)
	}
	for _, wrong := range []string{"0s", "-1h", "forever", "1e9h", strings.Repeat("9", 1000) + "h"} {
		text, _ := json.Marshal(client.TokenSpec{Role: "viewer", Tenant: "acme", ExpiresIn: wrong})
		a, answer := g.ask("POST", "/v1/tokens", string(text), "Authorization", bearer(g.give(access.Operator, "")))
		if a.StatusCode != 422 || len(answer) > 2000 {
			t.Errorf("%.20s: %d %.500s", wrong, a.StatusCode, answer)
		}
	}
}

// Who guesses is slowed down; who is right gets through beside them.
func TestAttempts(t *testing.T) {
	g := guarded(t, apitest.New())
	c := dial(t, g.socket)
	if _, err := c.CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	token := g.give(access.Viewer, "acme")
	count := map[int]int{}
	for i := range 50 {
		a, _ := g.ask("GET", "/v1/jobs", "", "Authorization", fmt.Sprintf("Bearer poise_%012x_%064x", i, i))
		count[a.StatusCode]++
		if a.StatusCode == 429 && a.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if count[401] < maxAttempts || count[429] == 0 || count[401]+count[429] != 50 {
		t.Errorf("%v, expected about %d refusals and 429 for the rest", count, maxAttempts)
	}
	if a, text := g.ask("GET", "/v1/jobs", "", "Authorization", bearer(token)); a.StatusCode != 200 {
		t.Errorf("a token that was not seen yet: %d %s", a.StatusCode, text)
	}
	a := newAttempts()
	for i := range 3 * maxOrigins {
		a.failed(fmt.Sprint(i))
	}
	if len(a.from) > maxOrigins {
		t.Errorf("%d addresses are counted, expected at most %d", len(a.from), maxOrigins)
	}
	f := func(address, want string) {
		t.Helper()
		if got := origin(&http.Request{RemoteAddr: address}); got != want {
			t.Errorf("%s: %q, expected %q", address, got, want)
		}
	}
	f("1.2.3.4:5", "1.2.3.4")
	f("[::ffff:1.2.3.4]:5", "1.2.3.4")
	f("[2001:db8:1:2:3:4:5:6]:7", "2001:db8:1:2::/64")
	f("[fe80::1%eth0]:7", "fe80::/64")
	f("@", "")
	k := newTokens(g.backend, time.Now)
	for i := range 2 * maxKnown {
		k.known[fmt.Sprint(i)] = access.Token{}
		if len(k.known) > maxKnown {
			delete(k.known, fmt.Sprint(i))
		}
	}
	if _, err := k.load(t.Context(), token.ID, ""); err != nil || len(k.known) > maxKnown {
		t.Errorf("%d tokens are remembered, %v", len(k.known), err)
	}
}

// Other evidence has its place between tokens and the socket.
func TestOtherAuthenticators(t *testing.T) {
	fails := false
	g := guarded(t, apitest.New(), func(r *http.Request) (*access.Principal, error) {
		if r.Header.Get("Authorization") != "Bearer eyJ.of.others" {
			return nil, nil
		}
		if fails {
			return nil, &poise.Error{Kind: poise.Unavailable, Detail: "the provider is not reachable"}
		}
		return &access.Principal{Who: "jane@example.com", Role: access.Operator}, nil
	})
	if _, err := dial(t, g.socket).CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	if _, text := g.ask("GET", "/v1/whoami", "", "Authorization", "Bearer eyJ.of.others"); !strings.Contains(text, `"who":"jane@example.com","role":"operator"`) {
		t.Error(text)
	}
	g.refused(401, "GET", "/v1/whoami", "", "Authorization", "Bearer eyJ.of.nobody")
	fails = true
	g.refused(503, "GET", "/v1/whoami", "", "Authorization", "Bearer eyJ.of.others")
}

// A change that the audit log does not take is not called a success.
func TestAuditFails(t *testing.T) {
	b := apitest.New()
	g := guarded(t, b)
	c := dial(t, g.socket)
	if _, err := c.Submit(t.Context(), []client.JobSpec{{Name: "j", Request: map[string]client.Quantity{}, Command: []string{"true"}}}, ""); err != nil {
		t.Fatal(err)
	}
	b.AuditFault = &poise.Error{Kind: poise.Unavailable, Detail: "the disk is full"}
	_, err := c.Cancel(t.Context(), "j")
	if poise.KindOf(err) != poise.Unavailable || !strings.Contains(err.Error(), "it is done, and the audit log") {
		t.Error(err)
	}
	if _, err := c.Cancel(t.Context(), "nobody"); poise.KindOf(err) != poise.NotFound {
		t.Errorf("a refusal stays what it is: %v", err)
	}
	b.AuditFault = nil
	page := must(c.Audit(t.Context(), client.AuditFilter{}))(t)
	if len(page.Records) != 1 || page.Records[0].Object != "1 job, first id-1 (j)" {
		t.Errorf("%+v", page)
	}
}

// What others hold, or have kept for them, is not in a tenant's explanation.
func TestShare(t *testing.T) {
	b := apitest.New()
	g := guarded(t, b)
	c := dial(t, g.socket)
	if _, err := c.CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	own := c.As(g.give(access.Submitter, "acme").Text, "")
	made := must(own.Submit(t.Context(), []client.JobSpec{{Name: "j", Request: map[string]client.Quantity{}, Command: []string{"true"}}}, ""))(t)
	f := func(q, want poise.QuotaMiss) {
		t.Helper()
		b.Decision = &poise.Decision{Verdict: poise.OverQuota, Quota: &q}
		for _, got := range []*client.Decision{
			must(own.Why(t.Context(), made[0].ID))(t).Decision,
			must(own.Plan(t.Context(), client.JobSpec{Name: "p", Request: map[string]client.Quantity{}, Command: []string{"true"}}))(t).Decision,
		} {
			if d := must(got.Poise())(t); *d.Quota != want {
				t.Errorf("%+v is shown as %+v, expected %+v", q, *d.Quota, want)
			}
		}
		if d := must(c.Why(t.Context(), made[0].ID))(t).Decision; d.Quota.Used != q.Used {
			t.Errorf("the administrator is shown %+v, expected %+v", d.Quota, q)
		}
	}
	f(poise.QuotaMiss{Tenant: "acme", Resource: "cpu", Used: 3, Ask: 2, Limit: 4}, poise.QuotaMiss{Tenant: "acme", Resource: "cpu", Used: 3, Ask: 2, Limit: 4})
	f(poise.QuotaMiss{Tenant: "above", Resource: "cpu", Used: 70, Ask: 2, Limit: 71}, poise.QuotaMiss{Resource: "cpu", Ask: 2})
	f(poise.QuotaMiss{Tenant: "acme", Resource: "gpu", Used: 70, Ask: 2, Limit: 71, Withheld: 9}, poise.QuotaMiss{Resource: "gpu", Ask: 2})
	b.Decided(client.DecisionRecord{Index: 9, Tenant: "acme", Decision: client.Decision{Verdict: "over-quota", Quota: &client.QuotaMiss{Tenant: "above", Used: 70, Ask: 2}}})
	for _, d := range must(own.Decisions(t.Context(), client.DecisionFilter{}))(t).Decisions {
		if q := d.Decision.Quota; q.Tenant == "above" || q.Used != 0 {
			t.Errorf("the list shows %+v", q)
		}
	}
}

// No operation is given up because its handler works for longer than a body may
// take to arrive: a push is checked for that long.
func TestLongWork(t *testing.T) {
	s := &server{}
	s.routes(http.NewServeMux())
	for path, item := range s.api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete, item.Patch} {
			if op != nil && op.BodyReadTimeout >= 0 {
				t.Errorf("%s %s: the handler has %v", op.Method, path, op.BodyReadTimeout)
			}
		}
	}
}
