package daemon

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
)

// whole makes a job ask for all cores of a node.
func whole(w *world, j client.JobSpec, priority int32) client.JobSpec {
	w.t.Helper()
	all, err := w.Nodes(w.t.Context(), client.NodeFilter{})
	if err != nil || len(all.Nodes) != 1 {
		w.t.Fatalf("%d nodes, %v, expected one", len(all.Nodes), err)
	}
	j.Request = map[string]client.Quantity{"cpu": all.Nodes[0].Spec.Capacity["cpu"]}
	j.Priority = priority
	return j
}

func lines(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// A job of a lower priority gets TERM, waits, is told why, and runs again once the
// other is over.
func TestDisplaced(t *testing.T) {
	w := serve(t, folder(t), settings{"engine.kind": "local", "queue.preemption": "priority"})
	marks := t.TempDir() + "/low"
	gate := t.TempDir() + "/gate"
	low := w.submit(whole(w, sh("low", fmt.Sprintf("trap 'echo TERM >>%[1]s; exit 143' TERM; echo start >>%[1]s; while :; do sleep 0.02; done", marks)), 0))[0].ID
	w.until(low, client.Running)
	eventually(t, "the first start", func() bool { _, err := os.Stat(marks); return err == nil })
	high := w.submit(whole(w, sh("high", fmt.Sprintf("while [ ! -e %s ]; do sleep 0.02; done", gate)), 5))[0].ID
	w.until(high, client.Running)
	j := w.until(low, client.Waiting)
	if want := "displaced by job high"; !strings.Contains(j.Reason, want) {
		t.Errorf("low waits, %q, expected %q", j.Reason, want)
	}
	if got := lines(t, marks); got != "start TERM" {
		t.Errorf("low: %s, expected a start and a TERM", got)
	}
	w.checkSums()
	write(t, gate, "")
	w.until(high, client.Succeeded)
	w.until(low, client.Running)
	eventually(t, "the second start", func() bool { return lines(t, marks) == "start TERM start" })
	w.checkSums()
	if _, err := w.Cancel(t.Context(), low); err != nil {
		t.Fatal(err)
	}
	w.until(low, client.Failed)
}

// A restart in the grace of a task changes nothing: it ends, and the other job has
// the room.
func TestDisplacedOverARestart(t *testing.T) {
	local := settings{"engine.kind": "local", "queue.preemption": "priority", "queue.preemption_grace": "1s"}
	w := serve(t, folder(t), local)
	marks := t.TempDir() + "/low"
	low := w.submit(whole(w, sh("low", fmt.Sprintf("trap '' TERM; echo start >>%s; while :; do sleep 0.02; done", marks)), 0))[0].ID
	w.until(low, client.Running)
	eventually(t, "the first start", func() bool { _, err := os.Stat(marks); return err == nil })
	high := w.submit(whole(w, sh("high", "exec sleep 600"), 5))[0].ID
	eventually(t, "low told to end", func() bool { return strings.Contains(w.job(low).Reason, "makes room for job high") })
	if got := w.job(high).Reason; !strings.Contains(got, "waits for 1 task to end by ") {
		t.Errorf("high waits, %q, expected for one task", got)
	}
	w = w.again(local)
	w.until(high, client.Running)
	if j := w.until(low, client.Waiting); !strings.Contains(j.Reason, "displaced by job high") {
		t.Errorf("low waits, %q", j.Reason)
	}
	if got := lines(t, marks); got != "start" {
		t.Errorf("low: %s, expected one start", got)
	}
	w.checkSums()
	for _, id := range []string{low, high} {
		if _, err := w.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	w.until(high, client.Failed)
}

// A program that ends well because it was told to has not succeeded: it runs again.
func TestExitsWellWhenDisplaced(t *testing.T) {
	w := serve(t, folder(t), settings{"engine.kind": "local", "queue.preemption": "priority"})
	mark := t.TempDir() + "/mark"
	low := w.submit(whole(w, sh("low", fmt.Sprintf("trap 'exit 0' TERM; echo start >>%s; while :; do sleep 0.02; done", mark)), 0))[0].ID
	w.until(low, client.Running)
	eventually(t, "the start", func() bool { _, err := os.Stat(mark); return err == nil })
	high := w.submit(whole(w, sh("high", "exit 0"), 5))[0].ID
	w.until(high, client.Succeeded)
	eventually(t, "the second start", func() bool { return lines(t, mark) == "start start" })
	if _, err := w.Cancel(t.Context(), low); err != nil {
		t.Fatal(err)
	}
	w.until(low, client.Failed)
}
