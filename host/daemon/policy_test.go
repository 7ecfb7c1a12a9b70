package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/poise"
)

// plugin is a first-party plugin of which the decisions tell that it is used.
const plugin = "../../plugins/dotproduct/dotproduct.wasm"

// The policy changes while jobs flow: no job is lost, each is decided by one
// policy, and a file that is wrong changes nothing.
func TestPolicyReload(t *testing.T) {
	path, err := filepath.Abs(plugin)
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t)
	w := serve(t, dir, nil)
	w.join("c", nodes("n", 4, "1000"))
	stop := make(chan struct{})
	flow := make(chan []string)
	go func() {
		var ids []string
		defer func() { flow <- ids }()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			jobs, err := w.Submit(t.Context(), []client.JobSpec{job(fmt.Sprint("f", i), "1m")}, "")
			if err != nil {
				t.Error(err)
				return
			}
			ids = append(ids, jobs[0].ID)
		}
	}()
	policyOf := func() string {
		t.Helper()
		id := w.submit(job("probe", "1m"))[0].ID
		w.until(id, client.Running)
		why, err := w.Why(t.Context(), id)
		if err != nil || why.Decision == nil {
			t.Fatalf("%+v, %v", why, err)
		}
		return why.Decision.Policy
	}
	native := policyOf()
	with := fmt.Sprintf("policy: {path: %q}\n", path)
	for round := range 3 {
		write(t, filepath.Join(dir, "poise.yaml"), with)
		eventually(t, "decisions of the plugin", func() bool { return policyOf() != native })
		if round == 1 {
			// A file with no module in it, and one that is no configuration.
			bad := filepath.Join(dir, "bad.wasm")
			write(t, bad, "no module")
			write(t, filepath.Join(dir, "poise.yaml"), fmt.Sprintf("policy: {path: %q}\n", bad))
			eventually(t, "the module refused", func() bool { return w.live.Status().Err != nil })
			if policyOf() == native {
				t.Error("a bad module put the plugin out of force")
			}
			if h, err := w.Health(t.Context()); err != nil || !strings.Contains(h.ConfigError, "bad.wasm") {
				t.Errorf("%+v, %v, expected the error", h, err)
			}
			write(t, filepath.Join(dir, "poise.yaml"), with)
			eventually(t, "the error to be over", func() bool { return w.live.Status().Err == nil })
		}
		write(t, filepath.Join(dir, "poise.yaml"), "{}\n")
		eventually(t, "native decisions", func() bool { return policyOf() == native })
	}
	close(stop)
	ids := <-flow
	for _, id := range ids {
		w.until(id, client.Running)
	}
	t.Logf("%d jobs", len(ids))
	w.checkSums()
}

// A policy that is replaced leaves nothing behind, however often.
func TestManyReloads(t *testing.T) {
	path, err := filepath.Abs(plugin)
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, folder(t), settings{"policy.path": path})
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "c", nodes("n", 2, "1000"), ""); err != nil {
		t.Fatal(err)
	}
	round := func() {
		t.Helper()
		if err := d.apply(ctx, &d.options.Config.Current().Config); err != nil {
			t.Fatal(err)
		}
		jobs, err := d.Submit(ctx, "t", []client.JobSpec{job("a", "1m")}, "")
		if err != nil {
			t.Fatal(err)
		}
		reaches(t, d, jobs[0].ID, client.Running)
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // what finalizers let go of
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for range 10 {
		round()
	}
	before, goroutines := heap(), runtime.NumGoroutine()
	for range 60 {
		round()
	}
	// An instance has 64 KiB of memory at least, and a policy two of them.
	if after := heap(); after > before+60*128<<10/2 {
		t.Errorf("heap %d KiB, before 60 reloads %d KiB", after>>10, before>>10)
	}
	if n := runtime.NumGoroutine(); n > goroutines+5 {
		t.Errorf("%d goroutines, before 60 reloads %d", n, goroutines)
	}
}

// The daemon does not start with a plugin that it cannot use, and says why.
func TestBadPolicy(t *testing.T) {
	dir := folder(t)
	bad := filepath.Join(dir, "bad.wasm")
	write(t, bad, "no module")
	_, err := Open(t.Context(), options(t, dir, settings{"policy.path": bad}))
	if err == nil || !strings.Contains(err.Error(), "bad.wasm") {
		t.Errorf("%v, expected the module refused", err)
	}
	_, err = Open(t.Context(), options(t, dir, settings{"policy.path": filepath.Join(dir, "none.wasm")}))
	refused(t, err, poise.NotFound, "policy.path")
	d, err := Open(t.Context(), options(t, dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(plugin); err != nil {
		t.Error(err)
	}
}

// The log follows the level of a configuration that was taken up.
func TestLogLevelFollows(t *testing.T) {
	dir := folder(t)
	o := options(t, dir, nil)
	o.Level = new(slog.LevelVar)
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	write(t, filepath.Join(dir, "poise.yaml"), "log: {level: debug}\n")
	if s := o.Config.Reload(func(c *config.Config) error { return d.apply(ctx, c) }); s.Err != nil || o.Level.Level() != slog.LevelDebug {
		t.Errorf("%+v, level %v, expected debug", s, o.Level.Level())
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// Nodes join and classes are rebuilt while a plugin is at work on another
// goroutine.
func TestFleetChangesWhilePlanning(t *testing.T) {
	path, err := filepath.Abs(plugin)
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, folder(t), settings{"policy.path": path})
	ctx := t.Context()
	stop := make(chan struct{})
	done := make(chan struct{})
	var ids []string
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			jobs, err := d.Submit(ctx, "t", []client.JobSpec{job("a", "1m"), job("b", "2m")}, "")
			if err != nil {
				t.Error(err)
				return
			}
			ids = append(ids, jobs[0].ID, jobs[1].ID)
		}
	}()
	for i := range 20 {
		if _, err := d.JoinCluster(ctx, fmt.Sprint("c", i), nodes(fmt.Sprintf("c%d-", i), 3, fmt.Sprint(1<<(i%6))), ""); err != nil {
			t.Fatal(err)
		}
		if _, err := d.RebuildClasses(ctx); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-done
	for _, id := range ids {
		reaches(t, d, id, client.Running)
	}
}
