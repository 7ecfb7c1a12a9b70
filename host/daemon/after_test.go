package daemon

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

func after(name, runTime string, after ...string) client.JobSpec {
	j := job(name, "1")
	j.RunTime, j.After = runTime, after
	return j
}

// A job comes after others: it waits until all have succeeded, over a restart too,
// and is withdrawn with those that come after it where one has not.
func TestAfter(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, settings{"engine.sim_scale": "1000"})
	w.join("c", nodes("n", 2, "8"))
	first := w.submit(after("first", "1s"))[0].ID
	w.until(first, client.Succeeded)
	// One that has succeeded is not waited for, by its name or its id.
	w.until(w.submit(after("second", "1s", "first", first))[0].ID, client.Succeeded)

	ids := w.submit(after("slow", "200h"), after("next", "1s", "slow"), after("last", "1s", "next", "slow"))
	w.until(ids[0].ID, client.Running)
	for _, j := range ids[1:] {
		if got := w.job(j.ID); got.State != client.Waiting || !strings.Contains(got.Reason, "(id "+ids[0].ID+")") && !strings.Contains(got.Reason, "(id "+ids[1].ID+")") {
			t.Errorf("%s: %s (%s), expected it to wait for another", got.Name, got.State, got.Reason)
		}
	}
	if got := w.job("last"); len(got.Spec.After) != 2 {
		t.Errorf("%v, expected what was given", got.Spec.After)
	}
	w = w.again(settings{"engine.sim_scale": "1000000"})
	w.until(ids[2].ID, client.Succeeded)

	ids = w.submit(after("doomed", "1000000h"), after("next", "1s", "doomed"), after("last", "1s", "next"))
	if _, err := w.Cancel(t.Context(), ids[0].ID); err != nil {
		t.Fatal(err)
	}
	for _, j := range ids[1:] {
		if got := w.until(j.ID, client.Withdrawn); !strings.Contains(got.Detail+got.Reason, "comes after job") {
			t.Errorf("%s: %s %s, expected what it came after", got.Name, got.Detail, got.Reason)
		}
	}
	bad := func(kind poise.Kind, want string, spec client.JobSpec) {
		t.Helper()
		if _, err := w.Submit(t.Context(), []client.JobSpec{spec}, ""); poise.KindOf(err) != kind || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	bad(poise.NotFound, `after: job "nobody"`, after("x", "1s", "nobody"))
	bad(poise.Conflict, "expected one that can succeed", after("x", "1s", ids[1].ID))
	bad(poise.NotFound, `after: job "itself"`, after("itself", "1s", "itself"))
	bad(poise.Invalid, "after[0]", after("x", "1s", ""))
	if _, err := w.CreateTenant(t.Context(), "red"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.As("", "red").Submit(t.Context(), []client.JobSpec{after("x", "1s", "first")}, ""); poise.KindOf(err) != poise.NotFound {
		t.Errorf("%v, expected another tenant's job not to be there", err)
	}
	w.stop()
	r, err := Replay(t.Context(), &options(t, dir, nil).Config.Current().Config, ReplayOptions{From: 1})
	if err != nil || r.Field != "" {
		t.Errorf("%+v, %v, expected no difference", r, err)
	}
}

// A job comes after a gang of the same submission: after all of its members. A member
// does not come after its own gang.
func TestAfterGangOfTheSubmission(t *testing.T) {
	d := serve(t, folder(t), settings{"engine.kind": "sim", "engine.sim_scale": "1000"})
	d.join("c", nodes("n", 2, "8"))
	member := func(i int32, after ...string) client.JobSpec {
		s := job(fmt.Sprint("train-", i), "1")
		s.Gang, s.After, s.RunTime = &client.GangSpec{ID: "train", Size: 2, Index: i}, after, "1s"
		return s
	}
	report := job("report", "1")
	report.After, report.RunTime = []string{"train"}, "1s"
	jobs := d.submit(report, member(0), member(1))
	eventually(t, "the report", func() bool { return d.job(jobs[0].ID).State == client.Succeeded })
	for _, j := range jobs[1:] {
		if ended, began := d.job(j.ID).Ended, d.job(jobs[0].ID).Placed; ended.After(began) {
			t.Errorf("%s ended at %s, the report began at %s", j.Name, ended, began)
		}
	}
	own := []client.JobSpec{member(0, "solo"), member(1)}
	for i := range own {
		own[i].Gang = &client.GangSpec{ID: "solo", Size: 2, Index: int32(i)}
	}
	if _, err := d.Submit(t.Context(), own, ""); poise.KindOf(err) != poise.NotFound || !strings.Contains(err.Error(), "is the job itself") {
		t.Errorf("%v, expected a member not to come after its own gang", err)
	}
}
