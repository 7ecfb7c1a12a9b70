package manifest

import (
	"reflect"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

func TestDecodeWorkload(t *testing.T) {
	w, err := DecodeWorkload("w.yaml", strings.NewReader(`tenant: org
weight: 2
---
tenant: lab
parent: org
quotas: {gpu: {guaranteed: 2, limit: 4, reserved: 1}, cpu: {limit: 8}}
---
job: a
tenant: lab
request: {cpu: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []poise.Tenant{{ID: "org", Weight: 2}, {ID: "lab", Parent: "org", Quotas: []poise.Quota{
		{Resource: "gpu", Guaranteed: 2000, Limit: 4000, Reserved: 1000}, {Resource: "cpu", Limit: 8000},
	}}}
	if !reflect.DeepEqual(w.Tenants, want) || len(w.Jobs) != 1 || w.Jobs[0].Tenant != "lab" {
		t.Errorf("got tenants %+v and jobs %+v, want %+v and job a", w.Tenants, w.Jobs, want)
	}
}

func TestDecodeWorkloadRefuses(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if _, err := DecodeWorkload("w.yaml", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	f("tenant: a\nlimit: 3", "limit: unknown field: expected one of tenant, parent, weight, quotas")
	f("tenant: A", "tenant")
	f("tenant: a\nweight: much", `weight: "much": expected a number`)
	f("tenant: a\nweight: -1", "weight: -1: expected 0 or")
	f("tenant: a\n---\ntenant: a", "every tenant once")
	f("tenant: a\nquotas: {cpu: {most: 1}}", "quotas.cpu.most: unknown field")
	f("tenant: a\nquotas: {cpu: {limit: many}}", "quotas.cpu.limit")
	f("tenant: a\nquotas: {cpu: {guaranteed: 2, limit: 1}}", "quota: cpu: limit")
}

// Where no run in virtual time reads the file, a tenant is not a job.
func TestJobsDeclareNoTenants(t *testing.T) {
	if _, err := DecodeJobs("w.yaml", strings.NewReader("tenant: a\nweight: 1")); err == nil || !strings.Contains(err.Error(), "weight: unknown field") {
		t.Errorf("got %v, want an unknown field", err)
	}
}

// What a job comes after is ids in a run: the name of a gang or an array is all of its
// jobs, that of a job goes before.
func TestWorkloadAfter(t *testing.T) {
	w, err := DecodeWorkload("w.yaml", strings.NewReader(`job: a
array: {count: 3, parallel: 2}
hold: true
tenant: t
request: {cpu: 1}
---
job: g
tasks: 2
request: {cpu: 1}
---
job: g-0-x
after: [a, a-1]
after_any: [g]
after_failure: [later]
request: {cpu: 1}
---
job: later
request: {cpu: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	f := func(i int, name, held string, after, any, failed []poise.JobID) {
		t.Helper()
		j := &w.Jobs[i]
		if j.Name != name || j.Held != held || !reflect.DeepEqual(j.After, after) || !reflect.DeepEqual(j.Any, any) || !reflect.DeepEqual(j.Failed, failed) {
			t.Errorf("job %d: %+v, expected %s held by %q after %v, any %v, failed %v", i, j, name, held, after, any, failed)
		}
	}
	f(1, "a-1", "t", nil, nil, nil)
	f(2, "a-2", "t", []poise.JobID{"a-0"}, []poise.JobID{"a-0"}, nil)
	f(5, "g-0-x", "", []poise.JobID{"a-0", "a-1", "a-2", "g-0", "g-1", "later"}, []poise.JobID{"g-0", "g-1"}, []poise.JobID{"later"})

	_, err = DecodeWorkload("w.yaml", strings.NewReader("job: a\nrequest: {}\n---\njob: b\nrequest: {}\nafter: [a]\nafter_failure: [a]"))
	if want := `w.yaml:4: after_failure: "a" is in after too: expected each job in one of them`; err == nil || err.Error() != want {
		t.Errorf("got %v, expected %q", err, want)
	}
}
