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
	f("--usage-half-life, several of --reservations: they are of a queue", "--preemption", "both")
}

// Settings of the queue are compared each with each, and told apart.
func TestSimCompareQueues(t *testing.T) {
	args := []string{"sim", "compare", "--nodes", exampleNodes, "--jobs", exampleJobs, "--mode", "replay", "--policy", "idle-balance", "--reservations", "0,1", "--preemption", "off,both"}
	out, errs, code := runPoise(append(args, "-o", "json")...)
	var all []sim.Result
	if err := json.Unmarshal([]byte(out), &all); code != 0 || err != nil {
		t.Fatalf("exit %d, %s, %v", code, errs, err)
	}
	digests := map[string]bool{}
	for i := range all {
		digests[all[i].Digest] = true
		want := sim.QueueUsed{Reservations: i / 2, Preemption: []string{"off", "both"}[i%2]}
		if got := all[i].Replay.Queue; got == nil || *got != want {
			t.Errorf("run %d: got %+v, want %+v", i, got, want)
		}
	}
	if len(all) != 4 || len(digests) < 2 {
		t.Errorf("%d runs with %d digests, expected 4 that differ", len(all), len(digests))
	}
	out, _, _ = runPoise(args...)
	for _, want := range []string{"queue: reservations 0 or 1, patience 0s, preemption off or both, usage half-life 0s\n", "reservations 1, preemption both "} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing reads %q in %s", want, out)
		}
	}
}
