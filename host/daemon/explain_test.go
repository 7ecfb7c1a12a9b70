package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// A plan says where a job would go, or why it goes nowhere, and changes nothing.
func TestPlan(t *testing.T) {
	w := serve(t, folder(t), nil)
	w.join("c", nodes("n", 2, "2"))
	before, err := w.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := func(cpu, verdict string) *client.Decision {
		t.Helper()
		why, err := w.Plan(t.Context(), job("p", cpu))
		if err != nil || why.Decision == nil || why.Decision.Verdict != verdict {
			t.Fatalf("%+v, %v, expected %s", why.Decision, err, verdict)
		}
		return why.Decision
	}
	planned := f("2", "placed")
	if d := f("3", "never-fits"); d.Nearest == nil || d.Nearest.Dim != "cpu" || d.Nearest.Ask != 3000 || d.Nearest.Have != 2000 {
		t.Errorf("%+v, expected by how much it misses", d.Nearest)
	}
	if after, err := w.Health(t.Context()); err != nil || after.LastEvent != before.LastEvent {
		t.Errorf("%+v, %v, expected that a plan is no event", after, err)
	}
	if page, err := w.Jobs(t.Context(), client.JobFilter{}); err != nil || len(page.Jobs) != 0 {
		t.Errorf("%+v, %v, expected no job", page, err)
	}
	j := w.until(w.submit(job("a", "2"))[0].ID, client.Running)
	if j.Node != planned.Node {
		t.Errorf("on %s, expected %s as planned", j.Node, planned.Node)
	}
	w.until(w.submit(job("b", "1"))[0].ID, client.Running)
	f("2", "fits-not-now")
	// Waits for ever, and says so.
	id := w.submit(job("large", "3"))[0].ID
	eventually(t, "a reason", func() bool { return strings.HasPrefix(w.job(id).Reason, poise.NeverFits.String()) })
}

// Decisions are listed newest first, by page, each once.
func TestDecisions(t *testing.T) {
	w := serve(t, folder(t), nil)
	w.join("c", nodes("n", 1, "100"))
	var ids []string
	for range 7 {
		ids = append(ids, w.submit(job("d", "1"))[0].ID)
		w.until(ids[len(ids)-1], client.Running)
	}
	slices.Reverse(ids)
	var got []string
	for f := (client.DecisionFilter{Limit: 3}); ; {
		page, err := w.Decisions(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.Decisions {
			got = append(got, d.Decision.Job)
		}
		if f.After = page.Next; f.After == "" {
			break
		}
	}
	if !slices.Equal(got, ids) {
		t.Errorf("%v, expected %v", got, ids)
	}
	page, err := w.Decisions(t.Context(), client.DecisionFilter{Job: ids[2]})
	if err != nil || len(page.Decisions) != 1 || page.Decisions[0].Name != "d" {
		t.Errorf("%+v, %v, expected the one of that job", page, err)
	}
}

// Events come in order, each once, and a reader takes up where it stopped.
func TestEvents(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, nil)
	w.join("c", nodes("n", 1, "100"))
	enough := errors.New("enough")
	var seen []client.Event
	read := func(until string) {
		t.Helper()
		after := uint64(0)
		if len(seen) > 0 {
			after = seen[len(seen)-1].Index
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err := w.Events(ctx, after, func(e client.Event) error {
			seen = append(seen, e)
			if e.Job == until && e.Kind == "job-placed" {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) {
			t.Fatal(err)
		}
	}
	read(w.submit(job("a", "1"))[0].ID)
	second := w.submit(job("b", "1"))[0].ID
	read(second)
	w = w.again(nil)
	third := w.submit(job("c", "1"))[0].ID
	read(third)
	for i, e := range seen {
		if e.Index != uint64(i)+1 {
			t.Fatalf("event %d at place %d", e.Index, i)
		}
	}
	if last := seen[len(seen)-1]; last.Node != "n0" || last.Job != third {
		t.Errorf("%+v, expected the third job on n0", last)
	}
}

func TestJobPages(t *testing.T) {
	w := serve(t, folder(t), nil)
	var specs []client.JobSpec
	for range 25 {
		specs = append(specs, job("a", "1"), job("ab", "1"))
	}
	w.submit(specs...)
	f := func(filter client.JobFilter, want int) {
		t.Helper()
		ids := map[string]bool{}
		for pages := 0; ; pages++ {
			page, err := w.Jobs(t.Context(), filter)
			if err != nil || pages > 50 {
				t.Fatalf("page %d: %v", pages, err)
			}
			for _, j := range page.Jobs {
				if ids[j.ID] {
					t.Errorf("%s twice", j.ID)
				}
				ids[j.ID] = true
			}
			if filter.After = page.Next; filter.After == "" {
				break
			}
		}
		if len(ids) != want {
			t.Errorf("%+v: %d jobs, expected %d", filter, len(ids), want)
		}
	}
	f(client.JobFilter{Limit: 7}, 50)
	f(client.JobFilter{Limit: 7, Name: "a"}, 25)
	f(client.JobFilter{Limit: 25, Name: "ab"}, 25)
	f(client.JobFilter{Limit: 50}, 50)
	f(client.JobFilter{Limit: 7, State: client.Running}, 0)
	_, err := w.Jobs(t.Context(), client.JobFilter{After: "nonsense"})
	refused(t, err, poise.Invalid, `after: "nonsense"`)
}
