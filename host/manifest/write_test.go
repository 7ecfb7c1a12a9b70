package manifest

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"

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
		w, err := workload.Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]Job, len(w.Jobs))
		for i, j := range w.Jobs {
			want[i] = Job{Job: j.Job, Submit: j.At, Took: j.Took}
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
		}
		read("jobs.swf", b.Bytes())
		if devices != 0 {
			t.Fatalf("%d fewer jobs with devices than it says", devices)
		}
	})
}
