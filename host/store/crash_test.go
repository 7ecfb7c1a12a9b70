package store

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

func TestSecondProcess(t *testing.T) {
	dir := t.TempDir()
	child, out, in := start(t, "hold", dir)
	if !out.Scan() || out.Text() != "open" {
		t.Fatalf("the child says %q, expected that the store is open", out.Text())
	}
	refusedOpen(t, dir, poise.Conflict, "in use by process "+strconv.Itoa(child.Process.Pid))
	refused(t, Restore(t.Context(), "none", dir), poise.Conflict, "expected an empty directory")
	in.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
}

// What a killed process had acknowledged is there, with no gap and no half of a
// batch. (That the disk keeps it when the power goes is for SQLite and the disk.)
func TestKill(t *testing.T) {
	dir := t.TempDir()
	rounds := 50
	if raceDetector { // which makes a process begin slowly
		rounds = 3
	}
	var before uint64
	for round := range rounds {
		child, out, _ := start(t, "write", dir)
		acknowledged := before
		for n := 1 + rand.IntN(40); n > 0 && out.Scan(); n-- {
			acknowledged = max(acknowledged, number(t, out.Text()))
		}
		child.Process.Kill()
		for out.Scan() { // what it had said when it was killed; each line is one write
			acknowledged = max(acknowledged, number(t, out.Text()))
		}
		child.Wait() // killed
		got := checkWhole(t, dir, before+1)
		if got < acknowledged {
			t.Fatalf("round %d: last %d, expected at least %d, which was acknowledged", round, got, acknowledged)
		}
		if acknowledged == before {
			t.Fatalf("round %d: nothing was acknowledged before the kill, expected something", round)
		}
		before = got
	}
	checkWhole(t, dir, 1)
	t.Logf("%d records after %d kills", before, rounds)
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("the child says %q, expected a number", text)
	}
	return n
}

// A process that dies at any step of any write leaves whole batches, and the
// next one goes on.
func TestCrashAtEveryStep(t *testing.T) {
	stride := 1
	if raceDetector {
		stride = 7
	}
	for step := 1; ; step += stride {
		dir := t.TempDir()
		child, out, _ := start(t, "crash", dir, stepVar+"="+strconv.Itoa(step))
		var acknowledged uint64
		done := false
		for out.Scan() {
			if done = out.Text() == "done"; !done {
				acknowledged = number(t, out.Text())
			}
		}
		child.Wait() // killed, all but the last
		got := checkWhole(t, dir, 1)
		if got < acknowledged {
			t.Fatalf("step %d: last %d, expected at least %d, which was acknowledged", step, got, acknowledged)
		}
		s := open(t, dir)
		put(t, s, batchAt(got+1))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if checkWhole(t, dir, 1) <= got {
			t.Fatalf("step %d: the log does not go on after %d", step, got)
		}
		if done {
			// Per batch a beginning, its records, 4 rows, an end and the commit;
			// then the middle of the cut.
			if steps, want := step-1, 3*(1+4+1+1)+(2+1+2)+1; stride == 1 && steps != want {
				t.Errorf("%d steps, expected %d", steps, want)
			}
			return
		}
	}
}
