package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/sim"
)

const (
	exampleNodes = "../../examples/fleets/mixed.yaml"
	exampleJobs  = "../../examples/jobs/two-tenants.yaml"
)

// runPoise runs a command line and gives what it printed and its exit code.
func runPoise(args ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	code = Run(args, Streams{Out: &o, Err: &e})
	return o.String(), e.String(), code
}

func TestExitCodesAndMessages(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(code int, message string, args ...string) {
		t.Helper()
		out, errs, got := runPoise(args...)
		if got != code || !strings.Contains(errs, message) {
			t.Errorf("poise %s: exit %d, %q; expected exit %d and %q", strings.Join(args, " "), got, errs, code, message)
		}
		if code != 0 && out != "" {
			t.Errorf("poise %s: printed %q though it did not succeed", strings.Join(args, " "), out)
		}
	}
	run := func(more ...string) []string {
		return append([]string{"sim", "run", "--nodes", exampleNodes, "--jobs", exampleJobs}, more...)
	}
	f(0, "", "sim", "--help")
	f(0, "", "version")
	f(2, `unknown command "simulate"`, "simulate")
	f(2, "--nodes: not given", "sim", "run")
	f(2, "--jobs: not given", "sim", "run", "--nodes", exampleNodes)
	f(2, "unknown flag: --node", "sim", "run", "--node", "x")
	f(2, `--mode "reply": expected inflate, replay`, run("--mode", "reply")...)
	f(2, `--policy "best": unknown, expected one of idle-balance, `, run("--policy", "best")...)
	f(2, "or the path of a plugin, which ends in .wasm", run("--policy", "best.wasm.foo")...)
	f(2, "--param sensitive: \"x\", expected a whole number", run("--policy", neighbours, "--param", "sensitive=x")...)
	f(2, "--param sensitif: unknown parameter, expected one of sensitive, max_neighbours, preferred, beta,", run("--policy", neighbours, "--param", "sensitif=x")...)
	f(2, `--param "sensitive": expected NAME=VALUE`, run("--policy", neighbours, "--param", "sensitive")...)
	f(2, `--profile "on": expected online, workload`, run("--profile", "on")...)
	f(2, "--profile online: fgd takes", run("--profile", "online", "--policy", "fgd")...)
	f(2, `--ties "random": expected name, seeded, published`, run("--ties", "random")...)
	f(2, "--ties published: it comes with", run("--mode", "replay", "--ties", "published")...)
	f(2, `--output "xml": expected table, json, csv`, run("-o", "xml")...)
	f(2, "--copies, --from", run("--copies", "2")...)
	f(2, "--param beta: \"NaN\", expected a finite number", run("--param", "beta=NaN")...)
	f(2, "--param alpha: unknown parameter, expected one of beta,", run("--param", "alpha=x")...)
	f(2, `--param "beta": expected NAME=VALUE`, run("--param", "beta")...)
	f(2, `--seeds "44-42"`, "sim", "compare", "--nodes", exampleNodes, "--jobs", exampleJobs, "--seeds", "44-42")
	f(1, "beta: 9, expected 0.01 to 4", run("--param", "beta=9")...)
	f(1, "cpu: -1, expected 0", run("--param", "weight.cpu=-1")...)
	f(1, "cpu and memory: both 0", run("--param", "weight.cpu=0", "--param", "weight.memory=0")...)
	f(1, "arrivals: NaN, expected above 0 to 100", run("--arrivals", "NaN")...)
	f(1, "thin: 0, expected 1 or more", run("--thin", "0")...)
	f(1, "copies: 0, expected 1 to 1000", run("--mode", "replay", "--copies", "0")...)
	f(1, "expected at most the last arrival", run("--mode", "replay", "--from", "1000h")...)
	f(1, "empty.yaml", "sim", "run", "--nodes", empty, "--jobs", exampleJobs)
	f(3, "no-such-file", "sim", "run", "--nodes", "no-such-file.yaml", "--jobs", exampleJobs)
	f(3, "--why nobody: no such job", run("--mode", "replay", "--why", "nobody")...)
}

func TestRunPrintsOneObject(t *testing.T) {
	out, errs, code := runPoise("sim", "run", "--nodes", exampleNodes, "--jobs", exampleJobs, "--arrivals", "1.1", "--seed", "7", "-o", "json")
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(out), &object); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"policy", "seed", "mode", "nodes", "jobs", "placed", "failed", "alloc_at", "decisions_per_second", "digest"} {
		if _, ok := object[key]; !ok {
			t.Errorf("key %q is missing in %s", key, out)
		}
	}
	if object["seed"] != 7.0 || object["policy"] != "idle-balance" || object["mode"] != "inflate" {
		t.Errorf("policy %v, seed %v, mode %v", object["policy"], object["seed"], object["mode"])
	}
	if at := object["alloc_at"].(map[string]any); at["100"] == nil {
		t.Errorf("alloc_at has no 100: %v", at)
	}
}

// The demo's promise: every job is placed or waits for a reason, and the last
// line counts them.
func TestReplayExplains(t *testing.T) {
	out, errs, code := runPoise("sim", "run", "--nodes", exampleNodes, "--jobs", exampleJobs, "--mode", "replay", "--why", "train-giant")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := lines[len(lines)-1]
	if !strings.HasSuffix(last, " waiting") || !strings.Contains(last, " placed, ") {
		t.Errorf("last line %q, expected N placed, M waiting", last)
	}
	for _, part := range []string{"job train-giant of tenant research", "never fits the present nodes", "nearest: node"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing in\n%s", part, out)
		}
	}
}

// Results come in the order asked for, whatever ran first, and every run is the
// run that it would be alone.
func TestCompareEqualsRuns(t *testing.T) {
	common := []string{"--nodes", exampleNodes, "--jobs", exampleJobs, "-o", "json"}
	out, errs, code := runPoise(append([]string{"sim", "compare", "--policy", "idle-balance,random,fgd", "--seeds", "1-3"}, common...)...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var results []sim.Result
	if err := json.Unmarshal([]byte(out), &results); err != nil {
		t.Fatal(err)
	}
	i := 0
	for _, policy := range []string{"idle-balance", "random", "fgd"} {
		for _, seed := range []string{"1", "2", "3"} {
			out, _, _ := runPoise(append([]string{"sim", "run", "--policy", policy, "--seed", seed}, common...)...)
			var alone sim.Result
			if err := json.Unmarshal([]byte(out), &alone); err != nil {
				t.Fatal(err)
			}
			if results[i].Policy != policy || results[i].Digest != alone.Digest {
				t.Errorf("result %d is %s %s, expected %s %s", i, results[i].Policy, results[i].Digest, policy, alone.Digest)
			}
			i++
		}
	}
}

func TestWritesPages(t *testing.T) {
	dir := t.TempDir()
	html, svg := filepath.Join(dir, "run.html"), filepath.Join(dir, "run.svg")
	_, errs, code := runPoise("sim", "compare", "--nodes", exampleNodes, "--jobs", exampleJobs, "--policy", "idle-balance,best-fit", "--html", html, "--svg", svg)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for path, part := range map[string]string{html: "</html>", svg: "</svg>"} {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte(part)) {
			t.Errorf("%s: %v, %d bytes without %s", path, err, len(data), part)
		}
	}
	if _, errs, code := runPoise("sim", "run", "--nodes", exampleNodes, "--jobs", exampleJobs, "--html", filepath.Join(dir, "no", "such", "folder.html")); code == 0 {
		t.Errorf("a page in a folder that is not there was written: %s", errs)
	}
}
