package poise

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/resource"
)

// goodJob uses every field.
func goodJob() Job {
	return Job{
		ID: "j1", Name: "train", Tenant: "vision", Priority: -3, Tasks: 1, RunTime: 60_000,
		Request: Request{
			Amounts: resource.List{{Name: "cpu", Value: 500}, {Name: "memory", Value: 1 << 30}},
			Device:  DeviceRequest{Kind: "gpu", Count: 2, Milli: WholeDevice, Models: []string{"A100", "H100"}},
		},
		Selectors:   []Selector{{Key: "zone", Op: In, Values: []string{"a"}}},
		Tolerations: []Toleration{{Key: "gpu", Exists: true}},
	}
}

// refuses checks that err is an Invalid with exactly this text, or nil for "".
func refuses(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		if want != "" {
			t.Errorf("valid, expected %s", want)
		}
		return
	}
	if err.Error() != want || KindOf(err) != Invalid {
		t.Errorf("%s: %v\nexpected invalid: %s", KindOf(err), err, want)
	}
}

func TestJobValidate(t *testing.T) {
	f := func(want string, change func(j *Job)) {
		t.Helper()
		j := goodJob()
		change(&j)
		refuses(t, j.Validate(), want)
	}
	long := strings.Repeat("n", 253)

	f("", func(j *Job) {})
	f("", func(j *Job) { j.ID, j.Name, j.Tenant = JobID(long), "übung/1", TenantID(long) })
	f("", func(j *Job) { j.Priority, j.RunTime = math.MinInt32, math.MaxInt64 })
	f("", func(j *Job) { j.RunTime, j.Selectors, j.Tolerations = 0, nil, nil })
	f("", func(j *Job) { j.Request = Request{} })

	f(`job "": id: empty, expected a name`, func(j *Job) { j.ID = "" })
	f(`job "j1": name: empty, expected a name`, func(j *Job) { j.Name = "" })
	f(`job "j1": tenant: empty, expected a name`, func(j *Job) { j.Tenant = "" })
	f(`job "j1": name: 254 bytes, expected at most 253`, func(j *Job) { j.Name = long + "n" })
	f(`job "j1": tenant: 254 bytes, expected at most 253`, func(j *Job) { j.Tenant = TenantID(long + "n") })
	f(`job "a b": id: "a b" has a space or control character at byte 1, expected none`, func(j *Job) { j.ID = "a b" })
	f(`job "j1": name: "a\tb" has a space or control character at byte 1, expected none`, func(j *Job) { j.Name = "a\tb" })
	f(`job "j1": name: "\x7f" has a space or control character at byte 0, expected none`, func(j *Job) { j.Name = "\x7f" })
	f(`job "j1": tenant: "ü\xff", expected valid UTF-8`, func(j *Job) { j.Tenant = "ü\xff" })
	for _, tasks := range []int32{0, 2, -1} {
		f(fmt.Sprintf(`job "j1": tasks: %d, expected 1`, tasks), func(j *Job) { j.Tasks = tasks })
	}
	f(`job "j1": run_time: -1 ms, expected 0 or more`, func(j *Job) { j.RunTime = -1 })

	// What a part refuses comes out with the job in front.
	f(`job "j1": request: cpu: -1, expected 0 or more`, func(j *Job) { j.Request.Amounts[0].Value = -1 })
	f(`job "j1": selector: key: empty, expected a label key`, func(j *Job) { j.Selectors[0].Key = "" })
	f(`job "j1": toleration: gpu: value "x" with exists, expected no value`, func(j *Job) { j.Tolerations[0].Value = "x" })
}

func TestRequestValidate(t *testing.T) {
	f := func(want string, change func(r *Request)) {
		t.Helper()
		j := goodJob()
		change(&j.Request)
		refuses(t, j.Request.Validate("job j"), want)
	}
	device := func(d DeviceRequest) func(*Request) { return func(r *Request) { r.Device = d } }

	f("", device(DeviceRequest{}))
	f("", device(DeviceRequest{Kind: "gpu", Count: 1, Milli: 1}))
	f("", device(DeviceRequest{Kind: "npu", Count: 1, Milli: 999, Models: []string{"x"}}))
	f("", device(DeviceRequest{Kind: "gpu", Count: 1, Milli: 1000}))
	f("", device(DeviceRequest{Kind: "gpu", Count: 32, Milli: 1000}))
	f("", func(r *Request) {
		r.Amounts = resource.List{{Name: "cpu", Value: 0}, {Name: "memory", Value: math.MaxInt64}}
	})

	amounts := func(a ...resource.Amount) func(*Request) { return func(r *Request) { r.Amounts = a } }
	f("job j: request: dimension with an empty name, expected a name such as cpu", amounts(resource.Amount{Value: 1}))
	f("job j: request: cpu: given twice, expected once", amounts(resource.Amount{Name: "cpu"}, resource.Amount{Name: "cpu"}))
	f("job j: request: cpu after memory, expected names in order", amounts(resource.Amount{Name: "memory"}, resource.Amount{Name: "cpu"}))
	f("job j: request: memory: -1, expected 0 or more", amounts(resource.Amount{Name: "memory", Value: -1}))

	const noCount = "job j: request: devices: kind, share or models without a count, expected a count of 1 or more"
	f(noCount, device(DeviceRequest{Kind: "gpu"}))
	f(noCount, device(DeviceRequest{Milli: 1}))
	f(noCount, device(DeviceRequest{Models: []string{"A100"}}))
	f("job j: request: device kind: empty, expected a name", device(DeviceRequest{Count: 1, Milli: 1000}))
	f(`job j: request: device kind: "g u" has a space or control character at byte 1, expected none`, device(DeviceRequest{Kind: "g u", Count: 1, Milli: 1000}))
	for _, count := range []int32{-1, 33, math.MinInt32, math.MaxInt32} {
		f(fmt.Sprintf("job j: request: gpu: count %d, expected 1 to 32", count), device(DeviceRequest{Kind: "gpu", Count: count, Milli: 1000}))
	}
	for _, milli := range []int32{0, -1, 1001, math.MinInt32, math.MaxInt32} {
		f(fmt.Sprintf("job j: request: gpu: share %d milli, expected 1 to 1000", milli), device(DeviceRequest{Kind: "gpu", Count: 1, Milli: milli}))
	}
	f("job j: request: gpu: 2 devices of 500 milli each, expected whole devices or a share of one", device(DeviceRequest{Kind: "gpu", Count: 2, Milli: 500}))
	models := func(m ...string) func(*Request) { return func(r *Request) { r.Device.Models = m } }
	f("job j: request: device model: empty, expected a name", models(""))
	f(`job j: request: device models: "A" after "B", expected sorted and distinct`, models("B", "A"))
	f(`job j: request: device models: "A" after "A", expected sorted and distinct`, models("A", "A"))
	f("job j: request: gpu: both an amount and a device kind, expected one of them", amounts(resource.Amount{Name: "gpu"}))
}

func TestDeviceRequest(t *testing.T) {
	f := func(count, milli int32, shared bool, total int64) {
		t.Helper()
		d := DeviceRequest{Kind: "gpu", Count: count, Milli: milli}
		if d.Shared() != shared || d.Total() != total {
			t.Errorf("%d x %d: shared %v, total %d; expected %v, %d", count, milli, d.Shared(), d.Total(), shared, total)
		}
	}
	f(0, 0, false, 0)
	f(1, 1, true, 1)
	f(1, 999, true, 999)
	f(1, 1000, false, 1000)
	f(2, 1000, false, 2000)
	f(32, 1000, false, 32000)
}
