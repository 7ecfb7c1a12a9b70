package conformance

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/poise-sched/poise/host/policy"
)

// engines are an engine of each sort. They compile in this process: what is
// loaded here is the repository's own.
type engines struct{ native, interpreter *policy.Engine }

func newEngines(tb testing.TB) engines {
	tb.Helper()
	engine := func(interpreter bool) *policy.Engine {
		e, err := policy.NewEngine(context.Background(), policy.Options{Limits: policy.Defaults(), Interpreter: interpreter})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = e.Close(context.Background()) })
		return e
	}
	return engines{engine(false), engine(true)}
}

func (e engines) check(tb testing.TB, bin []byte, o Options) Report {
	tb.Helper()
	var modules [2]*policy.Module
	for i, engine := range []*policy.Engine{e.native, e.interpreter} {
		m, err := engine.Load(context.Background(), bin)
		if err != nil {
			tb.Fatal(err)
		}
		defer m.Close(context.Background())
		modules[i] = m
	}
	r, err := Check(context.Background(), modules[0], modules[1], o)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// needed are the parameters that the plugins of the repository have no default
// for.
var needed = map[string]map[string]string{"only-class": {"class": "v1"}}

func TestFirstPartyPlugins(t *testing.T) {
	files, err := filepath.Glob("../../plugins/*/*.wasm")
	if err != nil || len(files) == 0 {
		t.Fatalf("plugins/*/*.wasm: %d files, %v", len(files), err)
	}
	e := newEngines(t)
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			bin, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if raced && len(bin) > 1<<20 {
				t.Skip("stock Go: compiling it takes 20 s under the race detector; without it this test runs")
			}
			for _, c := range e.check(t, bin, Options{Params: needed[name]}) {
				t.Logf("%-14s %-4s  %s", c.Name, c.Outcome, c.Detail)
				if c.Outcome == Fail {
					t.Errorf("%s: %s", c.Name, c.Detail)
				}
			}
		})
	}
}
