package wasm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// specLimits lets everything of the spec suite through.
func specLimits() Limits {
	l := Defaults()
	l.MemoryPages = 1 << 16
	l.Depth = math.MaxInt32
	return l
}

// plenty is fuel that no test uses up.
const plenty = 1 << 60

// spec suite files, as wast2json writes them.
type specFile struct {
	Commands []specCommand `json:"commands"`
}

type specCommand struct {
	Type       string     `json:"type"`
	Line       int        `json:"line"`
	Name       string     `json:"name"`
	Filename   string     `json:"filename"`
	As         string     `json:"as"`
	Action     specAction `json:"action"`
	ModuleType string     `json:"module_type"`
	Text       string     `json:"text"`
}

type specAction struct {
	Type   string      `json:"type"`
	Module string      `json:"module"`
	Field  string      `json:"field"`
	Args   []specValue `json:"args"`
}

type specValue struct {
	Type string `json:"type"`
	Lane string `json:"lane_type"`
	Val  any    `json:"value"`
}

// words gives the value as the engine takes it.
func (v specValue) words(t *testing.T) []uint64 {
	t.Helper()
	word := func(x any, bits int) uint64 {
		s, ok := x.(string)
		if !ok || s == "null" {
			return 0
		}
		if strings.HasPrefix(s, "-") {
			n, err := strconv.ParseInt(s, 10, bits)
			if err != nil {
				t.Fatal(err)
			}
			return uint64(n) << (64 - bits) >> (64 - bits)
		}
		n, err := strconv.ParseUint(s, 10, bits)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	switch v.Type {
	case "v128":
		bits, err := strconv.Atoi(v.Lane[1:])
		if err != nil {
			t.Fatal(err)
		}
		var out [2]uint64
		for i, lane := range v.Val.([]any) {
			out[i*bits/64] |= word(lane, bits) << (i * bits % 64)
		}
		return out[:]
	case "externref":
		if v.Val == "null" {
			return []uint64{0}
		}
		return []uint64{word(v.Val, 64) + 1}
	case "i32", "f32":
		return []uint64{word(v.Val, 32)}
	}
	return []uint64{word(v.Val, 64)}
}

// world is a runtime with the modules of one file in it.
type world struct {
	r       wazero.Runtime
	rewrite func([]byte) ([]byte, error)
	named   map[string]api.Module
	last    api.Module
}

func newWorld(t *testing.T, config wazero.RuntimeConfig, spectest []byte, rewrite func([]byte) ([]byte, error)) *world {
	t.Helper()
	w := &world{r: wazero.NewRuntimeWithConfig(t.Context(), config), rewrite: rewrite, named: map[string]api.Module{}}
	t.Cleanup(func() { _ = w.r.Close(context.Background()) })
	if out := w.module(t, spectest, "", "spectest"); out != "ok" {
		t.Fatal(out)
	}
	return w
}

// module instantiates and gives "ok" or the stage at which it failed.
func (w *world) module(t *testing.T, bin []byte, name, as string) string {
	t.Helper()
	bin, err := w.rewrite(bin)
	if err != nil {
		return "invalid"
	}
	compiled, err := w.r.CompileModule(t.Context(), bin)
	if err != nil {
		return "invalid"
	}
	mod, err := w.r.InstantiateModule(t.Context(), compiled, wazero.NewModuleConfig().WithName(as))
	if err != nil {
		return "uninstantiable"
	}
	w.last = mod
	if name != "" {
		w.named[name] = mod
	}
	return "ok"
}

// act runs an action and gives its results or the kind of its trap.
func (w *world) act(t *testing.T, a specAction) string {
	t.Helper()
	m := w.last
	if a.Module != "" {
		m = w.named[a.Module]
	}
	if a.Type == "get" {
		g := m.ExportedGlobal(a.Field)
		return fmt.Sprint(g.Type(), g.Get())
	}
	var args []uint64
	for _, v := range a.Args {
		args = append(args, v.words(t)...)
	}
	return outcome(t.Context(), m.ExportedFunction(a.Field), args...)
}

// outcome calls a function and gives its results or the kind of its trap.
// Function references are addresses: only whether they are null is told.
func outcome(ctx context.Context, fn api.Function, args ...uint64) string {
	results, err := fn.Call(ctx, args...)
	if err != nil {
		kind, _, _ := strings.Cut(err.Error(), "\n")
		return kind
	}
	if slices.Contains(fn.Definition().ResultTypes(), api.ValueType(FuncRef)) {
		for i, v := range results {
			if v != 0 {
				results[i] = 1
			}
		}
	}
	return fmt.Sprint(results)
}

// The suite that the engine carries, run plain and instrumented on both
// engines: every assertion has the same outcome.
func TestSpec(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Skip("no go command to find the engine's sources with:", err)
	}
	suite := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
	spectest, err := os.ReadFile(filepath.Join(suite, "testdata", "spectest.wasm"))
	if err != nil {
		t.Skip("the engine's module carries no spec suite:", err)
	}
	instrumented := func(bin []byte) ([]byte, error) { return instrument(bin, specLimits(), plenty) }
	plain := func(bin []byte) ([]byte, error) { return bin, nil }
	for _, engine := range engines() {
		for _, version := range []struct {
			name     string
			features api.CoreFeatures
			floor    int // assertions that ran when this was written
		}{{"v1", api.CoreFeaturesV1, specFloorV1}, {"v2", api.CoreFeaturesV2, specFloorV2}} {
			t.Run(engine.name+"/"+version.name, func(t *testing.T) {
				if slow && (engine.name == "compiler") == (version.name == "v2") {
					t.Skip("runs without the race detector only; with it, v1 on the compiler and v2 on the interpreter")
				}
				t.Parallel()
				files, err := filepath.Glob(filepath.Join(suite, version.name, "testdata", "*.json"))
				if err != nil {
					t.Fatal(err)
				}
				config := engine.config().WithCoreFeatures(version.features)
				ran, skipped := map[string]int{}, map[string]int{}
				for _, f := range files {
					t.Run(strings.TrimSuffix(filepath.Base(f), ".json"), func(t *testing.T) {
						runSpec(t, f, newWorld(t, config, spectest, plain), newWorld(t, config, spectest, instrumented), ran, skipped)
					})
				}
				sum := 0
				for _, what := range slices.Sorted(maps.Keys(ran)) {
					t.Logf("ran %6d %s", ran[what], what)
					sum += ran[what]
				}
				for _, why := range slices.Sorted(maps.Keys(skipped)) {
					t.Logf("skipped %6d %s", skipped[why], why)
				}
				t.Logf("%d files, %d commands compared", len(files), sum)
				if sum < version.floor {
					t.Errorf("%d commands compared, expected at least %d", sum, version.floor)
				}
			})
		}
	}
}

const (
	specFloorV1 = 18830
	specFloorV2 = 52893
)

func runSpec(t *testing.T, path string, plain, instrumented *world, ran, skipped map[string]int) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file specFile
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for i := range file.Commands {
		c := &file.Commands[i]
		var a, b string
		switch c.Type {
		case "module", "assert_invalid", "assert_malformed", "assert_unlinkable", "assert_uninstantiable":
			if c.ModuleType == "text" {
				skipped[c.Type+", in text form"]++
				continue
			}
			bin, err := os.ReadFile(filepath.Join(filepath.Dir(path), c.Filename))
			if err != nil {
				t.Fatal(err)
			}
			as := ""
			if c.Type == "module" && i+1 < len(file.Commands) && file.Commands[i+1].Type == "register" {
				as = file.Commands[i+1].As
			}
			a, b = plain.module(t, bin, c.Name, as), instrumented.module(t, bin, c.Name, as)
			if (a == "ok") != (c.Type == "module") && c.Type != "assert_uninstantiable" {
				t.Errorf("line %d: %s: plain module is %s", c.Line, c.Type, a)
			}
		case "assert_return", "assert_trap", "assert_exhaustion", "action":
			a, b = plain.act(t, c.Action), instrumented.act(t, c.Action)
		case "register":
			skipped["register, done with its module"]++
			continue
		default:
			t.Fatalf("line %d: unknown command %s", c.Line, c.Type)
		}
		ran[c.Type]++
		if a != b {
			t.Errorf("line %d: %s %s: plain %s, instrumented %s", c.Line, c.Type, c.Action.Field, a, b)
		}
	}
}
