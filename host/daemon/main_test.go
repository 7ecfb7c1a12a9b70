package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/poise-sched/poise/abi/conformance"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/engine/local"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/resource"
)

// The test binary is its own shim and its own compile child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "task-shim":
			os.Exit(local.RunShim(os.Args[2:]))
		case "plugin-compile":
			os.Exit(policy.RunCompileChild(os.Stdin, os.Stdout, os.Args[2:]))
		case "plugin-conform":
			os.Exit(conformance.RunChild(os.Stdin, os.Stdout, os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if childDir != "" {
			_ = os.RemoveAll(childDir)
		}
		os.Exit(code)
	}))
}

// built is poise without the race detector, for the children that examine plugins:
// they have one goroutine, and with it would take ten times as long.
var built = sync.OnceValues(func() (string, error) {
	var err error
	if childDir, err = os.MkdirTemp("", "poise-child-"); err != nil {
		return "", err
	}
	path := filepath.Join(childDir, "poise")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/poise").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the child: %w\n%s", err, out)
	}
	return path, nil
})

var childDir string

// child is the program that examines plugins: this one, or one that is faster.
func child(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	if raced {
		self, err = built()
	}
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// patience is far beyond what anything here takes.
const patience = 60 * time.Second

// settings are those of a daemon, by name.
type settings map[string]string

// world is a daemon under test, asked over its socket.
type world struct {
	*client.Client
	t    testing.TB
	dir  string
	live *config.Live
	stop func()
}

// folder is a directory with a name short enough for a socket in it, in memory
// where that is to be had: what a power cut does is a matter of package store.
func folder(t testing.TB) string {
	t.Helper()
	parent := "/dev/shm"
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		parent = ""
	}
	dir, err := os.MkdirTemp(parent, "poise")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// environ gives the settings of a daemon on dir as environment variables.
func environ(dir string, s settings) []string {
	all := settings{"data_dir": filepath.Join(dir, "data"), "api.listen": "127.0.0.1:0", "api.rate": "1000000", "api.burst": "1000000", "engine.kind": "sim", "engine.sim_scale": "1"}
	maps.Copy(all, s)
	var env []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		variable := "POISE_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
		env = append(env, variable+"="+all[name])
	}
	return env
}

func options(t testing.TB, dir string, s settings) Options {
	t.Helper()
	file := filepath.Join(dir, "poise.yaml")
	if _, err := os.Stat(file); err != nil {
		write(t, file, "{}\n")
	}
	live, err := config.Open(config.Options{File: file, Env: environ(dir, s)})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Config: live, Version: "test", Shim: []string{self, "task-shim"}, Compile: []string{self, "plugin-compile"}, Conform: []string{child(t), "plugin-conform"},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

// serve runs a daemon on dir until the test or stop ends it.
func serve(t testing.TB, dir string, s settings) *world {
	t.Helper()
	o := options(t, dir, s)
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- Serve(ctx, o, func(_, socket string) { ready <- socket }) }()
	w := &world{t: t, dir: dir, live: o.Config}
	select {
	case socket := <-ready:
		var err error
		if w.Client, err = client.New(socket); err != nil {
			t.Fatal(err)
		}
	case err := <-done:
		cancel()
		t.Fatal(err)
	}
	w.stop = sync.OnceFunc(func() {
		w.Close()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.stop)
	return w
}

// again stops the daemon and starts one on the same directory.
func (w *world) again(s settings) *world {
	w.t.Helper()
	w.stop()
	return serve(w.t, w.dir, s)
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for a condition that no event tells of.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("never came: %s", what)
		}
	}
}

// job is a spec of a job with a CPU request.
func job(name, cpu string, command ...string) client.JobSpec {
	if len(command) == 0 {
		command = []string{"true"}
	}
	return client.JobSpec{Name: name, Request: map[string]client.Quantity{"cpu": client.Quantity(cpu)}, Command: command}
}

// sh is a job that runs a shell command on next to nothing.
func sh(name, script string) client.JobSpec { return job(name, "1m", "/bin/sh", "-c", script) }

// nodes are count specs of nodes with so many cores.
func nodes(prefix string, count int, cpu string) []client.NodeSpec {
	all := make([]client.NodeSpec, count)
	for i := range all {
		all[i] = client.NodeSpec{Name: fmt.Sprintf("%s%d", prefix, i), Capacity: map[string]client.Quantity{"cpu": client.Quantity(cpu)}}
	}
	return all
}

func (w *world) join(cluster string, specs []client.NodeSpec) {
	w.t.Helper()
	if _, err := w.JoinCluster(w.t.Context(), cluster, specs, ""); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) submit(specs ...client.JobSpec) []client.Job {
	w.t.Helper()
	jobs, err := w.Submit(w.t.Context(), specs, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return jobs
}

func (w *world) job(nameOrID string) client.Job {
	w.t.Helper()
	j, err := w.Job(w.t.Context(), nameOrID)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// until waits until a job is in a state, and gives it.
func (w *world) until(nameOrID string, state client.JobState) client.Job {
	w.t.Helper()
	var j client.Job
	eventually(w.t, nameOrID+" "+string(state), func() bool {
		j = w.job(nameOrID)
		if j.State.Ended() && j.State != state {
			w.t.Fatalf("%s: %s (%s), expected %s", nameOrID, j.State, j.Detail, state)
		}
		return j.State == state
	})
	return j
}

func (w *world) node(name string) client.Node {
	w.t.Helper()
	n, err := w.Node(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// checkSums checks that each node's allocated CPU is the sum over its jobs, and
// its tasks are as many.
func (w *world) checkSums() {
	w.t.Helper()
	sum, tasks := map[string]int64{}, map[string]int{}
	for _, state := range []client.JobState{client.Starting, client.Running} {
		f := client.JobFilter{State: state, Limit: client.MaxPage}
		for {
			page, err := w.Jobs(w.t.Context(), f)
			if err != nil {
				w.t.Fatal(err)
			}
			for _, j := range page.Jobs {
				sum[j.Node] += amount(w.t, j.Spec.Request["cpu"])
				tasks[j.Node]++
			}
			if f.After = page.Next; f.After == "" {
				break
			}
		}
	}
	page, err := w.Nodes(w.t.Context(), client.NodeFilter{Limit: client.MaxPage})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, n := range page.Nodes {
		if got := amount(w.t, n.Allocated["cpu"]); got != sum[n.Name] || n.Tasks != tasks[n.Name] {
			w.t.Errorf("node %s: %d milli-cores of %d tasks, expected %d of %d", n.Name, got, n.Tasks, sum[n.Name], tasks[n.Name])
		}
	}
}

func amount(t testing.TB, q client.Quantity) int64 {
	t.Helper()
	if q == "" {
		return 0
	}
	v, err := resource.ParseCapacity("cpu", string(q))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func refused(t testing.TB, err error, kind poise.Kind, text string) {
	t.Helper()
	if err == nil || poise.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, expected %s with %q", err, kind, text)
	}
}
