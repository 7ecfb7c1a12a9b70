package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// with changes a spec.
func with(s client.JobSpec, change func(*client.JobSpec)) client.JobSpec {
	change(&s)
	return s
}

func held(s client.JobSpec) client.JobSpec {
	return with(s, func(s *client.JobSpec) { s.Hold = true })
}

// A command that fails is tried again to its limit, over a restart too, each time
// later than the last, and then it has failed.
func TestRetryToTheLimit(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, settings{"engine.kind": "local"})
	runs := filepath.Join(dir, "runs")
	script := fmt.Sprintf("echo run >>%s; exit 7", runs)
	retried := func(s *client.JobSpec) {
		s.Retry = &client.RetrySpec{Limit: 2, Backoff: "2s", MaxBackoff: "4s"}
	}
	id := w.submit(with(sh("flaky", script), retried))[0].ID
	eventually(t, "the first failure", func() bool { return w.job(id).Failures == 1 })
	got := w.job(id)
	if got.State != client.Waiting || !strings.Contains(got.Reason, "its task failed with exit code 7; retry 1 of 2 at") {
		t.Errorf("%s: %q, expected it to say when it is tried again", got.State, got.Reason)
	}
	w = w.again(settings{"engine.kind": "local"})
	got = w.until(id, client.Failed)
	if got.Failures != 3 || got.ExitCode == nil || *got.ExitCode != 7 || len(got.Runs) != 3 {
		t.Errorf("%+v, expected three failed runs with exit code 7", got)
	}
	text, err := os.ReadFile(runs)
	if err != nil || strings.Count(string(text), "run") != 3 {
		t.Errorf("%q, %v, expected three runs", text, err)
	}
	for i := 1; i < len(got.Runs); i++ {
		later, before := got.Runs[i-1], got.Runs[i]
		if pause := later.Ended.Sub(before.Ended); pause < time.Second || before.State != client.Failed {
			t.Errorf("run %d ended %s after the one before, which %s; expected at least half the backoff of 2s", i, pause, before.State)
		}
	}
	// One that is cancelled is not tried again.
	id = w.submit(with(sh("slow", "sleep 600"), retried))[0].ID
	w.until(id, client.Running)
	if _, err := w.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got := w.until(id, client.Failed); got.Detail != cancelled {
		t.Errorf("%q, expected %q", got.Detail, cancelled)
	}
}

// A job that runs past its deadline is stopped, one that waits past it is withdrawn,
// with those that come after them, and over a restart.
func TestDeadlines(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, settings{"engine.kind": "local"})
	ids := w.submit(
		with(sh("late", "sleep 600"), func(s *client.JobSpec) {
			s.RunTime, s.FinishBy, s.Retry = "", "4s", &client.RetrySpec{Limit: 5}
		}),
		with(held(job("idle", "1m", "/bin/true")), func(s *client.JobSpec) { s.StartBy = "3s" }),
		with(job("next", "1m", "/bin/true"), func(s *client.JobSpec) { s.After = []string{"idle"} }),
		with(job("rescue", "1m", "/bin/true"), func(s *client.JobSpec) { s.AfterFailure = []string{"late"} }),
	)
	w.until(ids[0].ID, client.Running)
	w = w.again(settings{"engine.kind": "local"})
	if got := w.until(ids[1].ID, client.Withdrawn); !strings.HasPrefix(got.Detail, "deadline: it has not started by 20") {
		t.Errorf("%q, expected the deadline", got.Detail)
	}
	if got := w.until(ids[2].ID, client.Withdrawn); !strings.Contains(got.Detail, "comes after job idle (id "+ids[1].ID) {
		t.Errorf("%q, expected the job that it came after", got.Detail)
	}
	got := w.until(ids[0].ID, client.Failed)
	if !strings.HasPrefix(got.Detail, "deadline: it has not ended by 20") || got.Signal == "" && got.ExitCode == nil {
		t.Errorf("%q %q, expected it to be stopped at its deadline", got.Detail, got.Signal)
	}
	w.until(ids[3].ID, client.Succeeded)

	bad := func(want string, change func(*client.JobSpec)) {
		t.Helper()
		_, err := w.Submit(t.Context(), []client.JobSpec{with(job("x", "1", "/bin/true"), change)}, "")
		refused(t, err, poise.Invalid, want)
	}
	bad("start_by: 2020-01-01T00:00:00Z has passed", func(s *client.JobSpec) { s.StartBy = "2020-01-01T00:00:00Z" })
	bad("is less than run_time, 1h0m0s, away", func(s *client.JobSpec) { s.RunTime, s.FinishBy = "1h", "30m" })
}

// A job that is held is not tried, says by whom, and keeps that over a restart.
func TestHoldAndPriority(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, settings{"engine.sim_scale": "1000"})
	w.join("c", nodes("n", 1, "8"))
	ids := w.submit(held(job("a", "8")), held(job("b", "8")))
	if got := w.job("a"); got.State != client.Waiting || got.Held == "" || got.Reason != "held by "+got.Held || got.Order == nil {
		t.Errorf("%+v, expected it to be held", got)
	}
	if got, err := w.SetPriority(t.Context(), "b", 5); err != nil || got.Spec.Priority != 5 || got.Order.Level < 5 {
		t.Errorf("%+v, %v, expected priority 5", got, err)
	}
	w = w.again(settings{"engine.sim_scale": "1000"})
	why, err := w.Why(t.Context(), "a")
	if err != nil || !strings.HasPrefix(why.Waits, "held by ") {
		t.Errorf("%q, %v, expected who holds it", why.Waits, err)
	}
	if got := w.job("b"); got.Order == nil || got.Order.Priority != 5 {
		t.Errorf("%+v, expected priority 5", got.Order)
	}
	for range 2 { // the second time changes nothing
		if _, err := w.Release(t.Context(), ids[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	w.until(ids[0].ID, client.Succeeded)
	running := w.submit(with(job("long", "1"), func(s *client.JobSpec) { s.RunTime = "200h" }))[0].ID
	w.until(running, client.Running)
	_, err = w.Hold(t.Context(), running)
	refused(t, err, poise.Conflict, "expected a job that waits; cancel it, or let it end")
	_, err = w.Hold(t.Context(), ids[0].ID)
	refused(t, err, poise.Conflict, "it has ended")
	w.stop()
	r, err := Replay(context.Background(), &options(t, dir, nil).Config.Current().Config, ReplayOptions{From: 1})
	if err != nil || r.Field != "" {
		t.Errorf("%+v, %v, expected no difference", r, err)
	}
}

// An array runs as many elements at a time as it may, and is one thing to look at and
// to cancel.
func TestArray(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, settings{"engine.kind": "local"})
	script := fmt.Sprintf("echo $POISE_ARRAY_INDEX $POISE_ARRAY_COUNT $POISE_ARRAY_ID >%s/element-$POISE_ARRAY_INDEX", dir)
	made := w.submit(with(sh("sweep", script), func(s *client.JobSpec) { s.Array = &client.ArraySpec{Count: 4, Parallel: 2} }))
	if len(made) != 4 || made[3].Name != "sweep-3" || made[3].Array == nil || *made[3].Array.Index != 3 {
		t.Fatalf("%+v, expected four elements", made)
	}
	if got := made[3].Reason; got != fmt.Sprintf("comes after job sweep-1 (id %s)", made[1].ID) {
		t.Errorf("%q, expected it to come after the one two before it", got)
	}
	whole := w.until("sweep", client.Succeeded)
	if whole.Array.States[client.Succeeded] != 4 || whole.ID != made[0].Array.ID || whole.Name != "sweep" || whole.Ended.IsZero() {
		t.Errorf("%+v, expected the sum of its elements", whole)
	}
	for i := range 4 {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("element-", i)))
		if want := fmt.Sprintf("%d 4 %s\n", i, whole.ID); string(text) != want || err != nil {
			t.Errorf("element %d: %q, %v, expected %q", i, text, err, want)
		}
	}
	_, err := w.Logs(t.Context(), "sweep", client.LogOptions{})
	refused(t, err, poise.Invalid, "it is 4 jobs, expected one of them, such as sweep-0")

	w.submit(held(with(job("park", "1", "/bin/true"), func(s *client.JobSpec) { s.Array = &client.ArraySpec{Count: 3} })))
	if got := w.job("park"); got.State != client.Waiting || got.Array.States[client.Waiting] != 3 {
		t.Errorf("%+v, expected three that wait", got)
	}
	after := w.submit(with(job("then", "1", "/bin/true"), func(s *client.JobSpec) { s.AfterAny = []string{"park"} }))[0].ID
	if _, err := w.Release(t.Context(), "park-1"); err != nil {
		t.Fatal(err)
	}
	w.until("park-1", client.Succeeded)
	if why, err := w.Why(t.Context(), "park"); err != nil || why.Job.Name != "park-0" || why.Job.Array.States[client.Waiting] != 2 {
		t.Errorf("%+v, %v, expected the first that waits, and how many do", why.Job, err)
	}
	if got, err := w.Cancel(t.Context(), "park"); err != nil || got.State != client.Withdrawn || got.Array.States[client.Withdrawn] != 2 {
		t.Errorf("%+v, %v, expected the rest to be withdrawn", got, err)
	}
	w.until(after, client.Succeeded)

	_, err = w.Submit(t.Context(), []client.JobSpec{job("one", "1", "/bin/true"), with(job("x", "1", "/bin/true"), func(s *client.JobSpec) { s.Array = &client.ArraySpec{Count: 10_000} })}, "")
	refused(t, err, poise.Invalid, "jobs[1]: array: brings the submission to 10001 jobs, expected at most 10000")
}

// Jobs are found by their labels, and what is done to them is done to all at once,
// and to no other tenant's.
func TestSelectors(t *testing.T) {
	w := serve(t, folder(t), settings{"engine.sim_scale": "1000"})
	w.join("c", nodes("n", 1, "8"))
	labelled := func(name, team, stage string) client.JobSpec {
		return held(with(job(name, "1"), func(s *client.JobSpec) { s.Labels = map[string]string{"team": team, "stage": stage} }))
	}
	ids := w.submit(labelled("a", "x", "dev"), labelled("b", "x", "test"), labelled("c", "y", "dev"), held(job("d", "1")))
	if _, err := w.CreateTenant(t.Context(), "red"); err != nil {
		t.Fatal(err)
	}
	red := w.As("", "red")
	if _, err := red.Submit(t.Context(), []client.JobSpec{labelled("r", "x", "dev")}, ""); err != nil {
		t.Fatal(err)
	}
	own := w.As("", "default")
	list := func(selector string, want ...string) {
		t.Helper()
		page, err := own.Jobs(t.Context(), client.JobFilter{Selector: selector, Limit: 10})
		var names []string
		for i := range page.Jobs {
			names = append(names, page.Jobs[i].Name)
		}
		if err != nil || fmt.Sprint(names) != fmt.Sprint(want) {
			t.Errorf("%s: %v, %v, expected %v", selector, names, err, want)
		}
	}
	list("team=x", "b", "a")
	list("team in (x,y),stage!=test", "c", "a")
	list("!team", "d")
	sweep := func(action client.JobAction, selector string, want int) {
		t.Helper()
		if got, err := own.Sweep(t.Context(), action, selector); err != nil || got.Jobs != want {
			t.Errorf("%s %s: %d, %v, expected %d", action, selector, got.Jobs, err, want)
		}
	}
	sweep(client.HoldJobs, "team=x", 0) // they are
	sweep(client.ReleaseJobs, "team=x", 2)
	w.until(ids[0].ID, client.Succeeded)
	w.until(ids[1].ID, client.Succeeded)
	sweep(client.CancelJobs, "stage=dev", 1)
	w.until(ids[2].ID, client.Withdrawn)
	sweep(client.CancelJobs, "stage=dev", 0)
	_, err := own.Sweep(t.Context(), client.CancelJobs, "team==x")
	refused(t, err, poise.Invalid, `"team==x"`)
	if got, err := red.Job(t.Context(), "r"); err != nil || got.State != client.Waiting || got.Held == "" {
		t.Errorf("%+v, %v, expected another tenant's job to stay as it is", got, err)
	}
	audit, err := w.Audit(t.Context(), client.AuditFilter{Limit: 10})
	if err != nil || len(audit.Records) == 0 || !strings.Contains(fmt.Sprintf("%+v", audit.Records), "1 job, stage=dev") {
		t.Errorf("%+v, %v, expected the audit log to say how many", audit, err)
	}
}

// What a job comes after may stand behind it, and may not come after it in turn.
func TestAfterHow(t *testing.T) {
	w := serve(t, folder(t), settings{"engine.sim_scale": "1000"})
	w.join("c", nodes("n", 1, "8"))
	ids := w.submit(
		with(job("cleanup", "1"), func(s *client.JobSpec) { s.AfterAny = []string{"main"} }),
		with(job("alarm", "1"), func(s *client.JobSpec) { s.AfterFailure = []string{"main"} }),
		with(job("main", "1"), func(s *client.JobSpec) { s.RunTime = "1s" }),
		with(job("tail", "1"), func(s *client.JobSpec) { s.After = []string{"alarm"} }),
	)
	w.until(ids[0].ID, client.Succeeded)
	if got := w.until(ids[1].ID, client.Withdrawn); !strings.Contains(got.Detail, "it comes after the failure of job main (id "+ids[2].ID) {
		t.Errorf("%q, expected the reason", got.Detail)
	}
	w.until(ids[3].ID, client.Withdrawn)

	bad := func(kind poise.Kind, want string, specs ...client.JobSpec) {
		t.Helper()
		_, err := w.Submit(t.Context(), specs, "")
		refused(t, err, kind, want)
	}
	circle := func(name, other string) client.JobSpec {
		return with(job(name, "1"), func(s *client.JobSpec) { s.AfterAny = []string{other} })
	}
	bad(poise.Invalid, `submit job "z": after_any: job "x" comes after job "z" in turn`, circle("x", "y"), circle("y", "z"), circle("z", "x"))
	bad(poise.NotFound, `after_any: job "self" is the job itself`, circle("self", "self"))
	bad(poise.NotFound, `"nobody": no such job`, circle("x", "nobody"))
	bad(poise.Conflict, "has succeeded, expected one that can fail", with(job("x", "1"), func(s *client.JobSpec) { s.AfterFailure = []string{"main"} }))
	slow := w.submit(with(job("slow", "1"), func(s *client.JobSpec) { s.RunTime = "200h" }))[0].ID
	bad(poise.Invalid, "is in after too", with(job("x", "1"), func(s *client.JobSpec) { s.After, s.AfterAny = []string{"slow"}, []string{slow} }))
}
