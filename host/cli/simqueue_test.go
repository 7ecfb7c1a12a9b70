package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/sim"
)

func TestSimQueue(t *testing.T) {
	args := []string{"sim", "run", "--nodes", exampleNodes, "--jobs", exampleJobs, "--mode", "replay", "--reservations", "2", "--patience", "1m", "--preemption", "both", "--usage-half-life", "24h"}
	out, errs, code := runPoise(append(args, "-o", "json")...)
	var r sim.Result
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
		t.Fatalf("exit %d, %s, %v", code, errs, err)
	}
	if want := (sim.QueueUsed{Reservations: 2, Patience: 60, Preemption: "both", UsageHalfLife: 86400}); r.Replay.Queue == nil || *r.Replay.Queue != want {
		t.Errorf("got %+v, want %+v", r.Replay.Queue, want)
	}
	if r.Replay.Preempted == 0 {
		t.Error("nobody is displaced")
	}
	const head = "queue: reservations 2, patience 1m0s, preemption both, usage half-life 24h0m0s\n"
	if out, errs, code := runPoise(args...); code != 0 || !strings.HasPrefix(out, head) {
		t.Errorf("exit %d, %s, %s; want it to begin with %s", code, errs, out, head)
	}
}

func TestSimQueueRefuses(t *testing.T) {
	f := func(message string, args ...string) {
		t.Helper()
		out, errs, code := runPoise(append([]string{"sim", "run", "--nodes", exampleNodes, "--jobs", exampleJobs}, args...)...)
		if code != 2 || !strings.Contains(errs, message) || out != "" {
			t.Errorf("%v: exit %d, %q; expected 2, %q", args, code, errs, message)
		}
	}
	f("--reservations 65: expected 0 to 64", "--mode", "replay", "--reservations", "65")
	f("--patience -1s: expected whole milliseconds", "--mode", "replay", "--patience", "-1s")
	f("--usage-half-life 87601h0m0s: expected", "--mode", "replay", "--usage-half-life", "87601h")
	f(`--preemption "all": expected off, priority, reclaim, both`, "--mode", "replay", "--preemption", "all")
	f("--patience, --preemption, --usage-half-life: they are of a queue", "--preemption", "both")
}
