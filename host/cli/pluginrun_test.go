package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
)

// Plugins of the tests: moody scores and fails as it is told, talk filters and
// prints.
const (
	moody = "testdata/plugins/moody.wasm"
	talk  = "testdata/plugins/talk.wasm"
	// neighbours reads labels, classes, domains and tasks.
	neighbours = "../../examples/plugins/quiet-neighbours/quiet-neighbours.wasm"
)

const runFleet = `node: a
labels: {rack: r1, zone: east}
capacity: {cpu: 8}
devices: {kind: gpu, model: T4, count: 2}
---
node: b
capacity: {cpu: 4}
---
node: c
capacity: {cpu: 1}
`

const runJobs = `job: small
request: {cpu: 1}
---
job: big
tenant: research
priority: 3
request: {cpu: 4, gpu: 1}
`

func TestRunGolden(t *testing.T) {
	nodes, jobs := put(t, "nodes.yaml", runFleet), put(t, "jobs.yaml", runJobs)
	running := put(t, "running.yaml", "job: r\nnode: a\nheld: [0]\nrequest: {cpu: 1, gpu: 1}\n")
	f := func(name string, args ...string) {
		t.Helper()
		out, errs, code := runPoise(append([]string{"plugin", "run"}, append(args, "--nodes", nodes)...)...)
		if code != 0 {
			t.Fatalf("%s: exit %d: %s", name, code, errs)
		}
		golden(t, name, out+"--- standard error\n"+errs)
	}
	f("run_scorer", moody, "--jobs", jobs, "--name", "big", "--running", running)
	f("run_seen", neighbours, "--jobs", jobs, "--name", "small", "--running", running)
	f("run_filter", talk, "--job", "{job: j, request: {cpu: 2}}", "--param", "least=5000")
	f("run_refused", talk, "--job", "{job: j, request: {cpu: 1}}", "--param", "least=9000")
	f("run_fallback", moody, "--job", "{job: j, request: {cpu: 1}}", "--param", "mood=trap")
	f("run_reject", talk, "--job", "{job: j, request: {cpu: 1}}", "--param", "least=0")
	f("run_weight", moody, "--job", "{job: j, request: {cpu: 1}}", "--weight", "2")
	f("run_json", moody, "--jobs", jobs, "--name", "big", "--running", running, "-o", "json")
	f("run_json_refused", talk, "--job", "{job: j, request: {cpu: 1}}", "--param", "least=9000", "-o", "json")
	f("run_json_fault", talk, "--job", "{job: j, request: {cpu: 1}}", "--param", "least=0", "-o", "json")
}

// A slip in a symbol is no error, since labels come and go, but it is said.
func TestRunWarnsOfStrangeSymbols(t *testing.T) {
	nodes := put(t, "nodes.yaml", runFleet)
	f := func(preferred, want string) {
		t.Helper()
		_, errs, code := runPoise("plugin", "run", neighbours, "--nodes", nodes, "--job", "{job: j, tenant: web, request: {cpu: 1}}", "--param", "preferred="+preferred)
		if code != 0 || errs != want {
			t.Errorf("%q: exit %d, %q; expected %q", preferred, code, errs, want)
		}
	}
	f("gpu-t4-2x", "") // a class
	f("east", "")
	f("T4", "")
	f("gpu", "")
	f("web", "")
	f("", "")
	f("est", "warning: --param preferred: \"est\", which no label, class or device of the fleet and no tenant of the jobs has\n")
}

// B62: every way to fail has a code of its own, and a scorer that fails leaves
// the job to the native policy.
func TestRunNamesTheFault(t *testing.T) {
	nodes := put(t, "nodes.yaml", runFleet)
	f := func(mood, code string) {
		t.Helper()
		out, errs, exit := runPoise("plugin", "run", moody, "--nodes", nodes, "--job", "{job: j, request: {cpu: 1}}", "--param", "mood="+mood, "-o", "json")
		if exit != 0 {
			t.Fatalf("exit %d: %s", exit, errs)
		}
		var r pluginRunResult
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		if code == "" {
			if r.Fault != nil || r.Policy != "moody" {
				t.Errorf("%s: fault %+v, policy %s", mood, r.Fault, r.Policy)
			}
			return
		}
		if r.Fault == nil || string(r.Fault.Code) != code || r.Fault.Rule != "fallback" || r.Policy != idleBalance || r.Node == "" {
			t.Errorf("%s: fault %+v, policy %s, node %q; expected %s and the fallback", mood, r.Fault, r.Policy, r.Node, code)
		}
	}
	f("well", "")
	f("trap", "trap")
	f("fuel", "fuel")
	f("memory", "memory")
	f("depth", "depth")
	f("nan", "bad-output")
	f("range", "bad-output")
	f("status", "status")
}

func TestRunExitCodes(t *testing.T) {
	nodes, jobs := put(t, "nodes.yaml", runFleet), put(t, "jobs.yaml", runJobs)
	elsewhere := put(t, "running.yaml", "job: r\nnode: z\nrequest: {cpu: 1}\n")
	tooMuch := put(t, "running.yaml", "job: r\nnode: c\nrequest: {cpu: 2}\n")
	f := func(code int, message string, args ...string) {
		t.Helper()
		out, errs, got := runPoise(append([]string{"plugin", "run"}, args...)...)
		if got != code || !strings.Contains(errs, message) || out != "" {
			t.Errorf("poise plugin run %s: exit %d, %q, %q; expected exit %d and %q", strings.Join(args, " "), got, out, errs, code, message)
		}
	}
	f(2, "0 files, expected one", "--nodes", nodes)
	f(2, "--nodes: not given", moody)
	f(2, "--jobs, --job: expected one of them", moody, "--nodes", nodes)
	f(2, "--jobs, --job: expected one of them", moody, "--nodes", nodes, "--jobs", jobs, "--job", "{job: j, request: {cpu: 1}}")
	f(2, "--name: it picks a job from --jobs", moody, "--nodes", nodes, "--job", "{job: j, request: {cpu: 1}}", "--name", "j")
	f(2, "--name: not given, expected one of the 2 jobs", moody, "--nodes", nodes, "--jobs", jobs)
	f(2, `--output "xml"`, moody, "--nodes", nodes, "--jobs", jobs, "-o", "xml")
	f(2, "--weight -1", moody, "--nodes", nodes, "--jobs", jobs, "--weight", "-1")
	f(2, "--job: it gives 2, expected one job, or all tasks of one gang", moody, "--nodes", nodes, "--job", "{job: j, count: 2, request: {cpu: 1}}")
	f(2, `--param "mood": expected NAME=VALUE`, moody, "--nodes", nodes, "--jobs", jobs, "--name", "big", "--param", "mood")
	f(2, `mood: "glad", expected one of well`, moody, "--nodes", nodes, "--jobs", jobs, "--name", "big", "--param", "mood=glad")
	f(2, "least: not given", talk, "--nodes", nodes, "--jobs", jobs, "--name", "big")
	f(2, "declares no loss_range", talk, "--nodes", nodes, "--jobs", jobs, "--name", "big", "--param", "least=1", "--weight", "1")
	f(3, "--name huge: no such job", moody, "--nodes", nodes, "--jobs", jobs, "--name", "huge")
	f(3, "none.wasm: no such file", "none.wasm", "--nodes", nodes, "--jobs", jobs, "--name", "big")
	f(3, "none.yaml", moody, "--nodes", nodes, "--jobs", jobs, "--name", "big", "--running", "none.yaml")
	f(3, "none.yaml", moody, "--nodes", nodes, "--jobs", jobs, "--name", "big", "--workload", "none.yaml")
	f(1, "poise: --job: request.cpu:", moody, "--nodes", nodes, "--job", "{job: j, request: {cpu: -1}}")
	f(1, "poise: --job: did not find", moody, "--nodes", nodes, "--job", "{job: j")
	f(1, `running job "r": node: "z", expected a node of the fleet`, moody, "--nodes", nodes, "--jobs", jobs, "--name", "big", "--running", elsewhere)
	f(1, `running job "r": on node "c": cpu: request 2, idle 1, expected what fits`, moody, "--nodes", nodes, "--jobs", jobs, "--name", "big", "--running", tooMuch)
}

// A profile is what --workload says, else what runs and the job.
func TestTrialProfile(t *testing.T) {
	job := benchJob("j", 0, resource.List{{Name: "cpu", Value: 1000}}, poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 500})
	sc := scene{
		nodes:   []poise.Node{{Name: "a", Capacity: resource.List{{Name: "cpu", Value: 8000}}, Devices: poise.Devices{Kind: "gpu", Count: 4}}},
		running: []manifest.Running{{Job: benchJob("r", 0, resource.List{{Name: "cpu", Value: 2000}}, poise.DeviceRequest{}), Node: "a"}},
		job:     job,
	}
	f := func(want float64) {
		t.Helper()
		p := sched.NewPipeline(sched.Policy{Scorer: &candidates{}})
		defaults, err := parseParams(nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := sc.build(poise.SymbolsWanted{}, &defaults.params, p)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.View().Demand().Total; got != want {
			t.Errorf("%v jobs counted, expected %v", got, want)
		}
	}
	f(2)
	sc.workload = benchWorkload(5)
	f(5)
	sc.workload = []manifest.Job{}
	f(0)
}

// Devices that a running job is not told to hold are those that a pipeline would
// give it.
func TestHostsChoiceIsThePipelines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Int32Range(1, 6).Draw(t, "devices")
		sc := scene{nodes: []poise.Node{{Name: "a", Capacity: resource.List{{Name: "cpu", Value: 1 << 40}}, Devices: poise.Devices{Kind: "gpu", Count: count}}}}
		for i := range uint16(count) {
			if milli := rapid.Int32Range(0, 10).Draw(t, "used") * 100; milli > 0 {
				r := manifest.Running{Job: benchJob("r"+string(rune('0'+i)), 0, nil, poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: milli}), Node: "a", Held: []uint16{i}}
				sc.running = append(sc.running, r)
			}
		}
		ask := poise.DeviceRequest{Kind: "gpu", Count: rapid.Int32Range(1, 4).Draw(t, "count"), Milli: poise.WholeDevice}
		if ask.Count == 1 {
			ask.Milli = rapid.Int32Range(1, 10).Draw(t, "milli") * 100
		}
		sc.job = benchJob("j", 0, nil, ask)
		p := sched.NewPipeline(sched.Policy{Scorer: &candidates{}})
		defaults, err := parseParams(nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := sc.build(poise.SymbolsWanted{}, &defaults.params, p)
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.Plan(s.View(), s.Job("j"), sched.Pass{Detail: sched.Brief})
		if err != nil {
			t.Fatal(err)
		}
		got := hostsChoice(s.View().Free(0), &ask)
		if fits := len(got) == int(ask.Count); fits != (d.Verdict == poise.Placed) || fits && !slices.Equal(got, d.Devices) {
			t.Fatalf("%v of %v for %+v, the pipeline takes %v", got, s.View().Free(0), ask, d.Devices)
		}
	})
}

// The committed modules are those of the sources.
func TestTestPluginsAreFresh(t *testing.T) {
	wat2wasm, err := exec.LookPath("wat2wasm")
	if err != nil {
		t.Skip("wat2wasm is not here")
	}
	for _, module := range []string{moody, talk} {
		made := filepath.Join(t.TempDir(), "made.wasm")
		if out, err := exec.Command(wat2wasm, strings.TrimSuffix(module, "wasm")+"wat", "-o", made).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		a, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(module); err != nil || !slices.Equal(a, b) {
			t.Errorf("%s is not what its source makes (%v)", module, err)
		}
	}
}
