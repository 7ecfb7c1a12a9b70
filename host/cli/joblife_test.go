package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
)

// What is done to a job is said in a line, and to many at once by how many.
func TestJobLifeCommands(t *testing.T) {
	d := remoteDaemon(t)
	for _, name := range []string{"a", "b", "c"} {
		d.run(0, "job", "submit", "--name", name, "--label", "team="+strings.ReplaceAll(name, "c", "a"), "--", "true")
	}
	d.prints("job a (id-1) is waiting, held by anybody\n", 0, "job", "hold", "a")
	d.prints("job a (id-1) is waiting\njob b (id-2) is waiting\n", 0, "job", "release", "a", "id-2")
	d.prints("job a (id-1) is waiting, with priority -3\n", 0, "job", "priority", "a", "--", "-3")
	d.prints("2 jobs held\n", 0, "job", "hold", "--selector", "team in (a)")
	d.prints("1 job released\n", 0, "job", "release", "--selector", "team!=a")
	d.prints("2 jobs cancelled\n", 0, "job", "cancel", "--selector", "team=a")
	out, _ := d.run(0, "job", "list", "--selector", "team=b", "-o", "json")
	if strings.Count(out, `"id"`) != 1 || !strings.Contains(out, `"id-2"`) {
		t.Errorf("%s, expected job b", out)
	}
	f := func(want string, args ...string) {
		t.Helper()
		if _, errs := d.run(2, args...); !strings.HasPrefix(errs, "poise: "+want) {
			t.Errorf("%v: %s, expected %s", args, errs, want)
		}
	}
	f("no job given", "job", "hold")
	f(`"a" beside --selector, expected jobs or a selector`, "job", "cancel", "a", "--selector", "team=a")
	f("1 arguments, expected a job and its priority", "job", "priority", "a")
	f(`priority "high": expected a whole number`, "job", "priority", "a", "high")
	f(`--array "0": expected a number of jobs`, "job", "submit", "--array", "0", "--", "true")
	f(`--array "9:x": expected a number of jobs`, "job", "submit", "--array", "9:x", "--", "true")
	f(`--label "x": expected KEY=VALUE`, "job", "submit", "--label", "x", "--", "true")
	f("--backoff or --max-backoff without --retry", "job", "submit", "--backoff", "1s", "--", "true")
	_, errs := d.run(1, "job", "cancel", "--selector", "team==a")
	if !strings.Contains(errs, `"team==a", expected key=value`) {
		t.Errorf("%s, expected the form of a selector", errs)
	}
}

// Flags and a file say the same of a job's life.
func TestJobLifeFlags(t *testing.T) {
	d := remoteDaemon(t)
	d.run(0, "job", "submit", "--name", "flags", "--after", "x", "--after-any", "y", "--after-failure", "z", "--start-by", "90m", "--finish-by", "8h", "--array", "4:2",
		"--retry", "3", "--backoff", "1s", "--max-backoff", "1m", "--hold", "--label", "team=a", "--label", "stage=", "--", "true")
	d.run(0, "job", "submit", put(t, "life.yaml", `job: file
request: {}
command: ["true"]
after: [x]
after_any: [y]
after_failure: [z]
start_by: 1h30m0s
finish_by: 8h0m0s
array: {count: 4, parallel: 2}
retry: {limit: 3, backoff: 1s, max_backoff: 1m0s}
hold: true
labels: {team: a, stage: ""}
`))
	flags, _ := d.run(0, "job", "get", "flags")
	file, _ := d.run(0, "job", "get", "file")
	flags = strings.NewReplacer("flags", "file", "id-1", "id-2", "90m", "1h30m0s", " 8h", " 8h0m0s", "1s to 1m ", "1s to 1m0s ").Replace(flags)
	if flags != file {
		t.Errorf("by flags\n%s\nby a file\n%s", flags, file)
	}
	golden(t, "job_life_file", file)
}

// All that there is to know of a job's life, and of an array.
func TestJobLifeFacts(t *testing.T) {
	at := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	code, index := int32(7), int32(3)
	var b strings.Builder
	job := client.Job{
		ID: "id-1", Name: "sweep-3", Tenant: "t", State: client.Waiting, Reason: "held by ann", Submitted: at, Attempts: 2, Failures: 2, Held: "ann",
		Spec: client.JobSpec{
			Name: "sweep-3", Priority: 4, FinishBy: "2026-12-01T08:00:00Z", Labels: map[string]string{"team": "a", "stage": "dev"},
			Retry: &client.RetrySpec{Limit: 3, Backoff: "10s", MaxBackoff: "5m0s"},
		},
		Array: &client.Array{ID: "id-0", Name: "sweep", Index: &index, Count: 8, Parallel: 2},
		Runs: []client.Run{
			{Placement: "p2", Node: "n2", State: client.Failed, Ended: at.Add(time.Minute), ExitCode: &code},
			{Placement: "p1", Node: "n1", State: client.Lost, Ended: at, Detail: "the node is gone"},
		},
		Order: &client.Order{Level: 4.5, Priority: 4, Age: 0.5, Arrival: 12},
	}
	if err := jobFacts(&b, &job); err != nil {
		t.Fatal(err)
	}
	whole := client.Job{
		ID: "id-0", Name: "sweep", Tenant: "t", State: client.Running, Submitted: at,
		Array: &client.Array{ID: "id-0", Name: "sweep", Count: 8, Parallel: 2, States: map[client.JobState]int{client.Running: 2, client.Waiting: 5, client.Succeeded: 1}},
	}
	b.WriteString("\n")
	if err := jobFacts(&b, &whole); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n" + standing(&whole) + "\n")
	job.Array.States = whole.Array.States
	if err := printWhy(&b, &client.Why{Job: job, Waits: "held by ann"}); err != nil {
		t.Fatal(err)
	}
	golden(t, "job_life", b.String())
}
