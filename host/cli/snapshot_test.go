package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/snapshot"
	"github.com/poise-sched/poise/host/state"
)

// shelf has plugins by digest.
type shelf map[string][]byte

func (s shelf) Module(_ context.Context, digest string) ([]byte, error) {
	if bin, ok := s[digest]; ok {
		return bin, nil
	}
	return nil, &poise.Error{Kind: poise.NotFound, Detail: digest}
}

// snapshotFile writes a snapshot of a small fleet: a job runs, one waits, tenant u
// has a plugin; and what more events lead to.
func snapshotFile(t *testing.T, more ...poise.Body) string {
	t.Helper()
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	bin, err := os.ReadFile("../../plugins/dotproduct/dotproduct.wasm")
	if err != nil {
		t.Fatal(err)
	}
	node := func(name string, cpu int64) poise.NodeJoined {
		return poise.NodeJoined{Node: poise.Node{Name: name, Cluster: "c", Capacity: resource.List{{Name: "cpu", Value: cpu}}}}
	}
	job := func(id string, cpu int64) poise.JobSubmitted {
		return poise.JobSubmitted{Job: poise.Job{ID: poise.JobID(id), Name: id, Tenant: "t", Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: cpu}}}}}
	}
	for _, body := range append([]poise.Body{
		poise.SchedulerSet{Scheduler: poise.Scheduler{
			Policy: "idle-balance", Ties: "name", ProtectDevices: true, Beta: 0.375, Lambda: 0.15, Gamma: 2, Epsilon: 0.1, Cover: 0.97, Shapes: 64,
			Limits: poise.PluginLimits{Memory: 4 << 20, GoMemory: 16 << 20, CallFuel: 1e6, GoCallFuel: 4e5, SetupFuel: 2e7, JobFuel: 1e6, RowFuel: 16384, ShapeFuel: 1024},
		}},
		node("n1", 4000), node("n2", 8000),
		poise.PolicySet{Activation: poise.Activation{Tenant: "u", Plugin: "dotproduct", Version: "1.0.0", Digest: snapshot.Digest(bin)}},
		job("runs", 1000), job("waits", 100_000),
		poise.JobPlaced{Placement: poise.Placement{Job: "runs", Node: "n1"}},
	}, more...) {
		if err := s.Apply(poise.Event{Index: s.Index() + 1, At: 1_700_000_000_000, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	file, err := snapshot.Encode(t.Context(), s, shelf{snapshot.Digest(bin): bin})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "s.snapshot")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestSnapshotShow(t *testing.T) {
	name := snapshotFile(t)
	out, errs, code := runPoise("snapshot", "show", name)
	for _, want := range []string{"checksum ", "right", "behind event", "7\n", "2023-11-14T22:13:20Z", "1 wait, 1 run", "policy of u", "dotproduct 1.0.0, in force, sha256:", "part "} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%d, %s%s, expected %q", code, out, errs, want)
		}
	}
	out, _, _ = runPoise("snapshot", "show", name, "-o", "json")
	var v snapshotView
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Index != 7 || len(v.Parts) != 3 || !v.Policies[0].Here || !v.Policies[0].InForce {
		t.Errorf("%+v, %v", v, err)
	}
	bin, _ := os.ReadFile(name)
	bin[100] ^= 1
	if err := os.WriteFile(name, bin, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := runPoise("snapshot", "show", name); code != 1 || !strings.Contains(errs, "checksum") {
		t.Errorf("%d, %s, expected the checksum refused", code, errs)
	}
	if _, _, code := runPoise("snapshot", "show", "none"); code != 3 {
		t.Errorf("%d, expected 3", code)
	}
}

// Jobs are planned in the order of the queue, each behind those before it, under
// the policy of their tenant.
func TestPlanOnSnapshot(t *testing.T) {
	name := snapshotFile(t)
	jobs := filepath.Join(t.TempDir(), "jobs.yaml")
	text := "job: low\nrequest: {cpu: 3}\n---\njob: high\npriority: 9\nrequest: {cpu: 8}\n---\njob: none\nrequest: {cpu: 5}\n---\njob: never\nrequest: {cpu: 50}\n"
	if err := os.WriteFile(jobs, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(tenant string, want map[string]string, policy string) {
		t.Helper()
		out, errs, code := runPoise("plan", "--snapshot", name, jobs, "-o", "json", "--tenant", tenant)
		var o client.Outlook
		if err := json.Unmarshal([]byte(out), &o); code != 0 || err != nil {
			t.Fatalf("%d, %v, %s", code, err, errs)
		}
		if len(o.Jobs) != 4 || o.Jobs[0].Job != "high" {
			t.Errorf("%d plans, first %s, expected 4, the urgent one first", len(o.Jobs), o.Jobs[0].Job)
		}
		for i := range o.Jobs {
			d := o.Jobs[i].Decision
			if got := d.Verdict + " " + d.Node; got != want[o.Jobs[i].Job] || d.Policy != policy {
				t.Errorf("%s: %s by %s, expected %s by %s", o.Jobs[i].Job, got, d.Policy, want[o.Jobs[i].Job], policy)
			}
		}
	}
	want := map[string]string{"high": "placed n2", "low": "placed n1", "none": "fits-not-now ", "never": "never-fits "}
	f("t", want, "idle-balance")
	f("u", want, "dotproduct")
	out, _, _ := runPoise("plan", "--snapshot", name, jobs)
	golden(t, "plan_snapshot", out)
	for _, line := range []string{"ORDER  JOB ", "1      high", "cpu)"} {
		if !strings.Contains(out, line) {
			t.Errorf("%s\nexpected %q", out, line)
		}
	}
	out, _, _ = runPoise("plan", "--snapshot", name, "--cpu", "1")
	if !strings.Contains(out, "placed on node n1") {
		t.Errorf("%s\nexpected one job explained in full", out)
	}
	if _, errs, code := runPoise("plan", "--snapshot", name, "--cpu", "1", "--tenant", "No"); code != 1 || !strings.Contains(errs, `id: "No"`) {
		t.Errorf("%d, %s, expected the tenant refused", code, errs)
	}
}
