package cli

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
)

func TestTestGolden(t *testing.T) {
	out, errs, code := runPoise("plugin", "test", talk, "testdata/cases")
	if code != 1 || errs != "poise: plugin test: cases: of 10, 5 failed and 2 in error, expected none\n" {
		t.Errorf("exit %d: %s", code, errs)
	}
	golden(t, "test_cases", out)

	out, errs, code = runPoise("plugin", "test", talk, "testdata/cases", "--run", "few cores|3-trap")
	if code != 0 || errs != "" {
		t.Errorf("exit %d: %s", code, errs)
	}
	golden(t, "test_run", out)
}

func TestTestJUnit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "junit.xml")
	if _, errs, code := runPoise("plugin", "test", talk, "testdata/cases", "--junit", path); code != 1 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "test_junit", string(text))
	var suite junitSuite
	if err := xml.Unmarshal(text, &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Tests != 10 || suite.Failures != 5 || suite.Errors != 2 || len(suite.Cases) != 10 {
		t.Errorf("%+v", suite)
	}
}

// Cases that were updated are right from then on, and those that were right, or
// cannot run, stay as they are to the byte.
func TestTestUpdate(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/cases")); err != nil {
		t.Fatal(err)
	}
	out, _, code := runPoise("plugin", "test", talk, dir, "--update")
	if code != 1 || !strings.Contains(out, "10 cases: 3 ok, 0 failed, 2 in error, 5 updated\n") {
		t.Errorf("exit %d: %s", code, out)
	}
	var all strings.Builder
	for _, name := range []string{"2-wrong.yaml", "4-surprise.yaml", "6-empty.yaml", "9-no-expect.yaml", "a-wrong-param.yaml"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("--- " + name + "\n" + string(text))
	}
	golden(t, "test_update", all.String())
	for _, name := range []string{"1-right.yaml", "3-trap.yaml", "5-unset.yaml", "7-unknown.yaml", "8-impossible.yaml"} {
		before, err := os.ReadFile(filepath.Join("testdata/cases", name))
		if err != nil {
			t.Fatal(err)
		}
		if after, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(after) != string(before) {
			t.Errorf("%s changed (%v)", name, err)
		}
	}
	out, _, _ = runPoise("plugin", "test", talk, dir)
	if !strings.Contains(out, "10 cases: 8 ok, 0 failed, 2 in error\n") {
		t.Errorf("after the update: %s", out)
	}
}

func TestTestExitCodes(t *testing.T) {
	f := func(code int, message string, args ...string) {
		t.Helper()
		out, errs, got := runPoise(append([]string{"plugin", "test"}, args...)...)
		if got != code || !strings.Contains(errs, message) || out != "" {
			t.Errorf("poise plugin test %s: exit %d, %q, %q; expected exit %d and %q", strings.Join(args, " "), got, out, errs, code, message)
		}
	}
	f(2, "1 arguments, expected a .wasm module and cases", talk)
	f(2, `--run "("`, talk, "testdata/cases", "--run", "(")
	f(3, "no such file or folder", talk, "testdata/none")
	f(3, "no cases in the folder", talk, t.TempDir())
	f(3, "matches none of 10 cases", talk, "testdata/cases", "--run", "nothing of that name")
	f(3, "none.wasm: no such file", "none.wasm", "testdata/cases")
}

// cased is a plugin and a folder of its cases.
type cased struct{ module, dir string }

// firstParty gives the plugins in the repository with their cases, and the
// examples.
func firstParty(t *testing.T) []cased {
	t.Helper()
	dirs, err := filepath.Glob("../../plugins/*/tests")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no plugins (%v)", err)
	}
	all := []cased{{"../../plugins/dotproduct/dotproduct.wasm", "../../examples/plugins/cases"}}
	for _, dir := range dirs {
		home := filepath.Dir(dir)
		if _, err := os.Stat(filepath.Join(home, "main.go")); err == nil && raced {
			t.Logf("%s: left out under the race detector", home)
			continue
		}
		all = append(all, cased{filepath.Join(home, filepath.Base(home)+".wasm"), dir})
	}
	return all
}

func TestFirstPartyCases(t *testing.T) {
	for _, c := range firstParty(t) {
		if out, errs, code := runPoise("plugin", "test", c.module, c.dir); code != 0 {
			t.Errorf("%s: exit %d: %s%s", c.module, code, out, errs)
		}
	}
}

// The cases of new projects are cases.
func TestTemplateCases(t *testing.T) {
	paths, err := filepath.Glob("../../abi/guest/*/template/tests/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no templates (%v)", err)
	}
	for _, path := range paths {
		if c, err := manifest.ReadCase(path); err != nil || c.Expect.Empty() {
			t.Errorf("%s: %v, or it expects nothing", path, err)
		}
	}
}

// B39: what is explained in full is what would be decided without explaining.
func TestFirstPartyExplanations(t *testing.T) {
	w, err := openWorkshop(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for _, p := range firstParty(t) {
		m, err := w.load(p.module)
		if err != nil {
			t.Fatal(err)
		}
		files, err := manifest.CaseFiles([]string{p.dir})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			c, err := manifest.ReadCase(path)
			if err != nil {
				t.Fatal(err)
			}
			sc := scene{nodes: c.Nodes, running: c.Running, workload: c.Workload, job: c.Job}
			brief, err := sc.try(m, c.Params, 0, sched.Brief)
			if err != nil {
				t.Fatal(err)
			}
			all, err := sc.try(m, c.Params, 0, sched.All)
			if err != nil {
				t.Fatal(err)
			}
			d := &all.decision
			if d.Node != brief.decision.Node {
				t.Errorf("%s: explained as %q, decided as %q", path, d.Node, brief.decision.Node)
			}
			if d.Verdict == poise.Placed && (len(d.Ranked) != d.Fitting || d.Ranked[0].Node != d.Node) {
				t.Errorf("%s: chosen %q of %d, ranked first %q of %d", path, d.Node, d.Fitting, d.Ranked[0].Node, len(d.Ranked))
			}
			if len(d.Refusals) != d.Nodes-d.Fitting {
				t.Errorf("%s: %d refusals, %d of %d nodes fit", path, len(d.Refusals), d.Fitting, d.Nodes)
			}
		}
	}
}
