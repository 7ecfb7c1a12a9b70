package api

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

var name = rapid.StringMatching(`[a-zß"\\.:/-][a-z0-9 ]{0,3}[a-zß]`).Filter(func(s string) bool { return !strings.Contains(s, " ") })

// amounts of names that are no devices.
func drawAmounts(t *rapid.T) resource.List {
	var list resource.List
	for _, n := range []string{"cpu", "licence", "memory", "storage"} {
		if v := rapid.OneOf(rapid.Int64Range(0, 4000), rapid.Int64Range(0, math.MaxInt64)).Draw(t, n); v > 0 {
			list = append(list, resource.Amount{Name: n, Value: v})
		}
	}
	return list
}

// A job that is printed as a spec is read as that job.
func TestJobRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := name.Draw(t, "name")
		want := poise.Job{
			ID: poise.JobID(n), Name: n, Tenant: poise.TenantID(name.Draw(t, "tenant")), Tasks: 1,
			Priority: rapid.Int32().Draw(t, "priority"), RunTime: poise.Span(rapid.Int64Range(0, 1e12).Draw(t, "run time")),
		}
		want.Request.Amounts = drawAmounts(t)
		if d := &want.Request.Device; rapid.Bool().Draw(t, "device") {
			*d = poise.DeviceRequest{Kind: rapid.SampledFrom([]string{"gpu", "npu", "fpga"}).Draw(t, "kind"), Count: 1, Milli: rapid.Int32Range(1, 1000).Draw(t, "milli")}
			if d.Milli == 1000 {
				d.Count = rapid.Int32Range(1, poise.MaxDevices).Draw(t, "count")
			}
			if rapid.Bool().Draw(t, "narrowed") {
				d.Models = []string{"a100", "b200"}
			}
		}
		for _, op := range []poise.Op{poise.In, poise.Exists, poise.Gt} {
			if rapid.Bool().Draw(t, string(op)) {
				values := map[poise.Op][]string{poise.In: {"", "a\nb", "7"}, poise.Gt: {"-3"}}[op]
				want.Selectors = append(want.Selectors, poise.Selector{Key: name.Draw(t, "key"), Op: op, Values: values})
			}
		}
		if rapid.Bool().Draw(t, "tolerates") {
			want.Tolerations = []poise.Toleration{{Key: "k", Value: rapid.String().Draw(t, "value"), Effect: poise.NoExecute}, {Exists: true}}
		}
		got, err := ParseJob(client.NewJobSpec(&want))
		if err != nil {
			t.Fatalf("%+v: %v", want, err)
		}
		want.Selectors = append(want.Selectors, poise.Selector{Key: poise.ClusterLabel, Op: poise.DoesNotExist})
		if !reflect.DeepEqual(got.Job, want) {
			t.Fatalf("got %+v, expected %+v", got.Job, want)
		}
	})
}

// A job with an image goes to nodes of Kubernetes, takes one of their pods, and is read
// again as it was.
func TestImageGoesToKubernetes(t *testing.T) {
	spec := client.JobSpec{Name: "a", Request: map[string]client.Quantity{"cpu": "1", "zoo": "2"}, Image: "busybox:1"}
	j, err := ParseJob(spec)
	if err != nil {
		t.Fatal(err)
	}
	want := resource.List{{Name: "cpu", Value: 1000}, {Name: "pods", Value: 1000}, {Name: "zoo", Value: 2000}}
	if where := j.Selectors; !slices.Equal(j.Request.Amounts, want) || len(where) != 1 || where[0].Key != poise.ClusterLabel || where[0].Op != poise.Exists {
		t.Errorf("%+v", j.Job)
	}
	again := client.NewJobSpec(&j.Job)
	again.Image = spec.Image
	if read, err := ParseJob(again); err != nil || !reflect.DeepEqual(read.Job, j.Job) {
		t.Errorf("%+v, %v", read.Job, err)
	}
}

// A node that is printed as a spec is read as that node.
func TestNodeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := poise.Node{
			Name: name.Draw(t, "name"), Capacity: drawAmounts(t),
			NotReady: rapid.Bool().Draw(t, "not ready"), Drained: rapid.Bool().Draw(t, "drained"),
		}
		if rapid.Bool().Draw(t, "cluster") {
			want.Cluster = name.Draw(t, "cluster name")
		}
		if len(want.Capacity) == 0 || rapid.Bool().Draw(t, "devices") {
			want.Devices = poise.Devices{Kind: "gpu", Model: "a100", Count: rapid.Int32Range(1, poise.MaxDevices).Draw(t, "count"), Exclusive: rapid.Bool().Draw(t, "exclusive")}
		}
		for _, key := range []string{"a", "b.c/d"} {
			if rapid.Bool().Draw(t, key) {
				want.Labels = append(want.Labels, poise.Label{Key: key, Value: rapid.String().Draw(t, "label")})
			}
		}
		if rapid.Bool().Draw(t, "tainted") {
			want.Taints = []poise.Taint{{Key: "k", Value: "v", Effect: poise.NoSchedule}}
		}
		got, err := ParseNode(client.NewNodeSpec(&want))
		if err != nil {
			t.Fatalf("%+v: %v", want, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, expected %+v", got, want)
		}
	})
}

// Whatever is submitted, the daemon answers and does not fail; what it takes is
// what ParseJob reads as well, with all that was asked for.
func FuzzSubmit(f *testing.F) {
	for _, text := range []string{
		`{"job": "a", "request": {}}`,
		`{"job": "a", "request": {"cpu": 0.5, "memory": "1Gi", "gpu": 1e0}, "command": ["sh"], "env": {"A": 1}, "dir": "/"}`,
		`{"job": "a", "request": {"cpu": "-1"}, "request": {}, "count": 3}`,
		`{"job": "a", "request": {"fpga": "500m"}, "devices": {"kind": "fpga", "models": ["m"]}, "run_time": "1h", "selectors": [{"key": "k", "op": "Gt", "values": [7]}]}`,
		`null`, `[]`, `"a"`, `{"job": {"job": {}}}`, strings.Repeat(`[`, 500), `{"job":"\ud800","request":{}}`,
	} {
		f.Add(text)
	}
	s := newServer(nil, Options{Limits: generous, Log: discard()})
	h := s.handler(nil)
	f.Fuzz(func(t *testing.T, text string) {
		b := apitest.New()
		s.backend = b
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/jobs", strings.NewReader(`{"jobs": [`+text+`]}`)))
		page, err := b.Jobs(t.Context(), "default", client.JobFilter{Limit: client.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		if (w.Code == http.StatusCreated) != (len(page.Jobs) > 0) || w.Code >= 500 {
			t.Fatalf("%s: %d %s, %d jobs", text, w.Code, w.Body, len(page.Jobs))
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%s: answer %s", text, w.Body)
		}
		slices.Reverse(page.Jobs)
		for _, j := range page.Jobs {
			read, err := ParseJob(j.Spec)
			if err != nil {
				t.Fatalf("%s: taken as %+v, which is refused: %v", text, j.Spec, err)
			}
			printed := client.NewJobSpec(&read.Job)
			printed.Image = read.Task.Image
			again, err := ParseJob(printed)
			if err != nil || !reflect.DeepEqual(again.Job, read.Job) {
				t.Fatalf("%s: %+v is printed as what is read as %+v, %v", text, read.Job, again.Job, err)
			}
			if fmt.Sprint(read.Task.Command) != fmt.Sprint(j.Spec.Command) || len(read.Task.Env) != len(j.Spec.Env) || read.Task.Dir != j.Spec.Dir {
				t.Fatalf("%s: %+v, expected what %+v runs", text, read.Task, j.Spec)
			}
		}
	})
}
