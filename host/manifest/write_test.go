package manifest

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/workload"
)

// What is generated and written reads back, as YAML whole, in the Standard
// Workload Format all but the devices.
func TestWriteProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := workload.Defaults()
		s.Seed, s.Jobs = rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 100).Draw(t, "jobs")
		s.Undeclared = rapid.Float64Range(0, 1).Draw(t, "undeclared")
		s.Chains = rapid.Float64Range(0, 0.9).Draw(t, "chains")
		s.Gangs = rapid.SampledFrom([]float64{0, 0.05}).Draw(t, "gangs")
		w, err := workload.Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]Job, len(w.Jobs))
		for i, j := range w.Jobs {
			want[i] = Job{Job: j.Job, Submit: j.At, Run: Run{Took: j.Took}}
			if j.Preceding != "" {
				want[i].Task.After = []string{j.Preceding}
			}
		}
		read := func(name string, text []byte) {
			got, err := DecodeJobs(name, bytes.NewReader(text))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: got\n%+v, want\n%+v, of\n%s", err, got, want, text)
			}
		}
		var b bytes.Buffer
		if err := WriteJobs(&b, w); err != nil {
			t.Fatal(err)
		}
		read("jobs.yaml", b.Bytes())

		if s.Gangs > 0 {
			return // the other format has none
		}
		b.Reset()
		devices, err := WriteSWF(&b, w)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if d := &want[i].Request.Device; d.Count > 0 {
				*d = workload.Job{}.Request.Device
				devices--
			}
			want[i].Task.After, want[i].Task.AfterAny = nil, want[i].Task.After // it has this alone
		}
		read("jobs.swf", b.Bytes())
		if devices != 0 {
			t.Fatalf("%d fewer jobs with devices than it says", devices)
		}
	})
}

// A gang is a wide job of the Standard Workload Format, which is a gang again
// when it is read: with all that it asks for, on nodes as wide as the widest job.
func TestWriteSWFGangs(t *testing.T) {
	s := workload.Defaults()
	s.Jobs, s.Gangs, s.Chains = 500, 0.3, 0
	w, err := workload.Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := WriteSWF(&b, w); err != nil {
		t.Fatal(err)
	}
	got, err := DecodeJobs("jobs.swf", &b)
	if err != nil {
		t.Fatal(err)
	}
	sums := func(amounts resource.List, cpu, memory *int64) int64 {
		c, _ := amounts.Find("cpu")
		m, _ := amounts.Find("memory")
		*cpu, *memory = *cpu+c, *memory+m
		return c
	}
	var cpu, memory, gotCPU, gotMemory int64
	width, gangs := int64(0), 0
	for i := range w.Jobs {
		width = max(width, sums(w.Jobs[i].Request.Amounts, &cpu, &memory))
	}
	for i := range got {
		if c := sums(got[i].Request.Amounts, &gotCPU, &gotMemory); c > width {
			t.Errorf("%s asks for %d, want at most %d", got[i].Name, c, width)
		}
		if got[i].Gang != nil && got[i].Gang.Index == 0 {
			gangs++
		}
	}
	if gotCPU != cpu || gotMemory != memory || gangs == 0 {
		t.Errorf("%d gangs with %d cpu and %d memory, want some with %d and %d", gangs, gotCPU, gotMemory, cpu, memory)
	}
}

func TestSWFGangRefuses(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if _, err := DecodeJobs("jobs.swf", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	const head = "; MaxNodes: 10000\n; MaxProcs: 20000\n"
	f(head+"1 0 -1 60 8193 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1", "processors: 8193 on nodes of 2: expected at most 4096 nodes")
	f(head+"1 0 -1 60 4 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n1 0 -1 60 1 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1", `:4: job number: "job-1" is given on line 3 too: expected every name once`)
	f(head+"1 0 -1 60 1 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n1 0 -1 60 4 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1", `:4: job number: "job-1" is given on line 3 too`)
}
