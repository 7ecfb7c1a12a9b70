package manifest

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

var update = flag.Bool("update", false, "write the .want files anew")

// inputs gives the files under testdata/dir; nodes-* are fleets, jobs-* jobs.
func inputs(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, path := range paths {
		if !strings.HasSuffix(path, ".want") {
			list = append(list, path)
		}
	}
	if len(list) == 0 {
		t.Fatalf("no inputs in testdata/%s", dir)
	}
	return list
}

// read gives the nouns as a JSON line each.
func read(path string) (string, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	if strings.HasPrefix(filepath.Base(path), "nodes") {
		nodes, err := ReadNodes(path)
		for i := range nodes {
			encoder.Encode(nodes[i])
		}
		return b.String(), err
	}
	jobs, err := ReadJobs(path)
	for i := range jobs {
		encoder.Encode(jobs[i])
	}
	return b.String(), err
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (go test -update writes it anew)\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestGood(t *testing.T) {
	for _, path := range inputs(t, "good") {
		got, err := read(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		golden(t, path+".want", got)
	}
}

func TestBad(t *testing.T) {
	for _, path := range inputs(t, "bad") {
		_, err := read(path)
		if err == nil {
			t.Errorf("%s: no error", path)
			continue
		}
		if kind := poise.KindOf(err); kind != poise.Invalid {
			t.Errorf("%s: kind %v, want invalid", path, kind)
		}
		var e *Error
		if !errors.As(err, &e) || e.File != path || e.Value == "" || e.Want == "" {
			t.Errorf("%s: %+v, want an Error with file, value and what was expected", path, e)
		}
		text := strings.ReplaceAll(err.Error(), filepath.Dir(path)+string(filepath.Separator), "")
		golden(t, path+".want", text+"\n")
	}
}
