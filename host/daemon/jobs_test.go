package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// A job on the local engine goes the whole way, and all records of it agree.
func TestLocalJob(t *testing.T) {
	w := serve(t, folder(t), settings{"engine.kind": "local"})
	id := w.submit(sh("hello", "echo hi; exit 3"))[0].ID
	j := w.until(id, client.Failed)
	if j.ExitCode == nil || *j.ExitCode != 3 || j.Name != "hello" || j.Placement == "" || j.Node == "" ||
		j.Placed.IsZero() || j.Started.IsZero() || j.Ended.IsZero() || j.Started.Before(j.Placed.Add(-1e9)) {
		t.Errorf("%+v, expected the whole story", j)
	}
	if got := w.job("hello"); got.ID != id {
		t.Errorf("hello is %s, expected %s", got.ID, id)
	}
	why, err := w.Why(t.Context(), id)
	if err != nil || why.Decision == nil || why.Decision.Node != j.Node || why.Decision.Job != id {
		t.Errorf("%+v, %v, expected the decision that placed it", why.Decision, err)
	}
	w.checkSums()

	// The history says the same after a restart.
	w = w.again(settings{"engine.kind": "local"})
	if got := w.job(id); got.State != client.Failed || got.Placement != j.Placement || !got.Ended.Equal(j.Ended) {
		t.Errorf("%+v after a restart, expected %+v", got, j)
	}
	if why, err = w.Why(t.Context(), id); err != nil || why.Decision == nil || why.Decision.Node != j.Node {
		t.Errorf("%+v, %v after a restart, expected the decision that placed it", why.Decision, err)
	}
}

// Tasks run on while no daemon is there: the next one finds those that run, those
// that ended, and the sums as they were.
func TestLocalRestart(t *testing.T) {
	local := settings{"engine.kind": "local"}
	w := serve(t, folder(t), local)
	marks := t.TempDir()
	gate := filepath.Join(marks, "gate")
	var ids []string
	for i := range 3 {
		script := fmt.Sprintf("echo >>%s/%d; exec sleep 600", marks, i)
		if i == 0 {
			script = fmt.Sprintf("echo >>%s/%d; while [ ! -e %s ]; do sleep 0.01; done; touch %s/over; exit 7", marks, i, gate, marks)
		}
		ids = append(ids, w.submit(sh(fmt.Sprint("r", i), script))[0].ID)
	}
	before := map[string]client.Job{}
	for _, id := range ids {
		before[id] = w.until(id, client.Running)
	}
	node := w.node(before[ids[0]].Node)
	w.stop()
	write(t, gate, "")
	eventually(t, "the first task over", func() bool { _, err := os.Stat(filepath.Join(marks, "over")); return err == nil })
	w = serve(t, w.dir, local)
	if j := w.until(ids[0], client.Failed); j.ExitCode == nil || *j.ExitCode != 7 {
		t.Errorf("%+v, expected the end that nobody saw", j)
	}
	for _, id := range ids[1:] {
		if j := w.job(id); j.State != client.Running || j.Placement != before[id].Placement || !j.Started.Equal(before[id].Started) {
			t.Errorf("%+v, expected %+v", j, before[id])
		}
	}
	w.checkSums()
	if n := w.node(node.Name); n.Tasks != 2 || n.Incarnation != node.Incarnation {
		t.Errorf("%+v, expected two tasks on the same incarnation", n)
	}
	for i, id := range ids {
		if _, err := w.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		w.until(id, client.Failed)
		if text, err := os.ReadFile(fmt.Sprintf("%s/%d", marks, i)); err != nil || len(text) != 1 {
			t.Errorf("task %d began %d times, %v", i, len(text), err)
		}
	}
}

// What was forgotten by the engine before the kill is forgotten after it: no
// folder of an ended task stays.
func TestLocalForgets(t *testing.T) {
	w := serve(t, folder(t), settings{"engine.kind": "local"})
	w.until(w.submit(sh("a", "true"))[0].ID, client.Succeeded)
	eventually(t, "no task folder", func() bool {
		left, err := os.ReadDir(filepath.Join(w.dir, "data", "tasks", "tasks"))
		return err == nil && len(left) == 0
	})
}

func TestBadCommand(t *testing.T) {
	w := serve(t, folder(t), settings{"engine.kind": "local"})
	f := func(spec client.JobSpec, want string) {
		t.Helper()
		j := w.until(w.submit(spec)[0].ID, client.Failed)
		if !strings.Contains(j.Detail, want) {
			t.Errorf("%q, expected %q", j.Detail, want)
		}
	}
	f(job("missing", "1m", "no-such-program"), "no-such-program: not found")
	none := job("none", "1m")
	none.Command = nil
	_, err := w.Submit(t.Context(), []client.JobSpec{job("good", "1m"), none}, "")
	refused(t, err, poise.Invalid, `submit job "none": command: none, expected a program and its arguments, as this machine runs processes`)

	// Where it might go to a node that needs none, its bind shows it.
	w.join("fleet", nodes("n", 1, "1"))
	drained := func(name string, drained bool) {
		t.Helper()
		if _, err := w.DrainNode(t.Context(), name, drained); err != nil {
			t.Fatal(err)
		}
	}
	own := w.job("missing").Node
	drained(own, true)
	w.until(w.submit(none)[0].ID, client.Running)
	drained(own, false)
	drained("n0", true)
	f(none, "command: none, expected a program and its arguments")
	if why, err := w.Why(t.Context(), "none"); err != nil || why.Job.State != client.Failed || !strings.Contains(why.Job.Detail, "command: none") {
		t.Errorf("%+v, %v, expected why it failed", why, err)
	}
	w.checkSums()
}

func TestCancel(t *testing.T) {
	w := serve(t, folder(t), settings{"engine.kind": "local"})
	ctx := t.Context()

	waits := w.submit(job("waits", "100000"))[0].ID
	if j, err := w.Cancel(ctx, "waits"); err != nil || j.State != client.Withdrawn || j.ID != waits || j.Detail != cancelled || j.Placement != "" {
		t.Errorf("%+v, %v, expected it withdrawn", j, err)
	}
	runs := w.submit(sh("runs", "sleep 1000"))[0].ID
	w.until(runs, client.Running)
	if _, err := w.Cancel(ctx, runs); err != nil {
		t.Fatal(err)
	}
	if j := w.until(runs, client.Failed); j.Detail != cancelled || j.ExitCode == nil || *j.ExitCode != 143 {
		t.Errorf("%+v, expected it to have been cancelled", j)
	}
	// At once, whether its bind has happened or not.
	for i := range 3 {
		id := w.submit(sh(fmt.Sprint("quick", i), "sleep 1000"))[0].ID
		if _, err := w.Cancel(ctx, id); err != nil {
			t.Fatal(err)
		}
		eventually(t, "an end", func() bool { return w.job(id).State.Ended() })
		if j := w.job(id); j.Detail != cancelled {
			t.Errorf("%+v, expected it to have been cancelled", j)
		}
	}
	if j, err := w.Cancel(ctx, runs); err != nil || j.State != client.Failed {
		t.Errorf("%+v, %v, expected that a second time changes nothing", j, err)
	}
	_, err := w.Cancel(ctx, "nobody")
	refused(t, err, poise.NotFound, `job "nobody"`)
	w.checkSums()
}

// A restart does not forget that a task was told to end.
func TestCancelSurvives(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, nil)
	w.join("c", nodes("n", 1, "4"))
	id := w.submit(job("a", "1"))[0].ID
	w.until(id, client.Running)
	if err := w.Report(t.Context(), w.job(id).Placement, client.TaskReport{State: client.Running}); poise.KindOf(err) != poise.NotFound {
		t.Errorf("%v, expected that nobody reports on a task of the sim engine", err)
	}

	// Told to end as by a daemon that died before its engine was.
	o := options(t, dir, nil)
	w.stop()
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	live := d.core.jobs[poise.JobID(id)]
	live.row.Reason = cancelled
	d.core.keep(live)
	d.core.effects = nil
	if err := d.core.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	w = serve(t, dir, nil)
	if j := w.until(id, client.Failed); j.Detail != cancelled {
		t.Errorf("%+v, expected it to have been cancelled", j)
	}
	w.checkSums()
}

func TestNames(t *testing.T) {
	w := serve(t, folder(t), nil)
	first := w.submit(job("same", "1"))[0]
	second := w.submit(job("same", "1"))[0]
	other := w.submit(job(first.ID, "1"))[0] // its name is another's id
	f := func(nameOrID, want string) {
		t.Helper()
		if got := w.job(nameOrID); got.ID != want {
			t.Errorf("%s: %s, expected %s", nameOrID, got.ID, want)
		}
	}
	f("same", second.ID)
	f(first.ID, first.ID)
	f(other.ID, other.ID)
	_, err := w.Job(t.Context(), "none")
	refused(t, err, poise.NotFound, `job "none": no such job`)
}

// The name of one tenant's job may be the id of another's.
func TestNamesOfTenants(t *testing.T) {
	d := open(t, folder(t), nil)
	specs := func(name string) []client.JobSpec { return []client.JobSpec{job(name, "1")} }
	theirs, err := d.Submit(t.Context(), "them", specs("x"), "k")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := d.Submit(t.Context(), "us", specs(theirs[0].ID), "k")
	if err != nil {
		t.Fatal(err)
	}
	if ours[0].ID == theirs[0].ID {
		t.Fatal("two tenants share a key")
	}
	f := func(tenant poise.TenantID, name, want string) {
		t.Helper()
		j, err := d.Job(t.Context(), tenant, name)
		if want == "" {
			refused(t, err, poise.NotFound, "no such job")
			_, err = d.Cancel(t.Context(), tenant, name)
			refused(t, err, poise.NotFound, "no such job")
		} else if err != nil || j.ID != want {
			t.Errorf("%s of %s: %s, %v, expected %s", name, tenant, j.ID, err, want)
		}
	}
	f("them", theirs[0].ID, theirs[0].ID)
	f("us", theirs[0].ID, ours[0].ID)
	f("us", ours[0].ID, ours[0].ID)
	f("them", ours[0].ID, "")
	f("us", "x", "")
}

func TestSubmitAllOrNone(t *testing.T) {
	w := serve(t, folder(t), nil)
	bad := job("bad", "1")
	bad.RunTime = "never"
	_, err := w.Submit(t.Context(), []client.JobSpec{job("good", "1"), bad}, "")
	refused(t, err, poise.Invalid, "run_time")
	if page, err := w.Jobs(t.Context(), client.JobFilter{}); err != nil || len(page.Jobs) != 0 {
		t.Errorf("%+v, %v, expected no job", page, err)
	}
	if jobs := w.submit(job("a", "1"), job("b", "1")); len(jobs) != 2 || jobs[0].Name != "a" || jobs[1].Name != "b" {
		t.Errorf("%+v, expected a and b", jobs)
	}
}

func TestIdempotencyKey(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, nil)
	specs := []client.JobSpec{job("a", "1"), job("b", "1")}
	submit := func(specs []client.JobSpec, key string) []client.Job {
		t.Helper()
		jobs, err := w.Submit(t.Context(), specs, key)
		if err != nil {
			t.Fatal(err)
		}
		return jobs
	}
	first := submit(specs, "k")
	same := func(jobs []client.Job) {
		t.Helper()
		if len(jobs) != 2 || jobs[0].ID != first[0].ID || jobs[1].ID != first[1].ID {
			t.Errorf("%+v, expected %+v again", jobs, first)
		}
	}
	same(submit(specs, "k"))
	_, err := w.Submit(t.Context(), specs[:1], "k")
	refused(t, err, poise.Conflict, `idempotency key "k": used before`)
	if other := submit(specs, "l"); other[0].ID == first[0].ID {
		t.Error("another key gives the same jobs")
	}
	w = w.again(nil)
	same(submit(specs, "k"))
	_, err = w.Submit(t.Context(), specs[:1], "k")
	refused(t, err, poise.Conflict, `idempotency key "k": used before`)

	// At the same time, for as long as it takes to find a gap between the loop
	// and the store.
	for round := range 8 {
		key := fmt.Sprint("c", round)
		ids := make([]string, 8)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				for range 3 {
					jobs, err := w.Submit(t.Context(), specs[:1], key)
					if err != nil {
						t.Error(err)
						return
					}
					if ids[i] != "" && ids[i] != jobs[0].ID {
						t.Errorf("key %s: %s, then %s", key, ids[i], jobs[0].ID)
					}
					ids[i] = jobs[0].ID
				}
			})
		}
		all.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("key %s: %v, expected one job", key, ids)
			}
		}
	}
}
