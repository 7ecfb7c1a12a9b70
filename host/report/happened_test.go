package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/sim"
)

// happenedIn is a replay in which everything comes about.
func happenedIn(policy string) *sim.Result {
	r := replayedAt(policy, 1, 10)
	r.Replay.Ends = sim.Ends{Succeeded: 801, Failed: 12, Withdrawn: 13, Running: 14}
	r.Replay.Happened = sim.Happened{Gangs: 21, Preempted: 22, Circles: 23, Missed: 24, Retries: 25, Reservations: 26, Kept: 27, Late: 28}
	r.Replay.Sizes = []sim.SizeUse{{Size: "to 1 cpu", Jobs: 7000, Placed: 6990, MeanWait: 31.5}, {Size: "1 device", Jobs: 1152, Placed: 1110, MeanWait: 32.5}}
	r.Replay.Reasons = []sim.Reason{{Reason: "over quota", Jobs: 40}, {Reason: sim.WaitsHeld, Jobs: 12}}
	r.Replay.Waiting = []sim.Waiting{{Job: "one", Jobs: 12, Reason: sim.WaitsHeld, Detail: "by ops"}}
	return r
}

// What came about stands in the text, on the page and in CSV alike.
func TestHappened(t *testing.T) {
	r := happenedIn("idle-balance")
	var text bytes.Buffer
	if err := Summary(&text, r); err != nil {
		t.Fatal(err)
	}
	page := readPrinted(t, pageOf, r).text
	csv := string(printed(t, CSV, r))
	measures := happenedMeasures()
	for i := range measures {
		m := &measures[i]
		value := m.text(m.of(r))
		if !strings.Contains(text.String(), m.head) || !strings.Contains(text.String(), value) {
			t.Errorf("the text does not say %q, %s", m.head, value)
		}
		if !strings.Contains(page, m.head) || !strings.Contains(page, value) {
			t.Errorf("the page does not say %q, %s", m.head, value)
		}
		if !strings.Contains(csv, m.key) || !strings.Contains(csv, ","+value+",") {
			t.Errorf("CSV does not say %s, %s", m.key, value)
		}
	}
	for _, want := range []string{"over quota", "held", "held, by ops", "to 1 cpu", "1 device", "31.5"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(page, want) {
			t.Errorf("the text or the page does not say %q", want)
		}
	}
	if !strings.Contains(page, "mean wait by size, seconds") || !strings.Contains(page, "mean wait by tenant, seconds") {
		t.Error("the page draws no waits by size and tenant")
	}
}

// Runs with other settings of the queue are told apart by these, in one table and on
// one page; what is the same in all is not said.
func TestVariants(t *testing.T) {
	with := func(policy string, reservations int, preemption string) *sim.Result {
		r := happenedIn(policy)
		r.Replay.Queue = &sim.QueueUsed{Reservations: reservations, Preemption: preemption, Patience: 60}
		return r
	}
	f := func(results []*sim.Result, want ...string) {
		t.Helper()
		named := variants(results)
		for i, r := range named {
			if r.Policy != want[i] {
				t.Errorf("run %d is %q, expected %q", i, r.Policy, want[i])
			}
		}
		if n := len(sections(named)[0].families); n != len(want) {
			t.Errorf("%d families, expected %d", n, len(want))
		}
	}
	f([]*sim.Result{with("a", 0, "off"), with("a", 1, "off")}, "reservations 0", "reservations 1")
	f([]*sim.Result{with("a", 0, "off"), with("b", 0, "both")}, "a, preemption off", "b, preemption both")
	f([]*sim.Result{with("a", 1, "off"), with("b", 1, "off")}, "a", "b")
	f([]*sim.Result{inflated("w", "a", 1, 130, 95), inflated("w", "b", 1, 130, 95)}, "a", "b")
}
