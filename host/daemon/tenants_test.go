package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// town is a daemon with two tenants, asked over the address with tokens and, by
// its administrator, over the socket.
type town struct {
	*world
	url string

	victim  *client.Client // bolt's administrator
	token   client.NewToken
	jobs    []client.Job // bolt's
	plugin  client.PluginVersion
	secrets []string // what no answer to anybody else may have
}

// settle starts a daemon with the tenants acme and bolt, and has bolt do all that
// a tenant does.
func settle(t *testing.T) *town {
	o := options(t, folder(t), settings{})
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan [2]string, 1), make(chan error, 1)
	go func() { done <- Serve(ctx, o, func(address, socket string) { ready <- [2]string{address, socket} }) }()
	w := &world{t: t, live: o.Config}
	v := &town{world: w}
	select {
	case at := <-ready:
		v.url = "http://" + at[0]
		var err error
		if w.Client, err = client.New(at[1]); err != nil {
			t.Fatal(err)
		}
	case err := <-done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	w.join("lab", nodes("n", 2, "8"))
	v.tenant("acme")
	v.token = v.tenant("bolt")
	v.victim = v.as(v.token.Text)
	run := job("zz-secret-runs", "2", "zz-secret-command", "zz-secret-argument")
	run.RunTime, run.Env = "1h", map[string]string{"ZZ_SECRET": "zz-secret-value"}
	wait := job("zz-secret-waits", "7999m")
	wait.Selectors = []client.Selector{{Key: "zz-secret-label", Op: "Exists"}}
	var err error
	if v.jobs, err = v.victim.Submit(t.Context(), []client.JobSpec{run, wait}, "zz-secret-key"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "bolt's job runs", func() bool {
		j, err := v.victim.Job(t.Context(), "zz-secret-runs")
		return err == nil && j.State == client.Running
	})
	other, err := v.victim.CreateToken(t.Context(), client.TokenSpec{Role: "viewer", Name: "zz-secret-token"})
	if err != nil {
		t.Fatal(err)
	}
	v.secrets = []string{"zz-secret", "ZZ_SECRET", v.token.ID, other.ID, v.jobs[0].ID, v.jobs[1].ID, `"bolt"`, "7999m", "7.999"}
	return v
}

// ship has bolt push a plugin and put it in force.
func (v *town) ship() {
	v.t.Helper()
	var err error
	v.plugin, err = v.victim.PushPlugin(v.t.Context(), false, client.PluginPush{Module: firstParty(v.t, "dotproduct"), Tag: "zz-secret-tag"})
	if err != nil {
		v.t.Fatal(err)
	}
	if _, err := v.victim.Activate(v.t.Context(), false, client.ActivationSpec{Plugin: v.plugin.Plugin}); err != nil {
		v.t.Fatal(err)
	}
	v.secrets = append(v.secrets, v.plugin.Plugin, v.plugin.Digest)
}

func (v *town) tenant(name string) client.NewToken {
	made, err := v.CreateTenant(v.t.Context(), name)
	if err != nil {
		v.t.Fatal(err)
	}
	return made.Token
}

// as gives a client over the address that shows a token.
func (v *town) as(token string) *client.Client {
	c, err := client.New(v.url)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(c.Close)
	return c.As(token, "")
}

// give makes a token of a role.
func (v *town) give(role access.Role, tenant string) string {
	v.t.Helper()
	made, err := v.CreateToken(v.t.Context(), client.TokenSpec{Role: string(role), Tenant: tenant})
	if err != nil {
		v.t.Fatal(err)
	}
	return made.Text
}

// route is an operation of the OpenAPI document.
type route struct {
	Method, Path string
	ID           string        `json:"operationId"`
	Action       access.Action `json:"x-action"`
	Parameters   []struct {
		Name, In string
		Schema   schema
	}
	RequestBody struct {
		Content map[string]struct{ Schema schema }
	}
}

type schema struct {
	Type                 any
	Ref                  string `json:"$ref"`
	Properties           map[string]schema
	Items                *schema
	OneOf                []schema
	AdditionalProperties any
	Examples             []any
}

// document reads the daemon's own document.
func (v *town) document() ([]route, map[string]schema) {
	v.t.Helper()
	answer, body := v.ask("", "GET", "/openapi.json", "")
	if answer.StatusCode != 200 {
		v.t.Fatalf("openapi.json: %d", answer.StatusCode)
	}
	var doc struct {
		Paths      map[string]map[string]route
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		v.t.Fatal(err)
	}
	var all []route
	for path, methods := range doc.Paths {
		for method, r := range methods {
			r.Method, r.Path = strings.ToUpper(method), path
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b route) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
	if len(all) < 30 {
		v.t.Fatalf("%d routes, expected all", len(all))
	}
	return all, doc.Components.Schemas
}

// ask sends a request and gives the answer with what of its body comes at once.
func (v *town) ask(token, method, target, body string, header ...string) (*http.Response, string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, v.url+target, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.Header.Get("Content-Type") == "text/event-stream" {
		time.AfterFunc(200*time.Millisecond, cancel) // all of the history is there by then
	}
	text, _ := io.ReadAll(answer.Body)
	return answer, string(text)
}

// sample makes a value that a schema allows, with what matters filled in by name.
func sample(s schema, all map[string]schema, name string, fill map[string]string, depth int) any {
	if s.Ref != "" {
		s = all[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	if text, ok := fill[name]; ok {
		return text
	}
	if len(s.Examples) > 0 {
		return s.Examples[0]
	}
	kind, _ := s.Type.(string)
	if list, ok := s.Type.([]any); ok && len(list) > 0 {
		kind, _ = list[0].(string)
	}
	switch {
	case depth > 6:
		return nil
	case kind == "object" && len(s.Properties) > 0:
		made := map[string]any{}
		for field, sub := range s.Properties {
			made[field] = sample(sub, all, field, fill, depth+1)
		}
		return made
	case kind == "object":
		return map[string]any{}
	case kind == "array" && s.Items != nil:
		return []any{sample(*s.Items, all, name, fill, depth+1)}
	case kind == "integer", kind == "number":
		return 1
	case kind == "boolean":
		return false
	}
	return "x"
}

// fills gives what goes in the place of a parameter: something of bolt's, and
// something that there is not.
func (v *town) fills() map[string][2]string {
	id := v.jobs[0].ID
	return map[string][2]string{
		"job":       {id, id[:len(id)-1] + "z"},
		"tenant":    {"bolt", "nope"},
		"token":     {v.token.ID, "000000000000"},
		"node":      {"n0", "n9"},
		"cluster":   {"lab", "nil"},
		"placement": {"p1", "p9"},
		"ref":       {"dotproduct@" + v.plugin.Digest, "dotproduct@sha256:" + strings.Repeat("0", 64)},
		"plugin":    {"dotproduct", "nothing"},
		"index":     {"1", "1"},
	}
}

// calls gives the request of a route with bolt's things in it, and the same with
// things that there are not; with every flag set, or none.
func (v *town) calls(r *route, all map[string]schema, flags bool) (theirs, none [2]string) {
	for i, to := range []*[2]string{&theirs, &none} {
		path, query := r.Path, url.Values{}
		fill := map[string]string{}
		for name, values := range v.fills() {
			fill[name] = values[i]
		}
		for _, p := range r.Parameters {
			switch p.In {
			case "path":
				if _, ok := fill[p.Name]; !ok {
					v.t.Errorf("%s %s: nobody says what bolt's {%s} is; add it to fills", r.Method, r.Path, p.Name)
				}
				path = strings.ReplaceAll(path, "{"+p.Name+"}", fill[p.Name])
			case "query":
				if value, ok := fill[p.Name]; ok && p.Name != "node" && p.Schema.Type == "string" {
					query.Set(p.Name, value)
				}
				if p.Schema.Type == "boolean" && flags {
					query.Set(p.Name, "true")
				}
			}
		}
		if len(query) > 0 {
			path += "?" + query.Encode()
		}
		to[0] = path
		for _, content := range r.RequestBody.Content {
			fill["job"], fill["node"] = "probe", "probe" // names of what is made
			text, err := json.Marshal(sample(content.Schema, all, "", fill, 0))
			if err != nil {
				v.t.Fatal(err)
			}
			to[1] = string(text)
		}
	}
	return theirs, none
}

// Whatever a tenant asks for of another's, it gets what it would get if that were
// not there, and learns none of the other's names, ids or amounts. Every route of
// the document is tried, so that a new one is too.
func TestForeignTokens(t *testing.T) {
	v := settle(t)
	v.ship()
	routes, schemas := v.document()
	before := v.census()
	for _, role := range []access.Role{access.TenantAdmin, access.Submitter, access.Viewer} {
		token := v.give(role, "acme")
		for i := range 2 * len(routes) {
			r := &routes[i/2]
			theirs, none := v.calls(r, schemas, i%2 == 1)
			got, text := v.ask(token, r.Method, theirs[0], theirs[1])
			want, blank := v.ask(token, r.Method, none[0], none[1])
			at := fmt.Sprintf("%s %s %s", role, r.Method, theirs[0])
			if got.StatusCode >= 500 {
				t.Errorf("%s: %d %s", at, got.StatusCode, text)
			}
			if allowed := role.Allows(r.Action); !allowed && got.StatusCode != http.StatusForbidden {
				t.Errorf("%s (%s): %d %s, expected 403", at, r.Action, got.StatusCode, text)
			}
			if role == access.Viewer && r.Method != "GET" && got.StatusCode != http.StatusForbidden {
				t.Errorf("%s: %d %s, expected 403: a viewer changes nothing", at, got.StatusCode, text)
			}
			foreign := strings.Contains(r.Path, "{job}") || strings.Contains(r.Path, "{tenant}") || strings.Contains(r.Path, "{token}") || strings.Contains(r.Path, "{placement}") || strings.Contains(r.Path, "{ref}")
			if foreign && got.StatusCode != http.StatusForbidden && got.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %d %s, expected 404 or 403", at, got.StatusCode, text)
			}
			public := strings.Contains(r.Path, "{node}") || strings.Contains(r.Path, "{cluster}")
			if !public && (got.StatusCode != want.StatusCode || got.StatusCode >= 400 && v.plain(text) != v.plain(blank)) {
				t.Errorf("%s: one that is not there is told from bolt's:\n%d %s\n%d %s", at, got.StatusCode, text, want.StatusCode, blank)
			}
			v.clean(at, theirs, got, text)
		}
	}
	for _, ref := range []string{"dotproduct@" + v.plugin.Version, "dotproduct:zz-secret-tag", "dotproduct"} {
		if _, err := v.as(v.give(access.TenantAdmin, "acme")).PullPlugin(t.Context(), ref); poise.KindOf(err) != poise.NotFound {
			t.Errorf("acme pulls bolt's %s: %v", ref, err)
		}
	}
	if after := v.census(); before != after {
		t.Errorf("bolt has\n%s\nexpected what it had\n%s", after, before)
	}
}

// plain puts the same in the place of all that calls fills in; nodes apart, which
// are for all to see.
func (v *town) plain(text string) string {
	var values []string
	for name, pair := range v.fills() {
		if name != "node" && name != "cluster" && name != "index" {
			values = append(values, pair[:]...)
		}
	}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) }) // a part after the whole
	for _, value := range values {
		text = strings.ReplaceAll(text, value, "_")
	}
	return text
}

// clean checks that nothing of bolt's is in an answer, but for what was asked.
func (v *town) clean(at string, asked [2]string, answer *http.Response, text string) {
	v.t.Helper()
	headers := fmt.Sprint(answer.Header)
	for _, secret := range v.secrets {
		if strings.Contains(asked[0]+asked[1], strings.Trim(secret, `"`)) {
			continue
		}
		if strings.Contains(text+headers, secret) {
			v.t.Errorf("%s tells %s:\n%s", at, secret, text)
		}
	}
}

// census says what bolt and the fleet have.
func (v *town) census() string {
	v.t.Helper()
	var b strings.Builder
	jobs, err := v.victim.Jobs(v.t.Context(), client.JobFilter{})
	tokens, err2 := v.victim.Tokens(v.t.Context())
	nodes, err3 := v.Nodes(v.t.Context(), client.NodeFilter{})
	if err != nil || err2 != nil || err3 != nil {
		v.t.Fatal(err, err2, err3)
	}
	for _, j := range jobs.Jobs {
		fmt.Fprintln(&b, j.ID, j.State, j.Placement)
	}
	for _, k := range tokens {
		fmt.Fprintln(&b, k.ID, k.Role, k.Revoked)
	}
	for _, n := range nodes.Nodes {
		fmt.Fprintln(&b, n.Name, n.State, n.Incarnation)
	}
	return b.String()
}

// Without a valid token nothing is to be had but whether the daemon works.
func TestNoToken(t *testing.T) {
	v := settle(t)
	routes, schemas := v.document()
	revoked, err := v.CreateToken(t.Context(), client.TokenSpec{Role: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	op := v.as(revoked.Text)
	if _, err := op.Nodes(t.Context(), client.NodeFilter{}); err != nil {
		t.Fatal(err) // it is known by now
	}
	if err := v.RevokeToken(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	gone := v.tenant("gone")
	if err := v.RemoveTenant(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	if again := v.tenant("gone"); again.Text == gone.Text {
		t.Error("the same token twice")
	}
	other := []byte(v.token.Text)
	other[len(other)-1] ^= 1
	for _, token := range []string{"", "x", revoked.Text, gone.Text, string(other), strings.ToUpper(v.token.Text), v.token.Text + "0"} {
		for i := range routes {
			r := &routes[i]
			theirs, _ := v.calls(r, schemas, false)
			got, text := v.ask(token, r.Method, theirs[0], theirs[1])
			open := r.Action == access.Open && !strings.HasPrefix(token, "poise_") // nobody, then
			limited := got.StatusCode == http.StatusTooManyRequests && strings.HasPrefix(token, "poise_") && token != revoked.Text
			if !open && got.StatusCode != http.StatusUnauthorized && !limited || open && got.StatusCode != http.StatusOK && got.StatusCode != http.StatusNotFound {
				t.Errorf("token %.20q: %s %s: %d %s", token, r.Method, r.Path, got.StatusCode, text)
			}
			if got.StatusCode == http.StatusUnauthorized && got.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s %s: no challenge", r.Method, r.Path)
			}
			v.clean(fmt.Sprintf("token %.20q: %s %s", token, r.Method, r.Path), theirs, got, text)
		}
	}
	if got, text := v.ask("", "GET", "/metrics", ""); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("metrics: %d %s", got.StatusCode, text)
	}
	if got, text := v.ask(v.give(access.Viewer, "acme"), "GET", "/metrics", ""); got.StatusCode != http.StatusForbidden {
		t.Errorf("metrics for a tenant: %d %s", got.StatusCode, text)
	}
	if got, text := v.ask(v.give(access.Operator, ""), "GET", "/metrics", ""); got.StatusCode != http.StatusOK || !strings.Contains(text, "poise_") {
		t.Errorf("metrics for an operator: %d %s", got.StatusCode, text)
	}
	if got, text := v.ask("", "GET", "/healthz", ""); got.StatusCode != http.StatusOK || strings.Contains(text, `"last_event":1`) {
		t.Errorf("health for nobody: %d %s", got.StatusCode, text)
	}
}

// A tenant's lists, its events and its reasons have its own jobs, and a page that
// ends with them is the last.
func TestOwnShare(t *testing.T) {
	v := settle(t)
	acme := v.as(v.give(access.TenantAdmin, "acme"))
	made, err := acme.Submit(t.Context(), []client.JobSpec{job("own", "1"), job("big", "7")}, "zz-secret-key") // bolt's key is bolt's
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "acme's job is decided", func() bool {
		w, err := acme.Why(t.Context(), "big")
		return err == nil && w.Decision != nil
	})
	if _, err := v.victim.Cancel(t.Context(), "zz-secret-waits"); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	ctx, cancel := context.WithCancel(t.Context())
	last, err := acme.Submit(t.Context(), []client.JobSpec{job("last", "1m")}, "")
	if err != nil {
		t.Fatal(err)
	}
	err = acme.Events(ctx, 0, func(e client.Event) error {
		text, _ := json.Marshal(e)
		v.clean("event", [2]string{}, &http.Response{}, string(text))
		seen[e.Kind]++
		if e.Job == last[0].ID {
			cancel()
		}
		return nil
	})
	if ctx.Err() == nil {
		t.Fatal(err)
	}
	if seen["job-submitted"] != 3 || seen["node-joined"] != 2 || seen["job-withdrawn"] != 0 || seen["tenant-set"] != 1 || seen["profile-built"] != 0 {
		t.Errorf("events: %v", seen)
	}
	jobs, err := acme.Jobs(t.Context(), client.JobFilter{Limit: 4})
	if err != nil || len(jobs.Jobs) != 3 || jobs.Next != "" {
		t.Errorf("%+v, %v, expected acme's three jobs and no more pages", jobs, err)
	}
	list, err := acme.Decisions(t.Context(), client.DecisionFilter{})
	if err != nil || len(list.Decisions) == 0 || list.Next != "" {
		t.Errorf("%+v, %v, expected acme's decisions", list, err)
	}
	for _, d := range list.Decisions {
		if d.Tenant != "acme" {
			t.Errorf("a decision of %s", d.Tenant)
		}
	}
	all, err := v.Decisions(t.Context(), client.DecisionFilter{Limit: 1})
	if err != nil || len(all.Decisions) != 1 || all.Next == "" {
		t.Errorf("%+v, %v, expected the first of several", all, err)
	}
	if _, err := v.As("", "bolt").Job(t.Context(), made[0].ID); poise.KindOf(err) != poise.NotFound {
		t.Errorf("acting for bolt: %v", err)
	}
	if j, err := v.Job(t.Context(), made[0].ID); err != nil || j.Tenant != "acme" {
		t.Errorf("acting for all: %+v, %v", j, err)
	}
	if _, err := v.As("", "nope").Jobs(t.Context(), client.JobFilter{}); poise.KindOf(err) != poise.NotFound {
		t.Errorf("acting for nobody: %v", err)
	}
}

// Tenants, tokens and the audit log outlive the daemon.
func TestTenantsStay(t *testing.T) {
	w := serve(t, folder(t), settings{})
	if _, err := w.CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.As("", "acme").Submit(t.Context(), []client.JobSpec{job("j", "1")}, ""); err != nil {
		t.Fatal(err)
	}
	refused(t, w.RemoveTenant(t.Context(), "acme"), poise.Conflict, "expected none")
	w = w.again(settings{})
	list, err := w.Tenants(t.Context())
	if err != nil || fmt.Sprint(list) != "[{acme false} {default true}]" && fmt.Sprint(list) != "[{default true} {acme false}]" {
		t.Errorf("%v, %v", list, err)
	}
	tokens, err := w.As("", "acme").Tokens(t.Context())
	if err != nil || len(tokens) != 1 || tokens[0].Role != "tenant-admin" {
		t.Errorf("%+v, %v", tokens, err)
	}
	log, err := w.Audit(t.Context(), client.AuditFilter{})
	if err != nil || len(log.Records) != 3 || log.Next != "" {
		t.Fatalf("%+v, %v, expected three records", log, err)
	}
	if r := log.Records[0]; r.Action != "remove-tenant" || r.Status != http.StatusConflict || r.Tenant != "acme" || r.Role != "admin" || !strings.HasPrefix(r.Who, "user ") {
		t.Errorf("%+v", r)
	}
	first, err := w.Audit(t.Context(), client.AuditFilter{Limit: 2})
	if err != nil || len(first.Records) != 2 {
		t.Fatal(first, err)
	}
	rest, err := w.Audit(t.Context(), client.AuditFilter{After: first.Next})
	if err != nil || len(rest.Records) != 1 || rest.Records[0].Action != "create-tenant" {
		t.Errorf("%+v, %v", rest, err)
	}
}
