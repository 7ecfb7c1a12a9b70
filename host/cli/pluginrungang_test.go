package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// gangEvents are those of a gang whose tasks ask for so much, on nodes unless it waits.
func gangEvents(id string, cpu int64, size int32, nodes ...string) []poise.Body {
	var bodies []poise.Body
	var placed poise.GangPlaced
	for i := range size {
		j := poise.Job{ID: poise.JobID(fmt.Sprint(id, "-", i)), Tenant: "t", Tasks: size, Gang: &poise.Gang{ID: id, Name: id, Size: size, Index: i}}
		j.Name, j.Request.Amounts = string(j.ID), resource.List{{Name: "cpu", Value: cpu}}
		bodies = append(bodies, poise.JobSubmitted{Job: j})
		if nodes != nil {
			placed.Placements = append(placed.Placements, poise.Placement{Job: j.ID, Node: nodes[i]})
		}
	}
	if nodes != nil {
		bodies = append(bodies, placed)
	}
	return bodies
}

// A plugin decides on a recorded state with gangs that run and wait, about a single
// job and about a gang as a whole, whatever names the snapshot has.
func TestPluginRunGang(t *testing.T) {
	name := snapshotFile(t, append(gangEvents("runs2", 1500, 2, "n2", "n1"), gangEvents("g", 9000, 2)...)...)
	run := func(job string) (got pluginRunResult, placed string) {
		t.Helper()
		out, errs, code := runPoise("plugin", "run", dotproductWasm, "--snapshot", name, "--job", job, "-o", "json")
		if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
			t.Fatalf("%d, %v, %s", code, err, errs)
		}
		for _, task := range got.Tasks {
			placed += fmt.Sprintf("%d on %s, ", task.Task, task.Node)
		}
		return got, placed
	}
	// 1.5 and 6.5 of the cores are idle.
	if got, _ := run("{job: j, request: {cpu: 3}}"); got.Node != "n2" || got.Tasks != nil {
		t.Errorf("%+v, expected n2", got)
	}
	got, placed := run("{job: g, tasks: 4, request: {cpu: 2}}")
	if got.Verdict != "waits" || placed != "" || got.Calls == 0 {
		t.Errorf("%+v, expected that a fourth task has no room", got)
	}
	got, placed = run("{job: g, tasks: 4, min_tasks: 3, request: {cpu: 2}}")
	if got.Verdict != "placed" || placed != "0 on n2, 1 on n2, 2 on n2, " || got.Policy != "dotproduct" || got.Rows < 3 {
		t.Errorf("%+v, expected the three that start together on n2", got)
	}
	if _, placed = run("{job: g, tenant: t, roles: [{name: ps, tasks: 1, request: {cpu: 1}}, {name: w, tasks: 2, request: {cpu: 3}}]}"); placed != "0 on n1, 1 on n2, 2 on n2, " {
		t.Errorf("%s, expected the small role beside the others", placed)
	}
	if got, _ = run("{job: g, tasks: 2, topology: {key: rack, mode: pack}, request: {cpu: 1}}"); got.Verdict != "never-fits" || !strings.Contains(got.Refused[0].Reason, "label") {
		t.Errorf("%+v, expected that no node has the label", got)
	}
	f := func(code int, want string, args ...string) {
		t.Helper()
		out, errs, got := runPoise(append([]string{"plugin", "run", dotproductWasm, "--snapshot", name}, args...)...)
		if got != code || !strings.Contains(out+errs, want) {
			t.Errorf("%v: %d, %s%s, expected %d and %q", args, got, out, errs, code, want)
		}
	}
	jobs := filepath.Join(t.TempDir(), "jobs.yaml")
	if err := os.WriteFile(jobs, []byte("job: one\nrequest: {cpu: 1}\n---\njob: two\ntasks: 2\nrequest: {cpu: 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f(0, "gang of 2: 2 start together", "--jobs", jobs, "--name", "two")
	f(1, "a task of gang two, expected the gang", "--jobs", jobs, "--name", "two-1")
	f(2, "--name: not given, expected one of the 3 jobs", "--jobs", jobs)
	f(2, "--job: it gives 1, expected one job, or all tasks", "--job", "{job: m, gang: {id: g, size: 2, index: 0}, request: {cpu: 1}}")
	f(0, "gang of 4: 3 of the 4 that start together fit", "--job", "{job: g, tasks: 4, request: {cpu: 2}}")
}

// A test case on a snapshot with gangs decides beside them; it has one job itself.
func TestCaseBesideGangs(t *testing.T) {
	name := snapshotFile(t, gangEvents("runs2", 3000, 2, "n2", "n1")...)
	path := filepath.Join(filepath.Dir(name), "case.yaml")
	f := func(code int, want, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, got := runPoise("plugin", "test", dotproductWasm, path)
		if got != code || !strings.Contains(out+errs, want) {
			t.Errorf("%d, %s%s, expected %d and %q", got, out, errs, code, want)
		}
	}
	const about = "name: beside a gang\nsnapshot: s.snapshot\n"
	f(0, "1 ok", about+"job: {job: j, request: {cpu: 1}}\nexpect: {node: n2, refused: {n1: 'not enough idle: cpu'}}\n")
	f(1, "job: a gang of 3 tasks: expected one job", about+"job: {job: j, tasks: 3, request: {cpu: 1}}\nexpect: {node: n2}\n")
}
