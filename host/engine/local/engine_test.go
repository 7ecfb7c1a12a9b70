//go:build linux

package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
)

func TestEnds(t *testing.T) {
	w := fresh(t)
	n := 0
	f := func(script, want string) {
		t.Helper()
		n++
		s := w.run(sh(fmt.Sprintf("p%d", n), script))
		if got := fmt.Sprintf("%s %d %s %s", s.State, s.ExitCode, s.Signal, s.Detail); strings.TrimSpace(got) != want {
			t.Errorf("%s: %s, expected %s", script, got, want)
		}
		if s.Started == 0 || s.Ended < s.Started {
			t.Errorf("%s: from %d to %d", script, s.Started, s.Ended)
		}
	}
	f("exit 0", "succeeded 0")
	f("exit 1", "failed 1")
	f("exit 255", "failed 255")
	f("kill -KILL $$", "failed 137 SIGKILL")
	f("kill -TERM $$", "failed 143 SIGTERM")
	f("ulimit -c 0; kill -SEGV $$", "failed 139 SIGSEGV")
	f("kill -64 $$", "failed 192 signal 64")
}

func TestCannotStart(t *testing.T) {
	w := fresh(t)
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("not a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	f := func(change func(*engine.Binding), code int32, want string) {
		t.Helper()
		n++
		b := sh(fmt.Sprintf("p%d", n), "exit 0")
		change(&b)
		s := w.run(b)
		if s.State != engine.Failed || s.ExitCode != code || s.Detail != want || s.Started != 0 || s.Ended == 0 {
			t.Errorf("%+v, expected code %d, %s", s, code, want)
		}
	}
	f(func(b *engine.Binding) { b.Command = []string{"no-such-program"} }, 127, "command: no-such-program: not found in PATH")
	f(func(b *engine.Binding) { b.Command = []string{"/no/such"} }, 127, "command: /no/such: not found")
	f(func(b *engine.Binding) { b.Command = []string{plain} }, 126, "command: "+plain+": permission denied")
	f(func(b *engine.Binding) { b.Dir = "/no/such" }, 126, "dir: /no/such, expected a folder that the daemon's user may enter")
	f(func(b *engine.Binding) { b.Dir = plain }, 126, "dir: "+plain+", expected a folder that the daemon's user may enter")
	f(func(b *engine.Binding) { b.Command, b.Env = []string{"sh"}, map[string]string{"PATH": "bin:/no/such"} }, 127, "command: sh: not found in PATH")
}

func TestWhatATaskGets(t *testing.T) {
	t.Setenv("POISE_SECRET", "of the daemon")
	w := fresh(t)
	b := sh("p/1", "env | sort; pwd; grep -E 'SigIgn|SigBlk' /proc/self/status; ls -l /proc/self/fd | wc -l; readlink /proc/self/fd/0")
	b.Devices, b.DeviceKind, b.Env = []uint16{0, 3}, "gpu", map[string]string{"A": "x y", "LANG": "de_DE.UTF-8"}
	if s := w.run(b); s.State != engine.Succeeded {
		t.Fatalf("%+v", s)
	}
	dir := w.taskFolder("p/1")
	want := strings.Join([]string{
		"A=x y", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=0,3", "HOME=" + dir + "/work", "LANG=de_DE.UTF-8",
		"PATH=" + searchPath, "POISE_DEVICES=0,3", "POISE_JOB_ID=job-1", "POISE_JOB_NAME=job", "POISE_NODE=n", "POISE_PLACEMENT=p/1",
		"POISE_TASK_DIR=" + dir, "POISE_TENANT=t", "PWD=" + dir + "/work", "TMPDIR=" + dir + "/tmp", dir + "/work",
		"SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000",
		"5", // a heading, 0, 1, 2 and the folder that is listed
		"/dev/null", "",
	}, "\n")
	got := output(t, w, "p/1", LogOptions{})
	// Signals 32 and 33 are the C library's own: whoever started the tests may
	// ignore them, and nothing that Go can call takes that back.
	for _, own := range []string{"80000000", "180000000", "100000000"} {
		got = strings.Replace(got, fmt.Sprintf("SigIgn:\t%016s", own), "SigIgn:\t0000000000000000", 1)
	}
	if got != want {
		t.Errorf("got:\n%s\nexpected:\n%s", got, want)
	}
}

// A task without a GPU sees none, whether its node has some or the job has other
// devices.
func TestNoGPU(t *testing.T) {
	w := fresh(t)
	f := func(placement, kind string, devices ...uint16) {
		t.Helper()
		b := sh(placement, `echo "${CUDA_VISIBLE_DEVICES-unset}" "${CUDA_DEVICE_ORDER-unset}"`)
		b.DeviceKind, b.Devices = kind, devices
		if s := w.run(b); s.State != engine.Succeeded {
			t.Fatalf("%+v", s)
		}
		if got := output(t, w, placement, LogOptions{}); got != " unset\n" {
			t.Errorf("%s: %q, expected an empty CUDA_VISIBLE_DEVICES", placement, got)
		}
	}
	f("none", "")
	f("npu", "npu", 0)
}

func TestNoCommand(t *testing.T) {
	w := fresh(t)
	b := sh("p", "")
	b.Command = nil
	if err := w.Bind(t.Context(), b); poise.KindOf(err) != poise.Invalid || !strings.Contains(err.Error(), "command: none, expected a program") {
		t.Errorf("%v", err)
	}
	if err := w.Evict(t.Context(), "p", 0); poise.KindOf(err) != poise.NotFound {
		t.Errorf("%v, expected that nothing is left of it", err)
	}
}

func output(t testing.TB, w *world, placement string, opt LogOptions) string {
	t.Helper()
	r, err := w.Logs(context.Background(), placement, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Whatever a task leaves behind ends with it, in its group or out of it.
func TestNothingStays(t *testing.T) { nothingStays(t, func(o Options) Options { return o }) }

func nothingStays(t *testing.T, change func(Options) Options) {
	t.Helper()
	w := open(t, change(options(t, t.TempDir())))
	f := func(placement, script string) {
		t.Helper()
		dir := t.TempDir()
		b := sh(placement, script)
		b.Dir = dir
		if s := w.run(b); s.State != engine.Succeeded || s.Detail != "" {
			t.Errorf("%s: %+v", placement, s)
		}
		if pid := file(t, filepath.Join(dir, "pid")); alive(t, pid) {
			t.Errorf("%s: process %s is still there", placement, pid)
		}
	}
	const wait = "\nwhile ! [ -s pid ]; do :; done"
	f("child", `sleep 1000 & echo $! >pid`)
	f("grandchild", `(sh -c 'echo $$ >pid; exec sleep 1000' &) `+wait)
	f("own session", `setsid sh -c 'echo $$ >pid; exec sleep 1000' & `+wait)
	f("orphan in an own session", `(setsid sh -c '(exec sleep 1000) & echo $! >pid' &) `+wait)
	f("without environment", `(setsid env -i sh -c 'echo $$ >pid; exec sleep 1000' &) `+wait)
	f("deaf", `(setsid sh -c 'trap "" TERM HUP INT; echo $$ >pid; while :; do sleep 1000; done' &) `+wait)
}

func TestEvict(t *testing.T) {
	w := fresh(t)
	ctx := context.Background()
	f := func(placement, script string, grace time.Duration, want string) {
		t.Helper()
		dir := t.TempDir()
		b := sh(placement, script+"\n"+`echo $$ >ready; while :; do sleep 1000 & wait; done`)
		b.Dir = dir
		w.bind(b)
		file(t, filepath.Join(dir, "ready"))
		if err := w.Evict(ctx, placement, spanOf(grace)); err != nil {
			t.Fatal(err)
		}
		s := w.end(placement)
		if got := fmt.Sprintf("%s %d %s %s", s.State, s.ExitCode, s.Signal, s.Detail); got != want {
			t.Errorf("%s: %s, expected %s", placement, got, want)
		}
		if err := w.Evict(ctx, placement, 0); err != nil {
			t.Errorf("evict an ended task: %v", err)
		}
	}
	f("plain", ":", time.Hour, "failed 143 SIGTERM evicted")
	f("tidy", "trap 'exit 3' TERM", time.Hour, "failed 3  evicted")
	f("tidy with 0", "trap 'exit 0' TERM", time.Hour, "failed 0  evicted")
	f("deaf", "trap '' TERM", 50*time.Millisecond, "failed 137 SIGKILL evicted")
	f("at once", "trap 'exit 3' TERM", 0, "failed 137 SIGKILL evicted")
	f("stopped", "echo $$ >ready; kill -STOP $$", time.Hour, "failed 143 SIGTERM evicted")
	if err := w.Evict(ctx, "unknown", 0); poise.KindOf(err) != poise.NotFound {
		t.Errorf("evict an unknown task: %v", err)
	}
	// A second request brings the end forward.
	b := sh("hurry", "trap '' TERM; echo x >&2; while :; do sleep 1000 & wait; done")
	w.bind(b)
	w.running("hurry")
	for _, grace := range []time.Duration{time.Hour, 2 * time.Hour, 0} {
		if err := w.Evict(ctx, "hurry", spanOf(grace)); err != nil {
			t.Fatal(err)
		}
	}
	if s := w.end("hurry"); s.State != engine.Failed || s.Detail == "" {
		t.Errorf("%+v", s)
	}
}

// An eviction right behind the bind finds the shim in any phase of its start.
func TestEvictAtStart(t *testing.T) {
	w := fresh(t)
	for i := range 30 {
		p := fmt.Sprintf("p%d", i)
		w.bind(sh(p, "sleep 1000"))
		for range i % 6 * 100 {
			_, _ = os.Stat(w.taskFolder(p)) // a moment that differs
		}
		if err := w.Evict(context.Background(), p, 0); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		if s := w.end(fmt.Sprintf("p%d", i)); s.State != engine.Failed || !strings.HasPrefix(s.Detail, "evicted") {
			t.Errorf("%+v", s)
		}
	}
}

func TestRunTime(t *testing.T) {
	w := fresh(t)
	f := func(placement, script string, grace poise.Span, want string) {
		t.Helper()
		b := sh(placement, script)
		b.RunTime, b.Grace = 150, grace
		s := w.run(b)
		if got := fmt.Sprintf("%s %d %s %s", s.State, s.ExitCode, s.Signal, s.Detail); strings.TrimSpace(got) != want {
			t.Errorf("%s: %s, expected %s", placement, got, want)
		}
		if s.State == engine.Failed && s.Ended-s.Started < 150 {
			t.Errorf("%s: ended after %d ms", placement, s.Ended-s.Started)
		}
	}
	f("long", "sleep 1000", 60_000, "failed 143 SIGTERM run_time: over the limit of 150ms")
	f("deaf", "trap '' TERM; sleep 1000 & wait; sleep 1000", 50, "failed 137 SIGKILL run_time: over the limit of 150ms")
	f("no grace", "sleep 1000", 0, "failed 137 SIGKILL run_time: over the limit of 150ms")
	b := sh("in time", ":")
	b.RunTime = 60_000
	if s := w.run(b); s.State != engine.Succeeded {
		t.Errorf("%+v", s)
	}
}

// A shim that someone else sends TERM ends its task as an eviction does.
func TestTermFromOutside(t *testing.T) {
	w := fresh(t)
	b := sh("p", "trap 'exit 7' TERM; while :; do sleep 1000 & wait; done")
	b.Grace = 60_000
	w.bind(b)
	w.running("p")
	var c claim
	if _, err := read(w.taskFolder("p"), claimFile, &c); err != nil {
		t.Fatal(err)
	}
	if there, err := send(c.Shim, syscall.SIGTERM); !there || err != nil {
		t.Fatal(there, err)
	}
	if s := w.end("p"); s.State != engine.Failed || s.Detail != "the shim was told to end" {
		t.Errorf("%+v", s)
	}
}

func TestBindOnce(t *testing.T) {
	w := fresh(t)
	out := filepath.Join(t.TempDir(), "runs")
	b := sh("p", "echo run >>"+out)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if err := w.Bind(context.Background(), b); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	w.end("p")
	w.bind(b) // ended is known too
	if text, _ := os.ReadFile(out); string(text) != "run\n" {
		t.Errorf("ran as %q, expected once", text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.seen["p"]); n > 3 {
		t.Errorf("reported %d times: %+v", n, w.seen["p"])
	}
}

func TestManyShortTasks(t *testing.T) {
	w := fresh(t)
	dir := t.TempDir()
	tasks, lanes := 1000, 8
	if testing.Short() {
		tasks = 100
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range lanes {
		group.Go(func() {
			for i := next.Add(1); i <= int64(tasks); i = next.Add(1) {
				b := sh(fmt.Sprintf("p%d", i), "")
				b.Command = []string{"/bin/mkdir", fmt.Sprintf("%s/%d", dir, i)}
				if err := w.Bind(context.Background(), b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for i := 1; i <= tasks; i++ {
		p := fmt.Sprintf("p%d", i)
		if s := w.end(p); s.State != engine.Succeeded {
			t.Fatalf("%+v", s)
		}
		if err := w.Forget(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
	if made, err := os.ReadDir(dir); err != nil || len(made) != tasks {
		t.Errorf("%d ran, expected %d (%v)", len(made), tasks, err)
	}
	if left, err := os.ReadDir(filepath.Join(w.opt.Dir, tasksDir)); err != nil || len(left) != 0 {
		t.Errorf("%d folders left (%v)", len(left), err)
	}
}

func TestForget(t *testing.T) {
	opt := options(t, t.TempDir())
	w := open(t, opt)
	ctx := context.Background()
	b := sh("p", "echo out; echo secret >$HOME/secret")
	b.Env = map[string]string{"TOKEN": "secret"}
	w.run(b)
	w.bind(sh("runs", "sleep 1000"))
	if err := w.Forget(ctx, "runs"); poise.KindOf(err) != poise.Conflict {
		t.Errorf("forget a task that runs: %v", err)
	}
	for range 2 {
		if err := w.Forget(ctx, "p"); err != nil {
			t.Fatal(err)
		}
	}
	if got := output(t, w, "p", LogOptions{Follow: true}); got != "out\n" {
		t.Errorf("output of a forgotten task: %q", got)
	}
	if names, err := filepath.Glob(w.endedFolder("p") + "/*"); err != nil || len(names) != 1 {
		t.Errorf("kept: %q", names)
	}
	if err := w.Evict(ctx, "runs", 0); err != nil {
		t.Fatal(err)
	}
	w.end("runs")
	w.stop()
	w = open(t, opt)
	w.end("runs")
	if _, known := w.board.Get("p"); known {
		t.Error("a forgotten task is known again")
	}
	// The room is for one folder, so the older one goes.
	w.opt.KeepLogs = 6000
	if err := w.Forget(ctx, "runs"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Logs(ctx, "p", LogOptions{}); poise.KindOf(err) != poise.NotFound {
		t.Errorf("logs beyond the limit: %v", err)
	}
	if _, err := w.Logs(ctx, "runs", LogOptions{}); err != nil {
		t.Error(err)
	}
}
