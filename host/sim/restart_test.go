package sim

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// recovered makes a world from the events of another: what a restart does. The
// pipeline knows nothing of what it answered before.
func recovered(t fataler, c *Config, nodes []poise.Node, events []poise.Event) *World {
	t.Helper()
	fleet, err := fleetTotals(nodes)
	if err != nil {
		t.Fatalf("fleet: %v", err)
	}
	s, err := state.New(state.Settings{DemandHalfLife: c.HalfLife})
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	for _, ev := range events {
		if err := s.Apply(ev); err != nil {
			t.Fatalf("event %d: %v", ev.Index, err)
		}
	}
	w, err := worldOn(c, patient(), s, fleet)
	if err != nil {
		t.Fatalf("world: %v", err)
	}
	if err := w.loop.Fill(); err != nil {
		t.Fatalf("fill: %v", err)
	}
	return w
}

// cut draws where the run stops: after some event of a job. A new profile is
// written together with the arrival that made it due.
func cut(t *rapid.T, events []poise.Event, nodes int) int {
	at := rapid.IntRange(nodes, len(events)).Draw(t, "cut")
	for at < len(events) && events[at].Body.EventKind() == (poise.ProfileBuilt{}).EventKind() {
		at++
	}
	return at
}

// resume goes on with a replay of which the events up to now are known, and
// gives those that follow. The queue is filled with all that waits, so what was
// parked is tried once more.
func resume(t fataler, c Config, nodes []poise.Node, events []poise.Event, arrivals []Arrival) []poise.Event {
	t.Helper()
	var after []poise.Event
	c.Record = func(ev poise.Event) { after = append(after, ev) }
	w := recovered(t, &c, nodes, events)
	sorted := inOrder(arrivals)
	r := newReplay(w, sorted, sorted[0].At, sorted[len(sorted)-1].At)
	submitted := 0
	for _, ev := range events {
		r.now = ev.At
		switch b := ev.Body.(type) {
		case poise.JobSubmitted:
			submitted++
			if j := w.state().Job(b.Job.ID); j != nil {
				r.t.arrive(j, !j.Blocked())
			}
		case poise.JobPlaced:
			if j := w.state().Job(b.Placement.Job); j != nil {
				r.follow(ev)
			}
		}
	}
	now := r.now
	rest := sorted[submitted:]
	// The run stopped within a pass unless more happens at the same moment.
	if end, ok := r.tasks.next(); (len(rest) == 0 || rest[0].At > now) && (!ok || end.at > now) {
		if err := r.pass(always); err != nil {
			t.Fatalf("pass: %v", err)
		}
	}
	if err := r.run(rest); err != nil {
		t.Fatalf("run: %v", err)
	}
	return after
}

// A restart changes no decision: state, demand profile and cached answers come
// from the events alone.
func TestReplayRestarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, arrivals := drawFleet(t), drawArrivals(t, true)
		c := drawPolicy(t, arrivals)
		_, events := logged(t, c(), nodes, arrivals)
		at := cut(t, events, len(nodes))
		sameEvents(t, resume(t, c(), nodes, events[:at], arrivals), events[at:])
	})
}

// The demonstration stops at many places.
func TestReplayRestartsExample(t *testing.T) {
	tr := example(t)
	_, events := logged(t, configOf(t, idleBalance, nil), tr.nodes, tr.arrivals)
	for at := len(tr.nodes); at < len(events); at += 1 + len(events)/40 {
		if events[at].Body.EventKind() != (poise.ProfileBuilt{}).EventKind() {
			sameEvents(t, resume(t, configOf(t, idleBalance, nil), tr.nodes, events[:at], tr.arrivals), events[at:])
		}
	}
}

func sameEvents(t fataler, got, want []poise.Event) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("after the restart event %d is %+v, without it %+v", i, slices.Concat(got, []poise.Event{{}})[min(i, len(got))], slices.Concat(want, []poise.Event{{}})[min(i, len(want))])
		}
	}
}

// The published experiment stops between two arrivals.
func TestInflateRestarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, arrivals := drawFleet(t), drawArrivals(t, true)
		c := drawPolicy(t, arrivals)
		list, err := Inflate(nodes, arrivals, 1.3, 42)
		if err != nil || len(list.Arrivals) > 500 {
			t.Skip("no devices, nobody asks for one, or for so little that it takes long")
		}
		first := c()
		var events []poise.Event
		first.Record = func(ev poise.Event) { events = append(events, ev) }
		if _, err := RunInflate(first, nodes, list); err != nil {
			t.Fatalf("run: %v", err)
		}
		stop := rapid.IntRange(0, len(list.Arrivals)).Draw(t, "stop")
		at, submitted := len(events), 0
		for i, ev := range events {
			if _, ok := ev.Body.(poise.JobSubmitted); ok {
				if submitted == stop {
					at = i
					break
				}
				submitted++
			}
		}
		second := c()
		var after []poise.Event
		second.Record = func(ev poise.Event) { after = append(after, ev) }
		w := recovered(t, &second, nodes, events[:at])
		for i := range list.Arrivals[stop:] {
			if _, err := w.submit(&list.Arrivals[stop+i]); err != nil {
				t.Fatalf("submit: %v", err)
			}
			s, err := w.attempt(0)
			if err != nil {
				t.Fatalf("try: %v", err)
			}
			if s.Decision.Verdict != poise.Placed {
				if err := w.apply(0, poise.JobWithdrawn{Job: s.Decision.Job}); err != nil {
					t.Fatalf("withdraw: %v", err)
				}
			}
		}
		sameEvents(t, after, events[at:])
	})
}
