package store

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// The rows come back as they were put, extremes and odd characters as well.
func TestRows(t *testing.T) {
	s := open(t, t.TempDir())
	exit := int32(-1)
	job := JobRow{
		ID: "j\x00'\"%_é", Name: "n", Tenant: "a", State: "done", Seq: 1, Submitted: -5, Changed: now, Node: "n1", Reason: "r",
		ExitCode: &exit, Signal: "SIGKILL", Attempts: 3, Body: []byte{0, 255}, Decision: []byte("{}"), Group: "g", GroupName: "batch",
	}
	placement := PlacementRow{
		ID: "p", Job: job.ID, Node: "n1", Devices: []uint16{0, 7, 65535}, Placed: 1, Started: 2, Ended: 3, State: "ended", Decision: 1<<64 - 1,
		ExitCode: &exit, Signal: "SIGTERM", Detail: "d",
	}
	decision := DecisionRow{Seq: 1, Job: job.ID, Tenant: "a", Node: "n1", Policy: "p", At: 9, Snapshot: 1<<64 - 1, Commit: 7, Body: []byte("{}")}
	key := KeyRow{Key: "k", Tenant: "a", Job: job.ID, Hash: []byte{1}, At: 4}
	put(t, s, Batch{Jobs: []JobRow{job}, Placements: []PlacementRow{placement}, Decisions: []DecisionRow{decision}, Keys: []KeyRow{key}})
	f := func(got any, err error, want any) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, expected %+v", got, err, want)
		}
	}
	check := func() {
		t.Helper()
		j, err := s.Job(t.Context(), job.ID)
		f(j, err, job)
		j, err = s.JobByName(t.Context(), "a", job.Name)
		f(j, err, job)
		j, err = s.GroupByName(t.Context(), "a", job.GroupName)
		f(j, err, job)
		g, err := s.Group(t.Context(), job.Group)
		f(g, err, []JobRow{job})
		p, err := s.Placements(t.Context(), job.ID)
		f(p, err, []PlacementRow{placement})
		d, err := s.Decision(t.Context(), decision.Seq)
		f(d, err, decision)
		k, err := s.Key(t.Context(), "a", "k")
		f(k, err, key)
	}
	check()
	job.Name, job.State, job.Seq, job.Changed, job.ExitCode, job.Body = "m", "failed", 2, 5, nil, nil
	job.Signal, job.Attempts, job.Decision, job.Group, job.GroupName = "", 4, nil, "h", "other"
	placement.Devices, placement.State, placement.Decision, placement.ExitCode, placement.Signal = nil, "lost", 3, nil, ""
	decision.Job, decision.Body = job.ID, []byte("[]")
	key.Job, key.Hash = "other", []byte{2}
	put(t, s, Batch{Jobs: []JobRow{job}, Placements: []PlacementRow{placement}, Decisions: []DecisionRow{decision}, Keys: []KeyRow{key}})
	check()
}

func TestRowsNotFound(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, Batch{Jobs: []JobRow{{ID: "j", Name: "n", Tenant: "a"}}, Keys: []KeyRow{{Key: "k", Tenant: "a"}}})
	f := func(_ any, err error, says string) {
		t.Helper()
		refused(t, err, poise.NotFound, says)
	}
	j, err := s.Job(t.Context(), "x")
	f(j, err, `job "x": not in the store`)
	j, err = s.JobByName(t.Context(), "b", "n")
	f(j, err, `job "n" of tenant "b"`)
	d, err := s.Decision(t.Context(), 1<<64-1)
	f(d, err, "decision 18446744073709551615")
	k, err := s.Key(t.Context(), "b", "k")
	f(k, err, `key "k" of tenant "b"`)
	b, err := s.Snapshot(t.Context(), 3)
	f(b, err, "snapshot 3")
	if p, err := s.Placements(t.Context(), "x"); p != nil || err != nil {
		t.Errorf("%v, %v, expected no placements and no error", p, err)
	}
}

// The latest arrival of a name is the one that the name stands for.
func TestJobByName(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, Batch{Jobs: []JobRow{{ID: "3", Name: "n", Tenant: "a", Seq: 7}, {ID: "1", Name: "n", Tenant: "a", Seq: 8}, {ID: "2", Name: "n", Tenant: "b", Seq: 9}}})
	if j, err := s.JobByName(t.Context(), "a", "n"); err != nil || j.ID != "1" {
		t.Errorf("%+v, %v, expected job 1", j, err)
	}
}

// Pages put together are what a plain filter and sort gives.
func TestJobsProperty(t *testing.T) {
	s := open(t, t.TempDir())
	names := []string{"train", "train-a", "train_b", "trainé", "tr%", "eval", "T"}
	var all []JobRow
	for i := range 60 {
		all = append(all, JobRow{
			ID: string(rune('A' + i)), Name: names[i%len(names)], Tenant: []string{"a", "b"}[i/2%2], State: []string{"waiting", "running", "done"}[i%3],
			Seq: int64(i / 4), // some arrive together
		})
	}
	put(t, s, Batch{Jobs: all})
	rapid.Check(t, func(rt *rapid.T) {
		q := JobQuery{
			Tenant:     rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(rt, "tenant"),
			State:      rapid.SampledFrom([]string{"", "waiting", "done"}).Draw(rt, "state"),
			NamePrefix: rapid.SampledFrom([]string{"", "t", "train", "train-", "train_", "trainé", "train\xc3", "tr%", "%", "x"}).Draw(rt, "prefix"),
			Limit:      rapid.IntRange(1, 70).Draw(rt, "limit"),
		}
		var want, got []string
		sorted := slices.SortedFunc(slices.Values(all), func(a, b JobRow) int { return -cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID)) })
		for _, j := range sorted {
			if (q.Tenant == "" || q.Tenant == j.Tenant) && (q.State == "" || q.State == j.State) && strings.HasPrefix(j.Name, q.NamePrefix) {
				want = append(want, j.ID)
			}
		}
		for {
			page, err := s.Jobs(t.Context(), q)
			if err != nil || len(page) > q.Limit {
				rt.Fatalf("%d jobs, %v, expected at most %d", len(page), err, q.Limit)
			}
			for _, j := range page {
				got = append(got, j.ID)
			}
			if len(page) < q.Limit {
				break
			}
			q.After = JobMark{Seq: page[len(page)-1].Seq, ID: page[len(page)-1].ID}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("%v, expected %v", got, want)
		}
	})
}

func TestDecisions(t *testing.T) {
	s := open(t, t.TempDir())
	var b Batch
	for seq := uint64(1); seq <= 9; seq++ {
		b.Decisions = append(b.Decisions, DecisionRow{Seq: seq * 10, Job: []string{"a", "b", "c"}[seq%3]})
	}
	put(t, s, b)
	f := func(q DecisionQuery, want ...uint64) {
		t.Helper()
		page, err := s.Decisions(t.Context(), q)
		var got []uint64
		for _, d := range page {
			got = append(got, d.Seq)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %v, %v, expected %v", q, got, err, want)
		}
	}
	f(DecisionQuery{}, 10, 20, 30, 40, 50, 60, 70, 80, 90)
	f(DecisionQuery{Job: "a"}, 30, 60, 90)
	f(DecisionQuery{Job: "x"})
	f(DecisionQuery{From: 30, To: 50}, 30, 40, 50)
	f(DecisionQuery{From: 31, Limit: 2}, 40, 50)
	f(DecisionQuery{Job: "a", From: 31, To: 89}, 60)
	f(DecisionQuery{From: 1<<64 - 1, To: 1<<64 - 1})
}

func TestLimit(t *testing.T) {
	f := func(n, want int) {
		t.Helper()
		if got := limit(n); got != want {
			t.Errorf("limit %d: %d, expected %d", n, got, want)
		}
	}
	f(-1, 100)
	f(0, 100)
	f(1, 1)
	f(1000, 1000)
	f(1001, 1000)
}

// Jobs that wait or run come back with the one placement that has not ended.
func TestUnfinished(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, Batch{
		Jobs: []JobRow{
			{ID: "j1", State: "waiting"}, {ID: "j2", State: "running", Body: []byte("{}")}, {ID: "j3", State: "succeeded"}, {ID: "j4", State: "starting"},
		},
		Placements: []PlacementRow{
			{ID: "p1", Job: "j1", Ended: 5},
			{ID: "p2", Job: "j2", Ended: 5},
			{ID: "p3", Job: "j2", Devices: []uint16{1}, Decision: 7},
			{ID: "p4", Job: "j3", Ended: 5},
			{ID: "p5", Job: "j4"},
			{ID: "p6", Job: "j3"},
		},
	})
	jobs, placed, err := s.Unfinished(t.Context(), "waiting", "starting", "running")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	for _, p := range placed {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	if want := []string{"j1", "j2", "j4", "p3", "p5"}; !slices.Equal(ids, want) {
		t.Errorf("%v, expected %v", ids, want)
	}
}

// No page of history reads or sorts the whole table.
func TestQueryPlans(t *testing.T) {
	s := open(t, t.TempDir())
	f := func(query, index string) {
		t.Helper()
		rows, err := s.reads.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var text string
			if err := rows.Scan(&id, &parent, &unused, &text); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, text)
		}
		text := strings.Join(plan, "; ")
		if !strings.Contains(text, index) || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s: %s, expected %s and no sort", query, text, index)
		}
	}
	f(selectJob+" ORDER BY seq DESC, id DESC LIMIT 1", "jobs_seq")
	f(selectJob+" WHERE tenant = 'a' AND (seq, id) < (5, 'x') ORDER BY seq DESC, id DESC LIMIT 1", "jobs_tenant")
	f(selectJob+" WHERE state = 'a' AND (seq, id) < (5, 'x') ORDER BY seq DESC, id DESC LIMIT 1", "jobs_state")
	f(selectJob+" WHERE tenant = 'a' AND name = 'n' ORDER BY seq DESC, id DESC LIMIT 1", "jobs_name")
	f("SELECT id FROM jobs WHERE state IN ('a', 'b') AND (changed, id) < (5, 'x') LIMIT 1", "jobs_changed")
	f("SELECT * FROM placements WHERE job = 'a' ORDER BY placed, id", "placements_job")
	f(selectJob+" WHERE state IN ('a', 'b')", "jobs_")
	f(selectOpen+" WHERE j.state IN ('a', 'b')", "placements_job")
	f(selectDecision+" WHERE job = 'a' AND seq BETWEEN 1 AND 5 ORDER BY seq LIMIT 1", "decisions_job")
	f("SELECT tenant, key FROM keys ORDER BY at DESC, tenant DESC, key DESC LIMIT 1 OFFSET 1", "keys_at")
}

func TestParseDevices(t *testing.T) {
	f := func(text string) {
		t.Helper()
		if d, err := parseDevices(text); err == nil {
			t.Errorf("%q: %v, expected an error", text, d)
		}
	}
	f(",")
	f("1,")
	f("-1")
	f("65536")
	f("x")
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOf(rapid.Uint16()).Draw(rt, "devices")
		got, err := parseDevices(formatDevices(want))
		if err != nil || !slices.Equal(got, want) {
			rt.Fatalf("%v, %v, expected %v", got, err, want)
		}
	})
}
