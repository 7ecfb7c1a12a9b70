package daemon

import (
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// What is known of a job that waits is known after a restart, before anything is
// tried anew.
func TestWaitSurvives(t *testing.T) {
	w := serve(t, folder(t), nil)
	w.join("c", nodes("n", 1, "1"))
	w.until(w.submit(job("first", "1"))[0].ID, client.Running)
	id := w.submit(job("waits", "1"))[0].ID
	const reason = "fits, but not now: not enough idle (cpu)"
	eventually(t, "a reason", func() bool { return w.job(id).Reason == reason })
	never := w.submit(job("never", "2"))[0].ID
	eventually(t, "a reason", func() bool { return w.job(never).Reason == "never fits the present nodes: node too small (cpu)" })
	before, err := w.Why(t.Context(), id)
	if err != nil || before.Attempt == 0 || before.Attempt != before.Job.Attempts || before.Job.Attempts != w.job(id).Attempts {
		t.Fatalf("%+v, %v", before, err)
	}
	w.stop()

	d, err := Open(t.Context(), options(t, w.dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	live := d.core.jobs[poise.JobID(id)]
	if live.row.Reason != reason || live.row.Attempts == 0 || live.decision == nil || live.decision.Verdict != poise.FitsNotNow || live.decision.Nearest == nil {
		t.Errorf("%+v, expected the verdict of before", live)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}

	w = serve(t, w.dir, nil)
	after, err := w.Why(t.Context(), id)
	if err != nil || after.Job.Reason != reason || after.Decision == nil || after.Decision.Nearest == nil || after.Decision.Nearest.Node != "n0" || after.Attempt == 0 {
		t.Errorf("%+v, %v, expected the verdict of before", after, err)
	}

	// The end of a job that never ran keeps it too.
	if _, err := w.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	w = w.again(nil)
	if why, err := w.Why(t.Context(), id); err != nil || why.Job.State != client.Withdrawn || why.Decision == nil || why.Decision.Verdict != "fits-not-now" {
		t.Errorf("%+v, %v, expected why it waited", why, err)
	}

	// Once placed, the decision that placed it is told, as the attempt that it was.
	w.join("c", nodes("n", 2, "2"))
	w.until(never, client.Running)
	w = w.again(nil)
	why, err := w.Why(t.Context(), never)
	if err != nil || why.Decision == nil || why.Decision.Verdict != "placed" || why.Attempt < 2 || w.job(never).Attempts != why.Attempt {
		t.Errorf("%+v, %v, expected the decision that placed it", why, err)
	}
}

func TestSignalSurvives(t *testing.T) {
	local := settings{"engine.kind": "local"}
	w := serve(t, folder(t), local)
	id := w.submit(sh("a", "kill -KILL $$"))[0].ID
	w.until(id, client.Failed)
	for range 2 {
		if j := w.job(id); j.Signal != "SIGKILL" || j.ExitCode == nil || *j.ExitCode != 137 || j.Attempts != 1 {
			t.Errorf("%+v, expected that a signal ended it, after one attempt", j)
		}
		w = w.again(local)
	}
}

func TestWaits(t *testing.T) {
	f := func(want string, d poise.Decision) {
		t.Helper()
		if got := d.Summary(); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
	short := poise.ReasonCount{Code: poise.IdleShort, Dim: "cpu"}
	kind := poise.ReasonCount{Code: poise.DeviceKindMissing, Dim: "gpu", Nodes: 9}
	f("fits, but not now", poise.Decision{Verdict: poise.FitsNotNow})
	f("fits, but not now: not enough idle (cpu)", poise.Decision{Verdict: poise.FitsNotNow, Refused: []poise.ReasonCount{kind, short}})
	f("never fits the present nodes: no such device (gpu)", poise.Decision{Verdict: poise.NeverFits, Refused: []poise.ReasonCount{kind}})
	f("fits, but not now: refused by a policy: too noisy", poise.Decision{
		Verdict: poise.FitsNotNow, Refused: []poise.ReasonCount{{Code: poise.PolicyRefused, Text: "too noisy"}},
	})
}
