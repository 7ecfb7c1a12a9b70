package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
)

// hook is the sim engine with a word to say about each bind.
type hook struct {
	binder
	mu    sync.Mutex
	binds []string // placements, in order
	seen  engine.Binding
	says  func(n int, b engine.Binding) error
	// budgets are placements whose end is forbidden.
	budgets map[string]bool
	ends    []string            // placements that were evicted, in order
	told    map[string][]string // by pod, why it waits, and on which node others make room
	untold  int                 // so many more times that cannot be written
	gave    []string            // placements that ended for another one, and for whom
}

// Evict implements binder: a pod ends at once, unless a budget forbids it.
func (h *hook) Evict(ctx context.Context, placement string, grace poise.Span) error {
	h.mu.Lock()
	refused := h.budgets[placement]
	if h.ends = append(h.ends, placement); refused {
		h.ends[len(h.ends)-1] += " refused"
	}
	h.mu.Unlock()
	if refused {
		return &poise.Error{Kind: poise.Limit, Op: "evict", Detail: "a disruption budget"}
	}
	return h.binder.Evict(ctx, placement, grace)
}

// Waits implements teller.
func (h *hook) Waits(_ context.Context, job poise.JobID, reason, node string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.untold > 0 {
		h.untold--
		return &poise.Error{Kind: poise.Unavailable, Op: "say why it waits"}
	}
	if h.told == nil {
		h.told = map[string][]string{}
	}
	text, of := reason+" @ "+node, h.told[string(job)]
	if len(of) == 0 || of[len(of)-1] != text {
		h.told[string(job)] = append(of, text)
	}
	return nil
}

// Preempted implements teller.
func (h *hook) Preempted(placement, by string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gave = append(h.gave, placement+" for "+by)
}

// heard gives what a pod was made to say, in order, and what was evicted.
func (h *hook) heard(pod string) (told, ends []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.told[pod]), slices.Clone(h.ends)
}

func (h *hook) Bind(ctx context.Context, b engine.Binding) error {
	h.mu.Lock()
	h.binds, h.seen = append(h.binds, b.Placement), b
	n := len(h.binds)
	h.mu.Unlock()
	if err := h.says(n, b); err != nil {
		return err
	}
	return h.binder.Bind(ctx, b)
}

func (h *hook) bound() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.binds)
}

// last gives the binding that was seen last.
func (h *hook) last() engine.Binding {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen
}

// hookOn has the binds of a daemon that does not run yet hooked.
func hookOn(d *Daemon, says func(n int, b engine.Binding) error) *hook {
	h := &hook{binder: d.sim, says: says}
	d.core.engines = func(string) binder { return h }
	return h
}

// hooked runs a daemon with a node n0 of four cores whose binds are hooked, with more
// settings, each a name and a text.
func hooked(t *testing.T, says func(n int, b engine.Binding) error, more ...string) (*Daemon, *hook) {
	t.Helper()
	with := settings{"queue.retry_base": "1ms", "queue.retry_max": "5ms"}
	for i := 0; i < len(more); i += 2 {
		with[more[i]] = more[i+1]
	}
	d, err := Open(t.Context(), options(t, folder(t), with))
	if err != nil {
		t.Fatal(err)
	}
	h := hookOn(d, says)
	run(t, d)
	if _, err := d.JoinCluster(t.Context(), "c", nodes("n", 1, "4"), ""); err != nil {
		t.Fatal(err)
	}
	return d, h
}

// askJob submits a job that takes a whole node and gives its id.
func askJob(t *testing.T, d *Daemon) string {
	t.Helper()
	jobs, err := d.Submit(t.Context(), "t", []client.JobSpec{job("a", "4")}, "")
	if err != nil {
		t.Fatal(err)
	}
	return jobs[0].ID
}

func reaches(t *testing.T, d *Daemon, id string, state client.JobState) client.Job {
	t.Helper()
	var j client.Job
	eventually(t, string(state), func() bool {
		var err error
		j, err = d.Job(t.Context(), "t", id)
		return err == nil && j.State == state
	})
	return j
}

// A bind that fails is tried again in place; the node stays taken meanwhile, and
// is freed once when it is given up.
func TestBindFails(t *testing.T) {
	busy := &poise.Error{Kind: poise.Unavailable, Op: "bind", Detail: "busy"}
	f := func(fails int, want ...string) {
		t.Helper()
		d, h := hooked(t, func(n int, _ engine.Binding) error {
			if n <= fails {
				return busy
			}
			return nil
		})
		j := reaches(t, d, askJob(t, d), client.Running)
		var pattern []string
		names := map[string]string{}
		for _, p := range h.bound() {
			if names[p] == "" {
				names[p] = fmt.Sprint("p", len(names)+1)
			}
			pattern = append(pattern, names[p])
		}
		if !slices.Equal(pattern, want) || names[j.Placement] != want[len(want)-1] {
			t.Errorf("binds %v, runs as %s, expected %v", pattern, names[j.Placement], want)
		}
		if n, err := d.Node(t.Context(), "n0"); err != nil || n.Tasks != 1 || n.Idle["cpu"] != "0" {
			t.Errorf("%+v, %v, expected one task that takes all", n, err)
		}
	}
	f(0, "p1")
	f(1, "p1", "p1")
	f(maxBinds-1, "p1", "p1", "p1")
	f(maxBinds, "p1", "p1", "p1", "p2")
	f(2*maxBinds+1, "p1", "p1", "p1", "p2", "p2", "p2", "p3", "p3")
}

// A bind that had its effect and no answer is no second run.
func TestBindWithoutAnswer(t *testing.T) {
	var d *Daemon
	d, h := hooked(t, func(_ int, b engine.Binding) error {
		if err := d.sim.Bind(context.Background(), b); err != nil {
			return err
		}
		return &poise.Error{Kind: poise.Unavailable, Op: "bind", Detail: "no answer"}
	})
	id := askJob(t, d)
	eventually(t, "an end or a run", func() bool {
		j, err := d.Job(t.Context(), "t", id)
		return err == nil && (j.State == client.Running || j.State.Ended())
	})
	if all := h.bound(); slices.ContainsFunc(all, func(p string) bool { return p != all[0] }) {
		t.Errorf("binds %v, expected one placement", all)
	}
}

func TestBindRefused(t *testing.T) {
	d, _ := hooked(t, func(int, engine.Binding) error {
		return &poise.Error{Kind: poise.Invalid, Op: "bind", Detail: "command: strange"}
	})
	if j := reaches(t, d, askJob(t, d), client.Failed); !strings.Contains(j.Detail, "command: strange") {
		t.Errorf("%+v", j)
	}
	if n, err := d.Node(t.Context(), "n0"); err != nil || n.Tasks != 0 {
		t.Errorf("%+v, %v, expected no task", n, err)
	}
}

// An engine that hangs holds up its own tasks only: no answer, no end of another
// task, no other cancel.
func TestSlowEngine(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{}, 1)
	d, _ := hooked(t, func(_ int, b engine.Binding) error {
		if b.Name == "slow" {
			entered <- struct{}{}
			<-release
		}
		return nil
	})
	ctx := t.Context()
	submit := func(name string) string {
		t.Helper()
		jobs, err := d.Submit(ctx, "t", []client.JobSpec{job(name, "100m")}, "")
		if err != nil {
			t.Fatal(err)
		}
		return jobs[0].ID
	}
	slow := submit("slow")
	<-entered
	for range 5 {
		id := submit("quick")
		reaches(t, d, id, client.Running)
		if _, err := d.Cancel(ctx, "t", id); err != nil {
			t.Fatal(err)
		}
		reaches(t, d, id, client.Failed)
	}
	if j := reaches(t, d, slow, client.Starting); j.Placement == "" {
		t.Errorf("%+v", j)
	}
	done := make(chan error, 1)
	go func() { _, err := d.Cancel(ctx, "t", slow); done <- err }()
	select {
	case err := <-done:
		t.Errorf("%v: answered before the engine knows the task", err)
	default:
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if j := reaches(t, d, slow, client.Failed); j.Detail != cancelled {
		t.Errorf("%+v", j)
	}
}

// What is to be done for one placement is done in order, and all of it.
func TestHands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHands(engineHands)
		var mu sync.Mutex
		done := map[string][]int{}
		under := map[string]bool{}
		var all sync.WaitGroup
		counts := map[string]int{}
		for range rapid.IntRange(0, 60).Draw(t, "things") {
			p := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}).Draw(t, "placement")
			i := counts[p]
			counts[p]++
			all.Add(1)
			h.do(p, func() {
				defer all.Done()
				mu.Lock()
				if under[p] {
					t.Errorf("%s: two at one time", p)
				}
				under[p] = true
				if len(under) > engineHands {
					t.Errorf("%d at one time", len(under))
				}
				mu.Unlock()
				mu.Lock()
				delete(under, p)
				done[p] = append(done[p], i)
				mu.Unlock()
			})
		}
		all.Wait()
		h.close()
		for p, n := range counts {
			if len(done[p]) != n || !slices.IsSorted(done[p]) {
				t.Errorf("%s: %v, expected 0 to %d in order", p, done[p], n-1)
			}
		}
		h.do("late", func() { t.Error("done after the end") })
	})
}
