package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// gangOf gives the members of a gang of jobs alike.
func gangOf(name string, size, least int32, topology *client.TopologySpec, each client.JobSpec) []client.JobSpec {
	specs := make([]client.JobSpec, size)
	for i := range specs {
		specs[i] = each
		specs[i].Name = fmt.Sprintf("%s-%d", name, i)
		specs[i].Gang = &client.GangSpec{ID: name, Size: size, Min: least, Index: int32(i), Topology: topology}
	}
	return specs
}

// A gang starts as a whole or waits holding nothing; a restart knows both, and a
// replay decides the same again. Cancelling one member that waits ends the gang.
func TestGangs(t *testing.T) {
	dir := folder(t)
	sim := settings{"engine.kind": "sim"}
	w := serve(t, dir, sim)
	w.join("c", nodes("n", 4, "4"))
	long := job("", "1")
	long.RunTime = "10h"
	first := w.submit(gangOf("first", 12, 0, nil, long)...)
	for i := range first {
		w.until(first[i].ID, client.Running)
	}
	second := w.submit(gangOf("second", 12, 0, nil, long)...)
	eventually(t, "a reason", func() bool { return strings.Contains(w.job(second[0].ID).Reason, "4 of the 12") })
	w.checkSums()
	why, err := w.Why(t.Context(), second[5].ID)
	if err != nil || why.Decision == nil || why.Decision.Gang == nil || why.Decision.Gang.Fitted != 4 || why.Decision.Verdict != "fits-not-now" {
		t.Errorf("%+v, %v, expected how far the gang came", why.Decision, err)
	}
	third := w.submit(gangOf("third", 17, 0, nil, long)...)
	eventually(t, "never", func() bool { return strings.Contains(w.job(third[0].ID).Reason, "never fits") })

	w = w.again(sim)
	w.checkSums()
	for i := range first {
		if j := w.job(first[i].ID); j.Node == "" {
			t.Errorf("task %d is %s after a restart", i, j.State)
		}
		if j := w.job(second[i].ID); j.State != client.Waiting {
			t.Errorf("task %d of the second gang is %s after a restart", i, j.State)
		}
	}
	if why, err := w.Why(t.Context(), first[7].ID); err != nil || why.Decision.Job != first[7].ID || why.Decision.Gang.Index != 7 {
		t.Errorf("%+v, %v, expected the decision about task 7", why.Decision, err)
	}
	if g := w.job("first"); g.Name != "first" || g.State.Ended() {
		t.Errorf("the gang by its name: %+v", g)
	}
	if _, err := w.Cancel(t.Context(), third[3].ID); err != nil {
		t.Fatal(err)
	}
	for i := range third {
		j := w.job(third[i].ID)
		if j.State != client.Withdrawn || i != 3 && !strings.Contains(j.Detail, "its gang cannot start without job third-3: cancelled") {
			t.Errorf("task %d is %s (%s), expected it to end with its gang", i, j.State, j.Detail)
		}
	}
	if _, err := w.Cancel(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	for i := range second {
		w.until(second[i].ID, client.Running)
	}
	w.checkSums()
	w.stop()
	r, err := Replay(t.Context(), &options(t, dir, sim).Config.Current().Config, ReplayOptions{From: 1})
	if err != nil || r.Field != "" || r.Decisions != 2 {
		t.Errorf("%+v, %v, expected the two gangs to be decided again", r, err)
	}
}

func TestGangEnvironment(t *testing.T) {
	w := serve(t, folder(t), settings{"engine.kind": "local"})
	out := t.TempDir()
	members := w.submit(gangOf("env", 2, 0, nil, sh("", `echo "$POISE_GANG_ID $POISE_TASK_INDEX of $POISE_TASKS" >`+out+`/$POISE_TASK_INDEX`))...)
	for i := range members {
		j := w.until(members[i].ID, client.Succeeded)
		text, err := os.ReadFile(filepath.Join(out, fmt.Sprint(i)))
		if want := fmt.Sprintf("%s %d of 2\n", j.Spec.Gang.ID, i); err != nil || string(text) != want {
			t.Errorf("%q, %v, expected %q", text, err, want)
		}
	}
}

func TestGangRefused(t *testing.T) {
	w := serve(t, folder(t), settings{"engine.kind": "sim"})
	w.join("c", nodes("n", 1, "4"))
	f := func(want string, specs ...client.JobSpec) {
		t.Helper()
		_, err := w.Submit(t.Context(), specs, "")
		refused(t, err, poise.Invalid, want)
	}
	two := func() []client.JobSpec { return gangOf("g", 2, 0, nil, job("", "1")) }
	f(`members: 1, expected all 2 in one submission`, two()[0])
	s := two()
	s[1].Gang.Index = 0
	f(`gang "g": index: 0 a second time, expected each once`, s...)
	s = two()
	s[1].Gang.Size = 3
	f(`gang "g": another size, min or topology than its other members have, expected the same`, s...)
	s = two()
	s[1].Priority = 1
	f(`gang "g": priority: 1, expected 0 as its other members have`, s...)
	s = two()
	s[0].Gang.Min = 3
	f(`validation failed: jobs[0].gang: min: 3: expected 1 to the size of 2`, s...)
	plan, err := w.PlanGang(t.Context(), gangOf("p", 2, 0, &client.TopologySpec{Key: "rack", Mode: "pack"}, job("", "1")))
	if err != nil || len(plan) != 1 || plan[0].Decision.Verdict != "never-fits" || plan[0].Decision.Refused[0].Code != "no-topology-label" {
		t.Errorf("%+v, %v, expected that no node has the label", plan, err)
	}
	plan, err = w.PlanGang(t.Context(), gangOf("p", 3, 0, nil, job("", "1")))
	if err != nil || len(plan) != 3 || plan[2].Decision.Node != "n0" {
		t.Errorf("%+v, %v, expected three tasks on n0", plan, err)
	}
}
