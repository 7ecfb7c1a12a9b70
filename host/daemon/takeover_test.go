package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// commons is a home in memory for several replicas.
type commons struct {
	mu      sync.Mutex
	term    int64
	records map[recordName]kube.Record
	puts    int
	down    error // that every write fails with
}

// seat is one replica's view of it, as of the term in which it began to lead.
type seat struct {
	*commons
	own int64
}

var _ keeper = (*seat)(nil)

func newCommons() *commons { return &commons{records: map[recordName]kube.Record{}} }

// lead gives the view of the replica that leads from now on.
func (c *commons) lead() *seat {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.term++
	return &seat{c, c.term}
}

func (s *seat) Term() int64    { return s.own }
func (s *seat) Leading() error { return nil }

func (s *seat) Records(context.Context) ([]kube.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []kube.Record
	for _, r := range s.records {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b kube.Record) int {
		return strings.Compare(string(a.Kind)+" "+a.Name, string(b.Kind)+" "+b.Name)
	})
	return all, nil
}

func (s *seat) write(f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.own != s.term:
		return &poise.Error{Kind: poise.Conflict, Op: "write", Detail: "another replica leads"}
	case s.down != nil:
		return s.down
	}
	s.puts++
	f()
	return nil
}

func (s *seat) Put(_ context.Context, r kube.Record) error {
	return s.write(func() { s.records[recordName{r.Kind, r.Name}] = r })
}

func (s *seat) Drop(_ context.Context, kind kube.RecordKind, name string) error {
	return s.write(func() { delete(s.records, recordName{kind, name}) })
}

func (c *commons) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for at := range c.records {
		all = append(all, string(at.kind)+" "+at.name)
	}
	slices.Sort(all)
	return all
}

// replica is a daemon with a cluster k of Kubernetes whose changes a test tells.
type replica struct {
	*Daemon
	t    *testing.T
	hook *hook
	end  func() error
}

// leads opens the replica of a data directory as the one that leads.
func leads(t *testing.T, c *commons, dir string) *replica {
	t.Helper()
	d, err := openLed(t.Context(), options(t, dir, settings{"queue.retry_base": "1ms", "queue.retry_max": "5ms", "cluster.home": "poise"}), c.lead())
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{Daemon: d, t: t, hook: hookOn(d, func(int, engine.Binding) error { return nil })}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	r.end = sync.OnceValue(func() error {
		cancel()
		err := <-done
		if closed := d.Close(); closed != nil {
			t.Error(closed)
		}
		return err
	})
	t.Cleanup(func() { _ = r.end() })
	return r
}

func (r *replica) tell(changes ...kube.Change) {
	r.t.Helper()
	k := r.kube("k")
	if err := r.durably(r.t.Context(), func(c *core) error { return c.absorb(k, changes) }); err != nil {
		r.t.Fatal(err)
	}
}

// roomy is a node of four cores with room for pods.
func roomy(name string) poise.Node {
	n := kubeNode(name, 4000)
	n.Capacity = append(n.Capacity, resource.Amount{Name: "pods", Value: 10_000})
	return n
}

func inImage(name, cpu string) client.JobSpec {
	j := job(name, cpu)
	j.Image = "registry.example.org/" + name
	return j
}

// What was acknowledged is known to the next replica that leads: tenants, quotas,
// tokens, plugins, policies, clusters and jobs; those that run go on where they are.
func TestTakeOver(t *testing.T) {
	ctx, c := t.Context(), newCommons()
	file := filepath.Join(t.TempDir(), "config")
	write(t, file, nowhere)
	a := leads(t, c, folder(t))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(a.CreateTenant(ctx, "t"))
	must(a.CreateTenant(ctx, "old"))
	must(a.RemoveTenant(ctx, "old"))
	_, err := a.SetShare(ctx, poise.Tenant{ID: "t", Weight: 3, Quotas: []poise.Quota{{Resource: "cpu", Limit: 200_000}}})
	must(err)
	must(a.AddToken(ctx, access.Token{ID: "tok", Tenant: "t", Role: "operator", Name: "ann"}))
	v := push(t, a.Daemon, "t", firstParty(t, "bestfit"), "latest")
	_, err = a.Activate(ctx, "t", client.ActivationSpec{Plugin: "bestfit"}, "ann")
	must(err)
	spec := client.Kubernetes{Kubeconfig: file}
	must(a.putKube(ctx, "k", spec))
	k, err := a.openKube("k", spec)
	must(err)
	t.Cleanup(k.hands.close)
	a.kubes.mu.Lock()
	a.kubes.all["k"] = k // nobody follows it
	a.kubes.mu.Unlock()
	a.tell(kube.Synced{Nodes: []poise.Node{roomy("a"), roomy("b")}})

	specs := []client.JobSpec{inImage("runs", "3"), inImage("ran", "3"), inImage("ends", "1"), inImage("waits", "100"), inImage("next", "1"), inImage("follows", "1")}
	specs[4].After, specs[5].AfterAny = []string{"waits"}, []string{"ran"}
	jobs, err := a.Submit(ctx, "t", specs, "key")
	must(err)
	for _, i := range []int{0, 1, 2} {
		reaches(t, a.Daemon, jobs[i].ID, client.Running)
	}
	held := inImage("held", "1")
	held.Hold = true
	more, err := a.Submit(ctx, "t", []client.JobSpec{held}, "")
	must(err)
	_, err = a.Cancel(ctx, "t", jobs[2].ID)
	must(err)
	reaches(t, a.Daemon, jobs[2].ID, client.Failed)
	runs, ran := reaches(t, a.Daemon, jobs[0].ID, client.Running), reaches(t, a.Daemon, jobs[1].ID, client.Running)
	eventually(t, "all at home", func() bool {
		names := strings.Join(c.names(), "\n")
		return strings.Contains(names, "job "+more[0].ID) && strings.Count(names, "job ") == 7
	})

	dir := folder(t)
	b := leads(t, c, dir) // a neither knows nor has ended
	if got := fmt.Sprint(b.Tenants()); got != "[t]" {
		t.Errorf("tenants %s", got)
	}
	if _, err := b.Token(ctx, "tok"); err != nil {
		t.Error(err)
	}
	p, err := b.Policy(ctx, "t")
	if err != nil || len(p.Layers) != 1 || p.Layers[0].Digest != v.Digest || p.Layers[0].By != "ann" || p.Layers[0].Fault != "" {
		t.Errorf("policy %+v, %v", p, err)
	}
	if share, err := b.Share(ctx, "t"); err != nil || share.Weight != 3 || len(share.Quotas) != 1 {
		t.Errorf("share %+v, %v", share, err)
	}
	for i, want := range []client.JobState{client.Running, client.Running, client.Failed, client.Waiting, client.Waiting, client.Waiting} {
		if j, err := b.Job(ctx, "t", jobs[i].ID); err != nil || j.State != want || !j.Submitted.Equal(jobs[i].Submitted) {
			t.Errorf("%s: %+v, %v", specs[i].Name, j, err)
		}
	}
	if j, err := b.Job(ctx, "t", "held"); err != nil || j.State != client.Waiting || j.Reason != "held by t" {
		t.Errorf("held: %+v, %v", j, err)
	}
	if _, err := b.Cancel(ctx, "t", "runs"); poise.KindOf(err) != poise.Unavailable {
		t.Errorf("%v, expected that it is not known yet", err)
	}
	again, err := b.Submit(ctx, "t", specs, "key")
	if err != nil || again[0].ID != jobs[0].ID {
		t.Errorf("%+v, %v, expected the jobs of before", again, err)
	}

	// One node is there, and the other has gone with its task.
	here, gone := runs, ran
	node := strings.TrimPrefix(here.Node, "k/")
	b.tell(kube.Synced{Nodes: []poise.Node{roomy(node)}})
	if j := reaches(t, b.Daemon, here.ID, client.Running); j.Placement != here.Placement || j.Node != here.Node {
		t.Errorf("%+v, expected it where it was", j)
	}
	if j := reaches(t, b.Daemon, gone.ID, client.Lost); !strings.Contains(j.Detail, "its node "+gone.Node+" is gone") {
		t.Errorf("%+v", j)
	}
	eventually(t, "both bound", func() bool { return len(b.hook.bound()) == 2 })
	if got := b.hook.bound(); len(got) != 2 || got[0] != here.Placement {
		t.Errorf("binds %v, expected that of %s again", got, here.Placement)
	}
	reaches(t, b.Daemon, jobs[5].ID, client.Running) // it came after the one that is lost
	if got := idle(t, b.Daemon, node); got != "0" {
		t.Errorf("idle %s", got)
	}

	// The one of before finds out when it writes.
	if _, err := a.Submit(ctx, "t", []client.JobSpec{inImage("late", "1")}, ""); err == nil {
		t.Error("no error, expected that it does not lead any more")
	}
	if err := a.end(); poise.KindOf(err) != poise.Conflict {
		t.Errorf("%v, expected a conflict", err)
	}
	if j, err := b.Job(ctx, "t", "late"); poise.KindOf(err) != poise.NotFound {
		t.Errorf("%+v, %v", j, err)
	}

	// What it took over is a history like any: it is replayed and gone on with.
	if err := b.end(); err != nil {
		t.Fatal(err)
	}
	o := options(t, dir, nil)
	r, err := Replay(ctx, &o.Config.Current().Config, ReplayOptions{From: 1, RerunGuests: true, Compile: o.Compile})
	if err != nil || r.Index != 0 || r.Decisions == 0 {
		t.Errorf("%+v, %v, expected the same decisions", r, err)
	}
	b = leads(t, c, dir)
	if j := reaches(t, b.Daemon, here.ID, client.Running); j.Placement != here.Placement {
		t.Errorf("%+v", j)
	}
}

// Who leads again after itself goes on with its history; after somebody else it begins
// a new one.
func TestLeadAgain(t *testing.T) {
	ctx, c, dir := t.Context(), newCommons(), folder(t)
	r := leads(t, c, dir)
	if err := r.CreateTenant(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Submit(ctx, "t", []client.JobSpec{inImage("j", "1")}, ""); err != nil {
		t.Fatal(err)
	}
	again := func() uint64 {
		t.Helper()
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		before := r.store.Last()
		r = leads(t, c, dir)
		if j, err := r.Job(ctx, "t", "j"); err != nil || j.State != client.Waiting {
			t.Errorf("%+v, %v", j, err)
		}
		if got := fmt.Sprint(r.Tenants()); got != "[t]" {
			t.Errorf("tenants %s", got)
		}
		return before
	}
	puts := c.puts
	if before := again(); r.store.Last() < before {
		t.Errorf("last event %d, expected the history of before with %d", r.store.Last(), before)
	}
	if c.puts != puts {
		t.Errorf("%d records written, expected none: all are there", c.puts-puts)
	}
	c.lead() // of somebody else
	if before := again(); r.store.Last() >= before+1 {
		t.Errorf("last event %d, expected a history that is shorter than %d", r.store.Last(), before)
	}
}

// What is acknowledged is at home: while that takes no records, a submission has no
// answer but that, and it is done later all the same.
func TestHomeIsDown(t *testing.T) {
	ctx, c := t.Context(), newCommons()
	r := leads(t, c, folder(t))
	down := func(err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.down = err
	}
	down(&poise.Error{Kind: poise.Unavailable, Op: "put", Detail: "no route"})
	if _, err := r.Submit(ctx, "default", []client.JobSpec{inImage("j", "1")}, "key"); poise.KindOf(err) != poise.Unavailable {
		t.Fatalf("%v, expected that it is not available", err)
	}
	down(nil)
	jobs, err := r.Submit(ctx, "default", []client.JobSpec{inImage("j", "1")}, "key")
	if err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(c.names(), " "); !strings.Contains(names, "job "+jobs[0].ID) || strings.Count(names, "job ") != 1 {
		t.Errorf("records %s", names)
	}
	large := inImage("large", "1")
	large.Env = map[string]string{"A": strings.Repeat("a", maxHomeJob)}
	if _, err := r.Submit(ctx, "default", []client.JobSpec{large}, ""); poise.KindOf(err) != poise.Invalid || !strings.Contains(err.Error(), "expected at most") {
		t.Errorf("%v", err)
	}
}
