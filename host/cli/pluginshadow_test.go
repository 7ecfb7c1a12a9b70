package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

func TestShadowCommands(t *testing.T) {
	d := remoteDaemon(t)
	d.prints("poise: shadow of tenant \"default\": no such shadow of tenant\n", 3, "plugin", "shadow", "report")
	d.prints("shadow of tenant default: cost@ sha256:00\n", 0, "plugin", "shadow", "start", "cost", "--param", "a=b", "--weight", "0.5")
	d.run(1, "plugin", "shadow", "start", "cost")
	d.run(2, "plugin", "shadow", "start")
	d.run(2, "plugin", "shadow", "report", "--rows", "-1")
	loss := func(x float64) *float64 { return &x }
	end := 0.1
	d.SetShadow(poise.DefaultTenant, client.Shadow{
		Tenant: "default", Plugin: "cost", Version: "1.2.0", Digest: "sha256:00", Params: map[string]string{"a": "b"}, OnFailure: "reject", By: "user 0",
		Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Decisions: 3000, Dropped: 7, Agreed: 2999, SameVerdict: 3000, Faulted: 2, Faults: map[string]int64{"fuel": 1, "trap": 2},
		Fuel: client.ShadowFuel{PerDecision: 1234.5, Most: 2000, Budget: 1_000_000, PerSecond: 200_000_000},
		Cost: client.ShadowSpread{Count: 3, Mean: 0.05, Most: 0.5, Bands: []client.ShadowBand{{UpTo: &end, Count: 2}, {Count: 1}}},
		Latest: []client.ShadowDifference{
			{
				Index: 9, Name: "train", Live: client.ShadowChoice{Verdict: "placed", Node: "a", Devices: []uint16{0, 1}}, Would: client.ShadowChoice{Verdict: "fits-not-now", Reason: "too old"},
				LiveOnLive: client.ShadowOpinion{Loss: loss(1), Tier: 1}, WouldOnLive: client.ShadowOpinion{Refused: "too old"},
			},
			{
				Index: 9, Name: "wide", Job: "w1", Live: client.ShadowChoice{Node: "a"}, Would: client.ShadowChoice{Node: "b"}, LiveOnLive: client.ShadowOpinion{Loss: loss(1)},
				Gang: &client.ShadowGang{Tasks: 20, Differ: 17, Members: []client.ShadowMember{
					{Job: "w0", Live: client.ShadowChoice{Node: "a", Domain: "r1"}, Would: client.ShadowChoice{Node: "b", Domain: "r2"}},
					{Job: "w1", Index: 1, Live: client.ShadowChoice{Node: "a", Domain: "r1", Devices: []uint16{0}}, Would: client.ShadowChoice{Node: "b", Domain: "r2"}},
				}},
			},
			{
				Index: 8, Name: "far", Job: "f19", Live: client.ShadowChoice{Node: "a"}, Would: client.ShadowChoice{Node: "b"}, LiveOnLive: client.ShadowOpinion{Loss: loss(1)},
				Gang: &client.ShadowGang{Tasks: 20, Differ: 20, Members: []client.ShadowMember{{Job: "f0", Live: client.ShadowChoice{Node: "a"}, Would: client.ShadowChoice{Node: "b"}}}},
			},
			{Index: 8, Name: "evil\x1b[2J", Live: client.ShadowChoice{Node: "a"}, Would: client.ShadowChoice{Node: "b"}},
		},
		Largest: []client.ShadowDifference{},
		Fleet: &client.ShadowRerun{
			From: 4, To: 9, Decided: 5, Moved: 3, Live: client.ShadowFleet{Fill: map[string]float64{"cpu": 0.5, "gpu": 0.25}, Stranded: 2, Balance: 0.9},
			Would: client.ShadowFleet{Fill: map[string]float64{"cpu": 0.5, "gpu": 0.75}, Balance: 0.95},
		},
	})
	out, _ := d.run(0, "plugin", "shadow", "report", "--fleet")
	golden(t, "shadow_report", out)
	out, _ = d.run(0, "plugin", "shadow", "report", "-o", "json")
	var v client.Shadow
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Decisions != 3000 || v.Fleet.Moved != 3 {
		t.Errorf("%+v, %v", v, err)
	}
	d.prints("no shadow runs\n", 0, "plugin", "shadow", "stop")
}

func TestRecordRefuses(t *testing.T) {
	d := remoteDaemon(t)
	d.run(2, "plugin", "test", "a.wasm", "b.wasm", "--record", t.TempDir())
	d.run(2, "plugin", "test", "--record", t.TempDir(), "--last", "1", "--differing")
	d.SetCases(client.RecordedCases{Plugin: "talk", Weight: 1}, client.Scene{})
	if _, errs := d.run(1, "plugin", "test", "../../plugins/binpack/binpack.wasm", "--record", t.TempDir()); !strings.Contains(errs, "a test case runs the plugin alone") {
		t.Error(errs)
	}
	d.SetCases(client.RecordedCases{Plugin: "talk", Digest: "sha256:00"}, client.Scene{})
	if _, errs := d.run(1, "plugin", "test", "../../plugins/binpack/binpack.wasm", "--record", t.TempDir()); !strings.Contains(errs, "expected sha256:00, which made the decisions") {
		t.Error(errs)
	}
}

// A tenant runs a plugin as its shadow, reads the report, takes cases from it
// that pass, and puts it in force behind the gate.
func TestShadowRound(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	dir := t.TempDir()
	program := program(t)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fleet := write("fleet.yaml", "node: n\ncount: 6\ncapacity: {cpu: 32, memory: 128Gi}\ndevices: {kind: gpu, model: A100, count: 4}\n---\nnode: z\ncount: 3\ncapacity: {cpu: 16, memory: 256Gi}\n")
	env := append(os.Environ(), "POISE_DATA_DIR="+filepath.Join(dir, "data"), "POISE_ENGINE_KIND=sim", "POISE_CLUSTER_INVENTORY="+fleet, "POISE_API_LISTEN=127.0.0.1:0")
	var log bytes.Buffer
	serve := exec.Command(program, "serve")
	serve.Env, serve.Stdout, serve.Stderr = env, &log, &log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- serve.Wait() }()
	defer func() {
		_ = serve.Process.Kill()
		<-stopped
	}()
	for {
		if c, err := net.Dial("unix", filepath.Join(dir, "data", "poise.sock")); err == nil {
			_ = c.Close()
			break
		}
		select {
		case err := <-stopped:
			stopped <- err
			t.Fatalf("serve: %v\n%s", err, &log)
		case <-time.After(50 * time.Millisecond):
		}
	}
	run := func(code int, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Env = env
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("poise %s: exit %d, expected %d\n%s\n%s", strings.Join(args, " "), got, code, out, &log)
		}
		return string(out)
	}
	const module = "../../plugins/binpack/binpack.wasm"
	run(0, "plugin", "push", module)
	run(0, "plugin", "shadow", "start", "binpack")
	var jobs strings.Builder
	for i := range 30 {
		fmt.Fprintf(&jobs, "job: cpu%d\nrequest: {cpu: %d, memory: %dGi}\nrun_time: 1h\n---\njob: gpu%d\nrequest: {cpu: 1, memory: 1Gi, gpu: %s}\nrun_time: 1h\n---\n",
			i, 1+i%3, 1+i%5, i, []string{"1", "500m"}[i%2])
	}
	run(0, "job", "submit", write("jobs.yaml", jobs.String()))
	var v client.Shadow
	for begun := time.Now(); v.Decisions+v.Dropped < 60; {
		if time.Since(begun) > time.Minute {
			t.Fatalf("%+v", v)
		}
		if err := json.Unmarshal([]byte(run(0, "plugin", "shadow", "report", "-o", "json")), &v); err != nil {
			t.Fatal(err)
		}
	}
	if v.Agreed == v.Decisions || v.Faulted != 0 {
		t.Fatalf("%+v, expected differences and no faults", v)
	}
	if out := run(0, "plugin", "shadow", "report", "--fleet"); !strings.Contains(out, "placements decided again") || !strings.Contains(out, "stranded devices") {
		t.Error(out)
	}
	// What is recorded passes as it was recorded, with the module and without.
	for _, args := range [][]string{{"--differing"}, {module}} {
		cases := filepath.Join(dir, fmt.Sprint("cases", len(args[0])))
		out := run(0, append([]string{"plugin", "test", "--record", cases}, args...)...)
		files, err := os.ReadDir(cases)
		if err != nil || len(files) == 0 || strings.Contains(out, "left out ") {
			t.Fatalf("%v: %d cases\n%s", err, len(files), out)
		}
		if out := run(0, "plugin", "test", module, cases); !strings.Contains(out, fmt.Sprintf("%d ok, 0 failed", len(files))) {
			t.Error(out)
		}
	}
	out := run(1, "plugin", "activate", "binpack", "--if-agreement", "1", "--min-decisions", "1000", "--max-faults", "0")
	if !strings.Contains(out, fmt.Sprintf("decisions: %d compared, expected 1000 at least; agreement: ", v.Decisions)) {
		t.Error(out)
	}
	run(0, "plugin", "activate", "binpack", "--if-agreement", fmt.Sprint(v.Agreement), "--min-decisions", fmt.Sprint(v.Decisions), "--max-faults", "0")
	run(3, "plugin", "shadow", "report")
	// Of the policy in force, the latest decisions.
	run(0, "job", "submit", write("more.yaml", "job: more\ncount: 5\nrequest: {cpu: 1}\nrun_time: 1h\n"))
	latest := filepath.Join(dir, "latest")
	for begun := time.Now(); ; {
		out = run(0, "plugin", "test", "--record", latest, "--last", "5")
		if files, err := os.ReadDir(latest); err == nil && len(files) == 5 {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatal(out)
		}
	}
	run(0, "plugin", "test", module, latest)
}
