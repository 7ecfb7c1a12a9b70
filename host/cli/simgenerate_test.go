package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestSimGenerate(t *testing.T) {
	out, errs, code := runPoise("sim", "generate", "--seed", "2", "--jobs", "6", "--span", "1h", "--tenants", "2", "--chains", "0.5")
	if code != 0 {
		t.Fatal(errs)
	}
	golden(t, "sim_generate", out)
	for _, name := range []string{"jobs.yaml", "jobs.swf"} {
		path := filepath.Join(t.TempDir(), name)
		_, errs, code := runPoise("sim", "generate", "--jobs", "300", "-o", path)
		if wrote := strings.Contains(errs, "jobs are written without theirs"); code != 0 || wrote != (name == "jobs.swf") {
			t.Fatalf("%s: exit %d, %q", name, code, errs)
		}
		out, errs, code := runPoise("sim", "run", "--nodes", exampleNodes, "--jobs", path, "--mode", "replay")
		if code != 0 || !strings.Contains(out, "300 placed") && !strings.Contains(out, " waiting") {
			t.Errorf("%s: exit %d, %q, %s", name, code, errs, out)
		}
	}
	out, errs, code = runPoise("sim", "run", "--nodes", exampleNodes, "--jobs", "../../examples/jobs/day.swf", "--mode", "replay")
	if code != 0 || !strings.Contains(out, "211 placed, 5 waiting") {
		t.Errorf("the example: exit %d, %q, %s", code, errs, out)
	}
}

func TestSimGenerateRefuses(t *testing.T) {
	f := func(code int, message string, args ...string) {
		t.Helper()
		out, errs, got := runPoise(append([]string{"sim", "generate"}, args...)...)
		if got != code || !strings.Contains(errs, message) || out != "" {
			t.Errorf("%v: exit %d, %q; expected %d, %q", args, got, errs, code, message)
		}
	}
	f(2, `--class "cpu=x": cpu: "x"`, "--class", "cpu=x")
	f(2, `share: "much", expected a number`, "--class", "share=much")
	f(2, `gpu: "half", expected a whole number`, "--class", "cpu=1,gpu=half")
	f(2, `"disk=4", expected share, cpu, memory and gpu`, "--class", "disk=4")
	f(1, "class 1: cpu: 0 milli-cores", "--class", "memory=1Gi")
	f(1, "class 1: cpu: 1500 milli-cores", "--class", "cpu=1500m")
	f(1, "jobs: 0, expected 1", "--jobs", "0")
}
