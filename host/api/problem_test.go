package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// A kind becomes a status, and the same kind again on the other side.
func TestKinds(t *testing.T) {
	f := func(k poise.Kind, status int, retry string) {
		t.Helper()
		b := apitest.New()
		b.Fault = fmt.Errorf("wrapped: %w", &poise.Error{Kind: k, Op: "get", Detail: "secret: 1, expected 2"})
		s := serve(t, b, generous)
		p := s.refused(status, "GET", "/v1/jobs/a", "")
		if p.Type != kind(k) {
			t.Errorf("type %q, expected %s", p.Type, k)
		}
		answer, _ := s.ask("GET", "/v1/jobs/a", "")
		if got := answer.Header.Get("Retry-After"); got != retry {
			t.Errorf("%s: Retry-After %q, expected %q", k, got, retry)
		}
		_, err := dial(t, s.url).Job(t.Context(), "a")
		if poise.KindOf(err) != k {
			t.Errorf("%s arrives as %s: %v", k, poise.KindOf(err), err)
		}
		// What is internal is for the log alone.
		if inLog, told := strings.Contains(s.log.String(), "secret"), strings.Contains(p.Detail, "secret"); inLog != (k == poise.Internal) || told == inLog {
			t.Errorf("%s: in the log %v, told %v", k, inLog, told)
		}
	}
	f(poise.Internal, 500, "")
	f(poise.NotFound, 404, "")
	f(poise.Conflict, 409, "")
	f(poise.Invalid, 422, "")
	f(poise.Denied, 403, "")
	f(poise.Limit, 429, "1")
	f(poise.Unavailable, 503, "5")
}

// What is wrong with a request is said with its place, all of it at once.
func TestRefusals(t *testing.T) {
	s := serve(t, apitest.New(), generous)
	f := func(status int, method, path, body, detail string, faults ...string) {
		t.Helper()
		p := s.refused(status, method, path, body)
		if !strings.Contains(p.Detail, detail) {
			t.Errorf("%s %s: detail %q, expected %q", method, path, p.Detail, detail)
		}
		var got []string
		for _, d := range p.Errors {
			got = append(got, fmt.Sprintf("%s: %v: %s", d.Location, d.Value, d.Message))
		}
		if strings.Join(got, "\n") != strings.Join(faults, "\n") {
			t.Errorf("%s %s %s: faults\n%s\nexpected\n%s", method, path, body, strings.Join(got, "\n"), strings.Join(faults, "\n"))
		}
	}
	f(404, "GET", "/v1/nothing", "", "no such endpoint")
	f(404, "GET", "/other", "", "no such endpoint")
	f(404, "PATCH", "/v1/jobs", "", "no such endpoint")
	f(404, "GET", "/v1/jobs/a", "", `job "a": no such job`)
	f(422, "GET", "/v1/jobs?limit=0", "", "validation failed", "query.limit: 0: expected number >= 1")
	f(422, "GET", "/v1/jobs?limit=1001", "", "validation failed", "query.limit: 1001: expected number <= 1000")
	f(422, "GET", "/v1/jobs?stat=waiting", "", "validation failed", "query.stat: : unknown query parameter")
	f(422, "GET", "/v1/jobs?after=x", "", `after: "x", expected the next of a page`)
	f(400, "POST", "/v1/jobs", "", "body is required")
	f(422, "POST", "/v1/jobs", "{", "validation failed", "body: {: unexpected end of JSON input")
	f(422, "POST", "/v1/jobs", "{}", "jobs: none")
	f(422, "POST", "/v1/jobs", `{"jobs": []}`, "jobs: none")
	f(422, "POST", "/v1/jobs", `{"jobs": [null]}`, "validation failed", "body.jobs[0]: nothing: expected a mapping of fields to values")
	f(422, "POST", "/v1/jobs", `{"jobs": [{"job": "a", "request": {"cpu": -1, "memory": "1Q", "gpu": 1.5}, "count": 2, "priority": "high"}, {"job": "b", "request": {}}, {"request": {}, "command": []}]}`,
		"validation failed",
		`body.jobs[0].count: unknown field: expected one of job, tenant, priority, run_time, after, request, devices, selectors, tolerations, command, env, dir, image, gang, after_any, after_failure, array, start_by, finish_by, retry, hold, labels`,
		`body.jobs[0].priority: "high": expected a whole number from -2147483648 to 2147483647`,
		`body.jobs[0].request.cpu: "-1" is negative: expected 0 or more`,
		`body.jobs[0].request.memory: "1Q" ends in "Q": expected nothing, an exponent or one of m k M G T P E Ki Mi Gi Ti Pi Ei after the number, such as 512Mi, 1.5Gi or 2G`,
		`body.jobs[0].request.gpu: "1.5": expected whole devices or a share of one, such as 2, 0.5 or 500m`,
		`body.jobs[2].command: an empty list: expected a program and its arguments`,
		`body.jobs[2].job: missing: expected a name`)
	f(403, "POST", "/v1/jobs", `{"jobs": [{"job": "a", "tenant": "other", "request": {}}]}`, `job "a": tenant: "other", expected the caller's own, "default", or none`)
	f(422, "POST", "/v1/plan", `{"job": "a"}`, "validation failed", "body.request: missing: expected amounts such as {cpu: 4, memory: 16Gi}, or {} for none")
	f(422, "POST", "/v1/nodes", `{"node": "n", "capacity": {"gpu": 1}}`, "validation failed", `body.capacity.gpu: "1": expected devices: {kind: gpu, count: N} beside capacity`)
	f(428, "PUT", "/v1/nodes/n", `{"node": "n", "capacity": {"cpu": 1}}`, "If-Match: missing")
	f(422, "POST", "/v1/clusters", `{"name": "c"}`, "expected one of them")
	f(422, "POST", "/v1/clusters", `{"nodes": [{"node": "n", "capacity": {"cpu": 1}}]}`, "name: missing")
	f(422, "POST", "/v1/clusters", `{"name": "c", "nodes": [{"node": "n", "cluster": "d", "capacity": {"cpu": 1}}]}`, `nodes[0].cluster: "d", expected "c" or none`)
	f(422, "POST", "/v1/placements/p/report", `{"state": "waiting"}`, "validation failed", `body.state: waiting: expected value to be one of "starting, running, succeeded, failed, lost"`)
	f(422, "GET", "/v1/jobs/a/logs?stream=both", "", "validation failed", `query.stream: both: expected value to be one of "stdout, stderr"`)
}

func TestContentType(t *testing.T) {
	s := serve(t, apitest.New(), generous)
	f := func(given string, taken bool) {
		t.Helper()
		jobs := `{"jobs": [{"job": "a", "request": {}}]}`
		if taken {
			if answer, text := s.ask("POST", "/v1/jobs", jobs, "Content-Type", given); answer.StatusCode != 201 {
				t.Errorf("%s: %d %s, expected it taken", given, answer.StatusCode, text)
			}
			return
		}
		s.refused(415, "POST", "/v1/jobs", jobs, "Content-Type", given)
	}
	f("application/json", true)
	f("Application/JSON; charset=utf-8", true)
	f("", true)
	f("application/x-www-form-urlencoded", false)
	f("text/plain", false)
	f("application/json;;", false)
}

func TestConditions(t *testing.T) {
	s := serve(t, apitest.New(), generous)
	node := `{"node": "n", "capacity": {"cpu": 1}}`
	answer, _ := s.ask("POST", "/v1/nodes", node)
	tag := answer.Header.Get("ETag")
	if answer.StatusCode != http.StatusCreated || tag != `"1"` {
		t.Fatalf("joined with %d and ETag %q, expected 201 and version 1", answer.StatusCode, tag)
	}
	if answer, text := s.ask("PUT", "/v1/nodes/n", node, "If-Match", tag); answer.StatusCode != 200 || answer.Header.Get("ETag") != `"2"` {
		t.Errorf("update: %d %s, ETag %q, expected version 2", answer.StatusCode, text, answer.Header.Get("ETag"))
	}
	s.refused(409, "PUT", "/v1/nodes/n", node, "If-Match", tag)
	s.refused(422, "PUT", "/v1/nodes/n", node, "If-Match", `W/"x"`)
	if p := s.refused(422, "PUT", "/v1/nodes/m", node, "If-Match", tag); !strings.Contains(p.Detail, `"n", expected the "m" of the path`) {
		t.Errorf("another name than the path's: %s", p.Detail)
	}
}

// The same key with the same jobs is one submission.
func TestKeys(t *testing.T) {
	s := serve(t, apitest.New(), generous)
	jobs := `{"jobs": [{"job": "a", "request": {"cpu": 1}}]}`
	_, first := s.ask("POST", "/v1/jobs", jobs, "Idempotency-Key", "k")
	if answer, second := s.ask("POST", "/v1/jobs", jobs, "Idempotency-Key", "k"); answer.StatusCode != 201 || second != first {
		t.Errorf("again: %d %s, expected %s", answer.StatusCode, second, first)
	}
	s.refused(409, "POST", "/v1/jobs", strings.Replace(jobs, `"cpu": 1`, `"cpu": 2`, 1), "Idempotency-Key", "k")
	s.refused(422, "POST", "/v1/jobs", jobs, "Idempotency-Key", strings.Repeat("k", 256))
	if _, other := s.ask("POST", "/v1/jobs", jobs); other == first {
		t.Error("without a key, the same jobs are the same submission")
	}
	page := must(dial(t, s.url).Jobs(t.Context(), client.JobFilter{}))(t)
	if len(page.Jobs) != 2 {
		t.Errorf("%d jobs, expected 2", len(page.Jobs))
	}
}

// Pages put together are the list: every item once, in order.
func TestPages(t *testing.T) {
	c := overSocket(t, apitest.New())
	var want []string
	for i := range 23 {
		jobs := must(c.Submit(t.Context(), []client.JobSpec{{Name: fmt.Sprint("j", i), Request: map[string]client.Quantity{}}}, ""))(t)
		want = append([]string{jobs[0].ID}, want...)
	}
	f := func(limit int) {
		t.Helper()
		var got []string
		for after, pages := "", 0; ; pages++ {
			page := must(c.Jobs(t.Context(), client.JobFilter{Limit: limit, After: after}))(t)
			for i := range page.Jobs {
				got = append(got, page.Jobs[i].ID)
			}
			if after = page.Next; after == "" {
				break
			}
			if len(page.Jobs) != limit || pages > len(want) {
				t.Fatalf("page %d of %d has %d jobs", pages, limit, len(page.Jobs))
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("pages of %d: %v, expected %v", limit, got, want)
		}
	}
	for limit := 1; limit <= len(want)+1; limit++ {
		f(limit)
	}
}

func TestHealth(t *testing.T) {
	b := apitest.New()
	s := serve(t, b, generous)
	f := func(ready int, change func(*client.Health)) {
		t.Helper()
		b.SetHealth(change)
		if answer, text := s.ask("GET", "/readyz", ""); answer.StatusCode != ready {
			t.Errorf("readyz: %d %s, expected %d", answer.StatusCode, text, ready)
		}
		if answer, _ := s.ask("GET", "/healthz", ""); answer.StatusCode != 200 {
			t.Errorf("healthz: %d, expected 200", answer.StatusCode)
		}
	}
	f(200, func(*client.Health) {})
	f(503, func(h *client.Health) { h.StoreStalled = true })
	f(503, func(h *client.Health) { h.StoreStalled, h.Ready = false, false })
	f(200, func(h *client.Health) { h.Ready, h.ConfigError = true, "api.rate: 0, expected more" })
}

// A daemon that is not there is Unavailable, with what to do about it.
func TestUnreachable(t *testing.T) {
	f := func(address, want string) {
		t.Helper()
		_, err := dial(t, address).Job(t.Context(), "a")
		if poise.KindOf(err) != poise.Unavailable || err.Error() != want {
			t.Errorf("%s: %v (%s), expected %s", address, err, poise.KindOf(err), want)
		}
	}
	missing := t.TempDir() + "/s"
	f("unix:"+missing, "daemon is not reachable at "+missing+": start it with poise serve")
	f("127.0.0.1:1", "daemon is not reachable at 127.0.0.1:1: start it with poise serve")
	if _, err := client.New("ftp://x"); poise.KindOf(err) != poise.Invalid {
		t.Errorf("ftp: %v, expected it refused", err)
	}
	if err := dial(t, missing).Events(t.Context(), 0, func(client.Event) error { return nil }); poise.KindOf(err) != poise.Unavailable {
		t.Errorf("events: %v, expected unavailable", err)
	}
}

// A log that breaks off does not look like one that ends.
func TestBrokenLog(t *testing.T) {
	b := apitest.New()
	b.Output = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("half"), failing{})), nil
	}
	s := serve(t, b, generous)
	c := dial(t, s.url)
	must(c.Submit(t.Context(), []client.JobSpec{{Name: "a", Request: map[string]client.Quantity{}}}, ""))(t)
	log := must(c.Logs(t.Context(), "a", client.LogOptions{}))(t)
	defer log.Close()
	text, err := io.ReadAll(log)
	if string(text) != "half" || err == nil {
		t.Errorf("got %q and %v, expected half of it and an error", text, err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("disk gone") }
