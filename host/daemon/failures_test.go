package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// cause makes a plugin fail with a code, once it is in force or before.
type cause struct {
	code   abi.Code
	module string            // of the hostile suite; "" = a good one
	params map[string]string // of the activation
	harm   func(t *testing.T, d *Daemon, digest string)
}

// causes has each code of the contract, provoked by a real module or a real
// fault.
func causes() []cause {
	return []cause{
		{code: abi.CodeFetch, harm: func(t *testing.T, d *Daemon, digest string) {
			if err := d.store.DeleteModule(t.Context(), digest); err != nil {
				t.Fatal(err)
			}
		}},
		{code: abi.CodeDigest, harm: func(t *testing.T, d *Daemon, digest string) {
			if err := d.store.DeleteModule(t.Context(), digest); err != nil {
				t.Fatal(err)
			}
			if err := d.store.PutModule(t.Context(), digest, firstParty(t, "binpack")); err != nil {
				t.Fatal(err)
			}
		}},
		{code: abi.CodeVerify, module: "table-set"},
		{code: abi.CodeCompile, module: "type-mismatch"},
		{code: abi.CodeConfigure, params: map[string]string{"cpu_max": "many"}},
		{code: abi.CodeTrap, module: "trap-unreachable"},
		{code: abi.CodeFuel, module: "loop-score"},
		{code: abi.CodeMemory, module: "memory-beyond-cap"},
		{code: abi.CodeDepth, module: "recursion-endless"},
		{code: abi.CodeBadOutput, module: "output-nan"},
		{code: abi.CodeStatus, module: "output-status"},
		{code: abi.CodeMissingExport, module: "missing-describe"},
		{code: abi.CodeABIMismatch, module: "abi-major"},
	}
}

// Each failure rule with each cause has the declared result: fallback decides by
// what is under the plugin, reject lets the job wait and says why, last-good
// decides by the version before, and waits where there is none.
func TestFailureMatrix(t *testing.T) {
	d := open(t, folder(t), nil)
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "c", nodes("n", 3, "1000"), ""); err != nil {
		t.Fatal(err)
	}
	all := causes()
	if len(all) != len(abi.Codes()) {
		t.Fatalf("%d causes, expected one for each of %d codes", len(all), len(abi.Codes()))
	}
	good := firstParty(t, "gpu-reserve")
	f := func(tenant poise.TenantID, c cause, rule string, before bool, state client.JobState, by string) {
		t.Helper()
		if before {
			keep(t, d, tenant, good, poise.RuleReject)
		}
		bin := firstParty(t, "bestfit")
		if c.module != "" {
			bin = hostile(t, c.module)
		}
		a := poise.Activation{Tenant: tenant, Plugin: "bad", Version: "1", Digest: digestOf(bin), Params: c.params, OnFailure: rule}
		if err := d.store.PutModule(ctx, a.Digest, bin); err != nil {
			t.Fatal(err)
		}
		if c.harm != nil {
			c.harm(t, d, a.Digest)
		}
		if err := d.change(ctx, poise.PolicySet{Activation: a}); err != nil {
			t.Fatal(err)
		}
		jobs, err := d.Submit(ctx, tenant, []client.JobSpec{job("j", "1m")}, "")
		if err != nil {
			t.Fatal(err)
		}
		var why client.Why
		eventually(t, "a decision", func() bool {
			why, err = d.Why(ctx, tenant, jobs[0].ID)
			return err == nil && why.Decision != nil && (state == client.Waiting && why.Job.Reason != "" || why.Job.State == state && state != client.Waiting)
		})
		name := string(c.code) + " " + rule
		if why.Job.State != state || !strings.Contains(why.Decision.Fault, string(c.code)) {
			t.Errorf("%s: %s, fault %q, expected %s and the code", name, why.Job.State, why.Decision.Fault, state)
		}
		if state == client.Waiting && !strings.Contains(why.Job.Reason, "policy") {
			t.Errorf("%s: reason %q", name, why.Job.Reason)
		}
		used := ""
		for _, p := range why.Decision.Plugins {
			if p.Calls > 0 && p.Digest == digestOf(good) {
				used = "before"
			}
		}
		if used != by {
			t.Errorf("%s: decided by %q, expected %q: %+v", name, used, by, why.Decision.Plugins)
		}
		if c.harm != nil { // for the next one
			if err := d.store.DeleteModule(ctx, a.Digest); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Deactivate(ctx, tenant); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range all {
		if c.code != abi.Codes()[i] {
			t.Errorf("cause %d is of %s, expected %s", i, c.code, abi.Codes()[i])
		}
		tenant := poise.TenantID("t-" + string(c.code))
		f(tenant+"-f", c, poise.RuleFallback, true, client.Running, "")
		f(tenant+"-r", c, poise.RuleReject, true, client.Waiting, "")
		f(tenant+"-l", c, poise.RuleLastGood, true, client.Running, "before")
		f(tenant+"-n", c, poise.RuleLastGood, false, client.Waiting, "")
	}
}

// startHere runs a daemon until stop is called.
func startHere(t *testing.T, dir string) (d *Daemon, stop func()) {
	t.Helper()
	d, err := Open(t.Context(), options(t, dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	return d, func() {
		t.Helper()
		cancel()
		if err := errors.Join(<-done, d.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// A daemon starts with one plugin's bytes gone, another's changed, and a file of
// compiled code harmed: only who has the broken ones is degraded, by their rule.
func TestStartWithCorruptPlugins(t *testing.T) {
	dir := folder(t)
	d, stop := startHere(t, dir)
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "c", nodes("n", 3, "1000"), ""); err != nil {
		t.Fatal(err)
	}
	mine := map[poise.TenantID]*poise.Activation{
		"gone": keep(t, d, "gone", firstParty(t, "bestfit"), poise.RuleReject), "changed": keep(t, d, "changed", firstParty(t, "binpack"), poise.RuleFallback),
		"cached": keep(t, d, "cached", firstParty(t, "fgd"), poise.RuleReject), "good": keep(t, d, "good", firstParty(t, "gpu-reserve"), poise.RuleReject),
	}
	stop()
	s, err := store.Open(ctx, store.Options{Dir: storeDir(filepath.Join(dir, "data")), Now: func() int64 { return int64(now()) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteModule(ctx, mine["gone"].Digest); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteModule(ctx, mine["changed"].Digest); err != nil {
		t.Fatal(err)
	}
	if err := s.PutModule(ctx, mine["changed"].Digest, []byte("no module")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "data", "plugins", "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of compiled code, %v", len(files), err)
	}
	for _, name := range files {
		if err := os.WriteFile(name, []byte("harmed"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d = open(t, dir, nil)
	f := func(tenant poise.TenantID, state client.JobState, fault string) {
		t.Helper()
		jobs, err := d.Submit(ctx, tenant, []client.JobSpec{job("j", "1m")}, "")
		if err != nil {
			t.Fatal(err)
		}
		var why client.Why
		eventually(t, "a decision", func() bool {
			why, err = d.Why(ctx, tenant, jobs[0].ID)
			return err == nil && why.Decision != nil && (state == client.Waiting && why.Job.Reason != "" || why.Job.State == state && state != client.Waiting)
		})
		if why.Job.State != state || (fault == "") != (why.Decision.Fault == "") || !strings.Contains(why.Decision.Fault, fault) {
			t.Errorf("%s: %s, fault %q, expected %s, %q", tenant, why.Job.State, why.Decision.Fault, state, fault)
		}
	}
	f("gone", client.Waiting, "fetch")
	f("changed", client.Running, "digest")
	f("cached", client.Running, "")
	f("good", client.Running, "")
	f("none", client.Running, "")
	list, err := d.Policy(ctx, "gone")
	if err != nil || len(list.Layers) != 1 || !strings.Contains(list.Layers[0].Fault, "fetch") {
		t.Errorf("%+v, %v", list, err)
	}
}
