package conformance

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/policy"
)

func load(tb testing.TB, e *policy.Engine, name string) *policy.Module {
	tb.Helper()
	bin, err := os.ReadFile(filepath.Join("testdata", name+".wasm"))
	if err != nil {
		tb.Fatal(err)
	}
	m, err := e.Load(context.Background(), bin)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	tb.Cleanup(func() { _ = m.Close(context.Background()) })
	return m
}

// one makes one check of a plugin.
func one(tb testing.TB, module, interpreted *policy.Module, check string) Result {
	tb.Helper()
	k, err := newKit(module, interpreted, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	all := demands(0)
	i := slices.IndexFunc(all, func(d demand) bool { return d.name == check })
	if i < 0 {
		tb.Fatalf("no check %q", check)
	}
	r, err := k.try(all[i])
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// Every check has a plugin that it is there to find.
func TestBadPlugins(t *testing.T) {
	e := newEngines(t)
	f := func(name, check string, outcome Outcome, detail string) {
		t.Helper()
		r := one(t, load(t, e.native, name), load(t, e.interpreter, name), check)
		if r.Outcome != outcome || !strings.Contains(r.Detail, detail) {
			t.Errorf("%s: %s: %s, %q; expected %s with %q", name, check, r.Outcome, r.Detail, outcome, detail)
		}
	}
	f("row-order", "row-order", Fail, "loss 0 with the rows in one order, ")
	f("call-split", "call-split", Fail, "in calls of 1 rows, expected the same")
	f("call-split", "row-order", Pass, "rows in two orders")
	f("bystanders", "bystanders", Fail, "loss 1 alone, 0 among rows that are no candidates")
	f("bystanders", "call-split", Pass, "")
	f("no-state", "no-state", Fail, "the first time, ")
	f("no-state", "row-order", Pass, "")
	f("reasons", "reasons", Fail, "reason 7, expected 0 or a key of the manifest's reasons")
	f("reasons", "losses", Skip, "exports no poise_score")
	f("losses-nan", "losses", Fail, "loss NaN, expected a finite number")
	f("losses-nan", "reasons", Skip, "exports no poise_filter")
	f("losses-range", "losses", Fail, "loss 1.5, expected 0 to 1 as declared")
	f("losses-unwritten", "losses", Fail, "nothing written, expected a loss")
	f("masks", "masks", Fail, "device mask 1, expected 0 or ")
	f("no-rows", "no-rows", Fail, "trap: integer divide by zero")
	f("no-rows", "losses", Pass, "")
	f("one-row", "one-row", Fail, "loss +Inf")
	f("one-row", "losses", Pass, "")
	f("full-table", "full-table", Fail, "trap: unreachable")
	f("full-table-memory", "full-table", Warn, "poise_alloc gave 0 for 4096, which means no memory")
	f("all-refused", "all-refused", Fail, "trap: integer divide by zero")
	f("absent", "absent", Fail, "loss NaN")
	f("absent", "losses", Pass, "")
	f("extremes", "extremes", Fail, "loss +Inf")
	f("extremes", "losses", Pass, "")
	f("new-values", "new-values", Fail, "trap: unreachable")
	f("new-values", "losses", Pass, "")
	f("no-profile", "no-profile", Fail, "trap: integer divide by zero")
	f("no-profile", "losses", Pass, "")
	f("full-profile", "full-profile", Fail, "trap: unreachable")
	f("full-profile", "losses", Pass, "")
	f("no-growth-memory", "no-growth", Fail, "memory: ")
	f("no-growth-state", "no-growth", Fail, "bytes outside the host's blocks differ")
	f("no-growth-runtime", "no-growth", Pass, "bytes of the language's runtime changed")
	f("no-growth-state", "no-state", Pass, "")
	f("no-growth-leak", "no-growth", Fail, "call 6145: ")
	f("fuel-over", "fuel-1k", Pass, "% of the budget")
	f("fuel-over", "fuel-10k", Fail, "fuel: more than ")
	f("fuel-zero", "fuel-100", Fail, "memory: result: 0 for ")
	f("fuel-zero", "full-table", Warn, "it must not begin at address 0")
	f("fuel-warn", "fuel-10k", Warn, "% of the budget")
}

// The same bytes cannot answer in two ways here, so these checks look at two
// plugins that are taken for one.
func TestTwinsThatDiffer(t *testing.T) {
	e := newEngines(t)
	module, other := load(t, e.native, "row-order"), load(t, e.native, "engines")
	r := one(t, module, other, "engines")
	if r.Outcome != Fail || !strings.Contains(r.Detail, "in the interpreter, expected the same") {
		t.Errorf("engines: %s, %q, expected another loss to be found", r.Outcome, r.Detail)
	}
	// The same losses, for other fuel.
	r = one(t, load(t, e.native, "engines"), load(t, e.native, "engines-slow"), "engines")
	if r.Outcome != Fail || !strings.Contains(r.Detail, "units of fuel in native code") {
		t.Errorf("engines: %s, %q, expected other fuel to be found", r.Outcome, r.Detail)
	}
}

// A check that no plugin fails is none.
func TestEveryCheckHasABadPlugin(t *testing.T) {
	files, err := filepath.Glob("testdata/*.wasm")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		prefix := name
		if strings.HasPrefix(name, "fuel-") {
			prefix = "fuel-"
		}
		if name != "deterministic" && !slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(filepath.Base(f), prefix) }) {
			t.Errorf("check %s: no testdata/%s*.wasm", name, prefix)
		}
	}
}

// The committed modules are what the sources beside them say.
func TestModulesAreUpToDate(t *testing.T) {
	tool, err := exec.LookPath("wat2wasm")
	if err != nil {
		t.Skip("no wat2wasm (Debian: wabt): the modules are not made again")
	}
	sources, err := filepath.Glob("testdata/*.wat")
	if err != nil || len(sources) == 0 {
		t.Fatalf("testdata/*.wat: %d files, %v", len(sources), err)
	}
	for _, source := range sources {
		made := filepath.Join(t.TempDir(), "made.wasm")
		if out, err := exec.Command(tool, source, "-o", made).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", source, err, out)
			continue
		}
		want, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(strings.TrimSuffix(source, ".wat") + ".wasm")
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: its module is not what wat2wasm makes of it", source)
		}
	}
}
