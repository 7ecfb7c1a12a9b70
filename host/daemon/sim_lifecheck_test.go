package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// starts is what has to hold when a task starts: the job is not held, was placed
// durably, and what it ran as before is over, in a way after which it runs again.
func (s *simulation) starts(b engine.Binding) error {
	e := s.engines[durableCluster]
	id := string(b.Job)
	if s.cancelled[id] {
		return fmt.Errorf("job %s: starts as %s, and the daemon said that it is cancelled", id, b.Placement)
	}
	if s.held[id] {
		return fmt.Errorf("job %s: starts as %s, and the daemon said that it is held", id, b.Placement)
	}
	if _, durable := s.archive.places[id][b.Placement]; !durable {
		return fmt.Errorf("job %s: starts as %s, which is not durable", id, b.Placement)
	}
	here := func(st engine.Status) bool { return st.Placement == b.Placement }
	if s.excused[id] || !slices.ContainsFunc(e.statuses(), here) {
		return nil
	}
	var spec Spec
	if err := json.Unmarshal(s.archive.jobs[id].Body, &spec); err != nil {
		return err
	}
	for _, st := range e.statuses() {
		if p, own := s.archive.places[id][st.Placement]; own && !st.State.Ended() && st.Placement != b.Placement {
			return fmt.Errorf("job %s: starts as %s while %s runs, %s in the history", id, b.Placement, p.ID, p.State)
		}
	}
	for _, other := range e.Ran() {
		if string(other.Job) != id || other.Placement == b.Placement {
			continue
		}
		p := s.archive.places[id][other.Placement]
		again := p.State == stateDisplaced || spec.Job.Retry != nil && (p.State == stateFailed || p.State == stateLost)
		if p.Ended == 0 || !again {
			return fmt.Errorf("job %s: starts as %s after it ran as %s: %s", id, b.Placement, p.ID, p.State)
		}
	}
	return nil
}

// checkLives checks that no job ran more often than its retries allow, and that
// gangs started as a whole.
func (s *simulation) checkLives() error {
	type gang struct {
		core  []string // ids by index
		least int
		first uint64 // index of the event that placed one of them first
	}
	gangs := map[string]*gang{}
	for _, id := range slices.Sorted(maps.Keys(s.archive.jobs)) {
		row := s.archive.jobs[id]
		var spec Spec
		if err := json.Unmarshal(row.Body, &spec); err != nil {
			return err
		}
		limit, failed := int32(0), int32(0)
		if spec.Job.Retry != nil {
			limit = spec.Job.Retry.Limit
		}
		first := uint64(0)
		for _, p := range s.archive.places[id] {
			if p.ExitCode != nil && (p.State == stateFailed || p.State == stateLost) {
				failed++
			}
			if first == 0 || p.Decision < first {
				first = p.Decision
			}
		}
		if failed > limit+1 {
			return fmt.Errorf("job %s: %d tasks of it failed, expected at most %d retries", id, failed, limit)
		}
		g := spec.Job.Gang
		if g == nil || g.Extra() {
			continue
		}
		known := gangs[g.ID]
		if known == nil {
			known = &gang{least: int(g.Least())}
			gangs[g.ID] = known
		}
		known.core = append(known.core, id)
		if first > 0 && (known.first == 0 || first < known.first) {
			known.first = first
		}
	}
	for id, g := range gangs {
		if g.first == 0 {
			continue
		}
		together := 0
		for _, member := range g.core {
			for _, p := range s.archive.places[member] {
				if p.Decision == g.first {
					together++
				}
			}
		}
		if together != g.least || len(g.core) != g.least {
			return fmt.Errorf("gang %s: %d members started at first, expected %d at once", id, together, g.least)
		}
	}
	return nil
}

// checkState checks what has to hold of gangs and held jobs at any time, and that
// what the loop knows beside the state agrees with it.
func (s *simulation) checkState() error {
	st := s.core.loop.State()
	for _, j := range st.All() {
		live := s.core.jobs[j.ID]
		switch {
		case j.Held != "" && !j.Waiting():
			return fmt.Errorf("job %s: held by %s, and placed", j.ID, j.Held)
		case j.Held != live.spec.Job.Held || j.Priority != live.spec.Job.Priority:
			return fmt.Errorf("job %s: held by %q with priority %d, the row has %q and %d", j.ID, j.Held, j.Priority, live.spec.Job.Held, live.spec.Job.Priority)
		case j.Retry == nil && j.Failures > 0 || j.Retry != nil && j.Failures > j.Retry.Limit:
			return fmt.Errorf("job %s: %d failures, and it goes on", j.ID, j.Failures)
		}
	}
	for _, g := range st.Gangs() {
		if g.Started {
			continue
		}
		if len(g.Members()) != int(g.Spec.Size) {
			return fmt.Errorf("gang %s: %d of %d members wait to start together", g.Spec.ID, len(g.Members()), g.Spec.Size)
		}
		for _, m := range g.Running() {
			if !m.Yielding() {
				return fmt.Errorf("gang %s: it waits, and %s runs", g.Spec.ID, m.ID)
			}
		}
	}
	return nil
}

// ready says whether a job that waits is to be in the queue: a gang that waits to
// start is there by its first member.
func (s *simulation) ready(id poise.JobID) bool {
	st := s.core.loop.State()
	j := st.Job(id)
	if st.Alone(j) {
		return !j.Blocked()
	}
	g := st.GangOf(j)
	return g.Ready() && g.Head() == j
}

// sameState checks that the log alone gives the state that was recovered.
func (s *simulation) sameState(r *recovered) error {
	whole, err := restoreFrom(context.Background(), s.archive, 0, state.Settings{})
	if err != nil {
		return err
	}
	got, err := journal.EncodeState(r.state)
	if err != nil {
		return err
	}
	want, err := journal.EncodeState(whole.state)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("recovered from snapshot %d, another state than the log gives:\n%s\n%s", r.snapshot, got, want)
	}
	return nil
}

// left says of the jobs that have not ended what they wait for.
func (s *simulation) left() string {
	text := ""
	for _, j := range s.core.loop.State().All() {
		live := s.core.jobs[j.ID]
		text += fmt.Sprintf("\n%s %s %s (%s), after %v", live.row.Name, j.ID, live.row.State, live.row.Reason, j.After)
		if g := s.core.loop.State().GangOf(j); g != nil {
			text += fmt.Sprintf(", gang started %v, %d of %d members", g.Started, len(g.Members()), g.Spec.Size)
		}
	}
	return text
}
