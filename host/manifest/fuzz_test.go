package manifest

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// smallLimits keep a fuzzed count from taking all the time.
var smallLimits = limits{text: 64 << 10, record: 16 << 10, nouns: 1000}

// seeds adds the test inputs under their names, which tell the format, and a
// text of each format under none.
func seeds(f *testing.F, prefix string) {
	f.Helper()
	for _, dir := range []string{"testdata/good", "testdata/bad"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			f.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), prefix) || strings.HasSuffix(e.Name(), ".want") {
				continue
			}
			text, err := os.ReadFile(dir + "/" + e.Name())
			if err != nil {
				f.Fatal(err)
			}
			f.Add(e.Name(), text)
			f.Add("", text)
		}
	}
}

// fault checks that err is of kind Invalid and says where and what.
func fault(t *testing.T, name string, err error) {
	t.Helper()
	var e *Error
	if poise.KindOf(err) != poise.Invalid || !errors.As(err, &e) || e.File != name || e.Value == "" || e.Want == "" {
		t.Fatalf("%#v", err)
	}
	if len(err.Error()) > (maxErrors+1)*1000+len(name)*(maxErrors+1) {
		t.Fatalf("an error of %d bytes", len(err.Error()))
	}
}

func FuzzDecodeNodes(f *testing.F) {
	seeds(f, "nodes")
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		nodes, err := decodeNodes(name, bytes.NewReader(text), smallLimits)
		if err != nil {
			fault(t, name, err)
			return
		}
		names := make(map[string]bool)
		for i := range nodes {
			n := &nodes[i]
			if err := n.Validate(); err != nil {
				t.Fatal(err)
			}
			if names[n.Name] || len(n.Capacity) == 0 && n.Devices.Count == 0 {
				t.Fatalf("%+v", n)
			}
			names[n.Name] = true
		}
		if len(nodes) == 0 || len(nodes) > smallLimits.nouns {
			t.Fatalf("%d nodes", len(nodes))
		}
		again, err := decodeNodes(name, bytes.NewReader(text), smallLimits)
		if err != nil || !reflect.DeepEqual(again, nodes) {
			t.Fatalf("another answer the second time: %v", err)
		}
	})
}

func FuzzDecodeJobs(f *testing.F) {
	seeds(f, "jobs")
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		jobs, err := decodeJobs(name, bytes.NewReader(text), smallLimits)
		if err != nil {
			fault(t, name, err)
			return
		}
		names := make(map[poise.JobID]bool)
		for i := range jobs {
			j := &jobs[i]
			if err := j.Validate(); err != nil {
				t.Fatal(err)
			}
			if names[j.ID] || string(j.ID) != j.Name || j.Submit < 0 || j.RunTime < 0 {
				t.Fatalf("%+v", j)
			}
			names[j.ID] = true
		}
		if len(jobs) == 0 || len(jobs) > smallLimits.nouns {
			t.Fatalf("%d jobs", len(jobs))
		}
		again, err := decodeJobs(name, bytes.NewReader(text), smallLimits)
		if err != nil || !reflect.DeepEqual(again, jobs) {
			t.Fatalf("another answer the second time: %v", err)
		}
	})
}

func FuzzDecodeWorkload(f *testing.F) {
	f.Add("tenant: a\nparent: b\nweight: 2\nquotas: {cpu: {limit: 3}}\n---\njob: j\nrequest: {}")
	f.Add("tenant: [a]")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := DecodeWorkload("w.yaml", strings.NewReader(text))
		if err != nil {
			fault(t, "w.yaml", err)
			return
		}
		for i := range w.Tenants {
			if err := w.Tenants[i].Validate(); err != nil {
				t.Errorf("%+v: %v", w.Tenants[i], err)
			}
		}
	})
}
