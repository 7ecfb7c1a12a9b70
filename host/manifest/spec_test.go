package manifest

import (
	"reflect"
	"strings"
	"testing"
)

// What a job runs is read by runs and by daemons; fields that only one of them
// has are unknown to the other.
func TestSpecs(t *testing.T) {
	f := func(text string, want Task, errs ...string) {
		t.Helper()
		jobs, err := DecodeSpecs("jobs.yaml", strings.NewReader(text))
		for _, e := range errs {
			if err == nil || !strings.Contains(err.Error(), e) {
				t.Errorf("%q: %v, expected %s", text, err, e)
			}
		}
		if len(errs) > 0 {
			return
		}
		if err != nil || !reflect.DeepEqual(jobs[0].Task, want) {
			t.Errorf("%q: %+v, %v, expected %+v", text, jobs, err, want)
			return
		}
		runs, err := DecodeJobs("jobs.yaml", strings.NewReader(text))
		if err != nil || !reflect.DeepEqual(runs, jobs) {
			t.Errorf("%q: for a run %+v, %v, expected %+v", text, runs, err, jobs)
		}
	}
	f("job: a\nrequest: {}\n", Task{})
	f("job: a\nrequest: {}\ncommand: [sleep, 10, 1.50, \"\", \"a b\"]\nenv: {A: 1, B: \"\"}\ndir: /tmp\n",
		Task{Command: []string{"sleep", "10", "1.50", "", "a b"}, Env: map[string]string{"A": "1", "B": ""}, Dir: "/tmp"})
	f("job: a\ncount: 2\nrequest: {}\ncommand: [x]\n", Task{Command: []string{"x"}})
	f("job: a\nrequest: {}\nsubmit: 1m\nevery: 1m\n", Task{}, "jobs.yaml:3: submit: unknown field", "jobs.yaml:4: every: unknown field")
	f("job: a\nrequest: {}\ncommand: sleep 10\n", Task{}, `jobs.yaml:3: command: "sleep 10": expected a list`)
	f("job: a\nrequest: {}\ncommand: []\n", Task{}, "command: an empty list: expected a program")
	f("job: a\nrequest: {}\ncommand: [\"\"]\n", Task{}, `command[0]: "": expected a program`)
	f("job: a\nrequest: {}\ncommand: [a, true, [], \"a\\0\"]\n", Task{}, `command[1]: "true"`, "command[2]: a list", `command[3]: "a\x00"`)
	f("job: a\nrequest: {}\nenv: {A=B: x, C: yes, D: null, E: true}\n", Task{}, `env."A=B": not a name of a variable`, "env.D: nothing", `env.E: "true"`)
	f("job: a\nrequest: {}\ndir: tmp\n", Task{}, `dir: "tmp": expected an absolute path`)
}

func TestOneObject(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		job, err := DecodeSpec("x", []byte(text))
		switch {
		case want == "" && (err != nil || job.Name != "a"):
			t.Errorf("%s: %+v, %v, expected job a", text, job, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, expected %s", text, err, want)
		}
	}
	f(`{"job": "a", "request": {}}`, "")
	f("{\n\t\"job\": \"a\",\n\t\"request\": {\"cpu\": 1}\n}\n", "") // lines are no matter
	f(`{"job": "a", "request": {}, "count": 2}`, "count: unknown field")
	f(`{"job": "a", "job": "a", "request": {}}`, "given on line 1 too")
	f(`null`, "nothing: expected a mapping")
	f(`[]`, "a list: expected a mapping")
	f(``, "expected one JSON object")
	f(`{} {}`, "expected one JSON object")
	f(`{"job": "`+strings.Repeat("a", 300<<10)+`"}`, "object of more than")
	f("{\"job\": \"\xff\"}", "not UTF-8")
	if node, err := DecodeNode("x", []byte(`{"node": "n", "capacity": {"cpu": 1}}`)); err != nil || node.Name != "n" {
		t.Errorf("node %+v, %v", node, err)
	}
	if _, err := DecodeNode("x", []byte(`{"node": "n", "capacity": {"cpu": 1}, "count": 2}`)); err == nil || !strings.Contains(err.Error(), "count: unknown field") {
		t.Errorf("several nodes: %v", err)
	}
}
