// Package apitest has a Backend in memory, the twin of the daemon for tests of
// the API, its client and the commands. It may import host/api/client and
// host/poise. It keeps the promises of api.Backend, keys, versions, order and
// resumption of events included, but it decides nothing: jobs end, and decisions
// are made, where a test says so.
package apitest

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// Backend is a daemon without a scheduler. All fields but those that a test may
// set are guarded by its lock.
type Backend struct {
	// What a test may set before the first request.
	Output   func() (io.ReadCloser, error) // of every job's task
	Decision *poise.Decision               // on every job
	Found    []client.Class
	Fault    error // every call gives it
	// AuditFault is what Record gives.
	AuditFault error

	mu       sync.Mutex
	jobs     []client.Job // in order of submission
	keys     map[string]submission
	nodes    map[string]client.Node
	joined   uint64
	follow   map[string]string // inventories, by cluster
	made     []client.DecisionRecord
	reports  map[string]client.TaskReport
	events   []client.Event
	happened chan struct{} // closed at the next event
	health   client.Health
	tenants  []poise.TenantID                // that were created
	shares   map[poise.TenantID]poise.Tenant // what SetShare was given
	tokens   []access.Token
	lookups  int
	audit    []client.AuditRecord
	shadows  map[poise.TenantID]client.Shadow
	cases    client.RecordedCases
	scene    client.Scene
	plugins  []pushed                                // in order of their push
	force    map[poise.TenantID][]client.PolicyLayer // the one in force last
}

type submission struct {
	specs []client.JobSpec
	jobs  []client.Job
}

// New gives a daemon that has nothing and is ready.
func New() *Backend {
	return &Backend{
		keys: map[string]submission{}, nodes: map[string]client.Node{}, follow: map[string]string{}, reports: map[string]client.TaskReport{},
		force: map[poise.TenantID][]client.PolicyLayer{}, shadows: map[poise.TenantID]client.Shadow{}, happened: make(chan struct{}), health: client.Health{Ready: true, Version: "test", Uptime: 1.5},
		Output: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("")), nil },
	}
}

// at is when everything happens.
var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// happen adds an event; the lock is held.
func (b *Backend) happen(kind, job, node string) {
	b.health.LastEvent++
	b.events = append(b.events, client.Event{Index: b.health.LastEvent, At: at, Kind: kind, Job: job, Node: node, Body: []byte(`{}`)})
	close(b.happened)
	b.happened = make(chan struct{})
}

// SetHealth sets what the daemon says of itself.
func (b *Backend) SetHealth(f func(*client.Health)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.health)
}

// End lets a job end.
func (b *Backend) End(nameOrID string, state client.JobState, code int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	j := b.find("", nameOrID)
	j.State, j.ExitCode, j.Node, j.Ended = state, &code, "n1", at
	b.happen("job-finished", j.ID, "")
}

// Decided adds a decision to the list.
func (b *Backend) Decided(r client.DecisionRecord) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made = append(b.made, r)
}

// Reports gives what executors said, by placement.
func (b *Backend) Reports() map[string]client.TaskReport {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reports
}

// begin locks, or gives the fault.
func (b *Backend) begin() error {
	if b.Fault != nil {
		return b.Fault
	}
	b.mu.Lock()
	return nil
}

// find gives a job of a tenant, or of any for "".
func (b *Backend) find(tenant poise.TenantID, nameOrID string) *client.Job {
	mine := func(i int) bool { return tenant == "" || b.jobs[i].Tenant == string(tenant) }
	for i := range b.jobs {
		if mine(i) && b.jobs[i].ID == nameOrID {
			return &b.jobs[i]
		}
	}
	for i := len(b.jobs) - 1; i >= 0; i-- {
		if mine(i) && b.jobs[i].Name == nameOrID {
			return &b.jobs[i]
		}
	}
	return nil
}

func missing(thing, name string) error {
	return &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("%s %q", thing, name), Detail: "no such " + thing}
}

// Submit implements api.Backend.
func (b *Backend) Submit(_ context.Context, tenant poise.TenantID, specs []client.JobSpec, key string) ([]client.Job, error) {
	if err := b.begin(); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	if known, ok := b.keys[string(tenant)+" "+key]; ok && key != "" {
		if !reflect.DeepEqual(known.specs, specs) {
			return nil, &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("key %q", key), Detail: "other jobs were submitted under it"}
		}
		return known.jobs, nil
	}
	var made []client.Job
	for i := range specs {
		j := client.Job{
			ID: fmt.Sprintf("id-%d", len(b.jobs)+1), Name: specs[i].Name, Tenant: string(tenant), State: client.Waiting,
			Spec: specs[i], Submitted: at,
		}
		b.jobs = append(b.jobs, j)
		made = append(made, j)
		b.happen("job-submitted", j.ID, "")
	}
	b.keys[string(tenant)+" "+key] = submission{specs, made}
	return made, nil
}

// Job implements api.Backend.
func (b *Backend) Job(_ context.Context, tenant poise.TenantID, nameOrID string) (client.Job, error) {
	if err := b.begin(); err != nil {
		return client.Job{}, err
	}
	defer b.mu.Unlock()
	if j := b.find(tenant, nameOrID); j != nil {
		return *j, nil
	}
	return client.Job{}, missing("job", nameOrID)
}

// Jobs implements api.Backend.
func (b *Backend) Jobs(_ context.Context, tenant poise.TenantID, f client.JobFilter) (client.JobPage, error) {
	if err := b.begin(); err != nil {
		return client.JobPage{}, err
	}
	defer b.mu.Unlock()
	var selectors []poise.Selector
	if f.Selector != "" {
		var err error
		if selectors, err = poise.ParseSelectors(f.Selector); err != nil {
			return client.JobPage{}, err
		}
	}
	var newest []client.Job
	for i := len(b.jobs) - 1; i >= 0; i-- {
		j := &b.jobs[i]
		if (tenant == "" || j.Tenant == string(tenant)) && (f.State == "" || f.State == j.State) && (f.Name == "" || f.Name == j.Name) && (f.Node == "" || f.Node == j.Node) && matches(j, selectors) {
			newest = append(newest, *j)
		}
	}
	jobs, next, err := page(newest, f.Limit, f.After)
	return client.JobPage{Jobs: jobs, Next: next}, err
}

// page gives the items behind a cursor, which is the number of those before.
func page[T any](list []T, limit int, after string) ([]T, string, error) {
	from := 0
	if after != "" {
		if _, err := fmt.Sscan(after, &from); err != nil || from < 0 || from > len(list) {
			return nil, "", &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("after: %q, expected the next of a page", after)}
		}
	}
	to := min(from+limit, len(list))
	next := ""
	if to < len(list) {
		next = fmt.Sprint(to)
	}
	return append([]T{}, list[from:to]...), next, nil
}

// Cancel implements api.Backend.
func (b *Backend) Cancel(_ context.Context, tenant poise.TenantID, nameOrID string) (client.Job, error) {
	if err := b.begin(); err != nil {
		return client.Job{}, err
	}
	defer b.mu.Unlock()
	j := b.find(tenant, nameOrID)
	if j == nil {
		return client.Job{}, missing("job", nameOrID)
	}
	if !j.State.Ended() {
		j.State = client.Withdrawn
		b.happen("job-withdrawn", j.ID, "")
	}
	return *j, nil
}

// Why implements api.Backend.
func (b *Backend) Why(ctx context.Context, tenant poise.TenantID, nameOrID string) (client.Why, error) {
	j, err := b.Job(ctx, tenant, nameOrID)
	w := client.Why{Job: j}
	if err == nil && b.Decision != nil {
		w.Attempt, w.At, w.Decision = 1, at, client.NewDecision(b.Decision)
	}
	return w, err
}

// PlanAll implements api.Backend: Decision is on every job, and one that is placed
// starts at once.
func (b *Backend) PlanAll(_ context.Context, tenant poise.TenantID, specs []client.JobSpec) (client.Outlook, error) {
	out := client.Outlook{From: at, Until: at, Jobs: []client.Expectation{}}
	for i := range specs {
		x := client.Expectation{Job: specs[i].Name, Tenant: string(tenant)}
		if d := b.Decision; d != nil {
			x.Decision, x.Note, x.Node = client.NewDecision(d), d.Verdict.String(), d.Node
			if d.Verdict == poise.Placed {
				x.Start, x.Note = at, "starts at once"
			}
		}
		out.Jobs = append(out.Jobs, x)
	}
	return out, b.Fault
}

// Plan implements api.Backend.
func (b *Backend) Plan(_ context.Context, tenant poise.TenantID, spec client.JobSpec) (client.Why, error) {
	w := client.Why{Job: client.Job{Name: spec.Name, Tenant: string(tenant), State: client.Waiting, Spec: spec}}
	if b.Decision != nil {
		w.Decision = client.NewDecision(b.Decision)
	}
	return w, b.Fault
}

// PlanGang implements api.Backend.
func (b *Backend) PlanGang(ctx context.Context, tenant poise.TenantID, specs []client.JobSpec) ([]client.Why, error) {
	list := make([]client.Why, len(specs))
	for i := range specs {
		var err error
		if list[i], err = b.Plan(ctx, tenant, specs[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Logs implements api.Backend.
func (b *Backend) Logs(ctx context.Context, tenant poise.TenantID, nameOrID string, _ client.LogOptions) (io.ReadCloser, error) {
	if _, err := b.Job(ctx, tenant, nameOrID); err != nil {
		return nil, err
	}
	return b.Output()
}

// Classes implements api.Backend.
func (b *Backend) Classes(context.Context) ([]client.Class, error) { return b.Found, b.Fault }

// RebuildClasses implements api.Backend.
func (b *Backend) RebuildClasses(context.Context) ([]client.Class, error) {
	if err := b.begin(); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	b.happen("model-built", "", "")
	return b.Found, nil
}

// Decisions implements api.Backend.
func (b *Backend) Decisions(_ context.Context, tenant poise.TenantID, f client.DecisionFilter) (client.DecisionPage, error) {
	if err := b.begin(); err != nil {
		return client.DecisionPage{}, err
	}
	defer b.mu.Unlock()
	var newest []client.DecisionRecord
	for i := len(b.made) - 1; i >= 0; i-- {
		r := &b.made[i]
		if (tenant == "" || r.Tenant == string(tenant)) && (f.Job == "" || f.Job == r.Name || f.Job == r.Decision.Job) && (f.Node == "" || f.Node == r.Decision.Node) && (f.Verdict == "" || f.Verdict == r.Decision.Verdict) {
			newest = append(newest, *r)
		}
	}
	list, next, err := page(newest, f.Limit, f.After)
	return client.DecisionPage{Decisions: list, Next: next}, err
}

// Events implements api.Backend.
func (b *Backend) Events(ctx context.Context, tenant poise.TenantID, after uint64, fn func(client.Event) error) error {
	for {
		if err := b.begin(); err != nil {
			return err
		}
		news, more := b.events[min(after, uint64(len(b.events))):], b.happened
		b.mu.Unlock()
		for _, e := range news {
			after = e.Index
			if e.Job != "" && b.jobOf(tenant, e.Job) == nil {
				continue
			}
			if err := fn(e); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-more:
		}
	}
}

func (b *Backend) jobOf(tenant poise.TenantID, id string) *client.Job {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.find(tenant, id)
}

// Health implements api.Backend.
func (b *Backend) Health(context.Context) client.Health {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.health
}
