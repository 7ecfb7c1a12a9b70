package policy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/abi"
)

// hostileBin reads a guest of testdata/hostile.
func hostileBin(t testing.TB, name string) []byte {
	t.Helper()
	bin, err := os.ReadFile(filepath.Join("testdata", "hostile", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// testEngine makes an engine that compiles in memory; change may change its
// options.
func testEngine(t testing.TB, change func(o *Options)) *Engine {
	t.Helper()
	o := Options{Limits: Defaults()}
	if change != nil {
		change(&o)
	}
	e, err := NewEngine(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// Fuel of tests in which many guests use it up. A call can pay for growing to
// the cap.
const (
	shortSetup = 1_100_000
	shortCall  = 300_000
)

// short limits the fuel of an engine so.
func short(o *Options) { o.Limits.SetupFuel, o.Limits.CallFuel = shortSetup, shortCall }

// arenaSize is what the tests ask poise_alloc for.
const arenaSize = 4096

// life runs a guest from its bytes to the end of one call of the export and
// gives the first fault, and what the call used.
func life(t testing.TB, e *Engine, bin []byte, export string) (used int64, f *Fault) {
	t.Helper()
	m, err := e.Load(t.Context(), bin)
	if err != nil {
		return 0, faultOf(t, err)
	}
	defer closeModule(t, m)
	return lifeOf(t, m, export)
}

// lifeOf is the life of one instance.
func lifeOf(t testing.TB, m *Module, export string) (used int64, f *Fault) {
	t.Helper()
	in, base, f := ready(t, m)
	if f != nil {
		return 0, f
	}
	defer in.close()
	used, f = in.call(export, m.Limits().CallFuel, base, base+256, base+512)
	if f == nil {
		return used, nil
	}
	// Whatever the fault was, nothing of the instance runs again.
	if _, again := in.call(export, m.Limits().CallFuel, base, base, base); again == nil || !strings.Contains(again.Detail, "had a fault before") {
		t.Errorf("call after %v: %v, expected to be refused", f, again)
	}
	if in.restore(base, base+arenaSize) {
		t.Errorf("restore after %v: done, expected to be refused", f)
	}
	return used, f
}

// ready makes an instance with an arena, sealed.
func ready(t testing.TB, m *Module) (*instance, uint32, *Fault) {
	t.Helper()
	in, err := m.instantiate()
	if err != nil {
		return nil, 0, faultOf(t, err)
	}
	base, err := in.alloc(arenaSize)
	if err == nil && base == 0 {
		err = &Fault{Code: abi.CodeMemory, Export: abi.Alloc, Detail: "none"}
	}
	if err == nil {
		err = in.seal()
	}
	if err != nil {
		in.close()
		return nil, 0, faultOf(t, err)
	}
	return in, base, nil
}

func faultOf(t testing.TB, err error) *Fault {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) {
		t.Fatalf("%T %v, expected a *Fault", err, err)
	}
	return f
}

func closeModule(t testing.TB, m *Module) {
	t.Helper()
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// hostileCase is a guest, the export that goes wrong, and the words that the
// fault must say. No code = no fault.
type hostileCase struct {
	name   string
	code   abi.Code
	export string
	text   string
}

var hostileCases = []hostileCase{
	{"well-behaved", "", abi.Score, ""},

	{"loop-initialize", abi.CodeFuel, abi.Initialize, "1100000 units"},
	{"loop-marker", abi.CodeFuel, abi.Marker, "units"},
	{"loop-describe", abi.CodeFuel, abi.Describe, "units"},
	{"loop-alloc", abi.CodeFuel, abi.Alloc, "units"},
	{"loop-filter", abi.CodeFuel, abi.Filter, "300000 units"},
	{"loop-score", abi.CodeFuel, abi.Score, "300000 units"},
	{"recursion-endless", abi.CodeDepth, abi.Score, "1000"},
	{"recursion-mutual", abi.CodeDepth, abi.Score, "1000"},
	{"recursion-tree", abi.CodeFuel, abi.Score, "300000 units"},
	{"bulk-fill-loop", abi.CodeFuel, abi.Score, ""},
	{"bulk-copy-straight", abi.CodeFuel, abi.Score, ""},
	{"bulk-fill-huge", abi.CodeFuel, abi.Score, ""},

	{"memory-to-cap", "", abi.Score, ""},
	{"memory-beyond-cap", abi.CodeMemory, abi.Score, "denied at 2 pages: unreachable"},
	{"memory-denied-status", abi.CodeMemory, abi.Score, "result: 1"},
	{"memory-denied-copes", "", abi.Score, ""},
	{"memory-page-by-page", abi.CodeMemory, abi.Score, "denied at 64 pages"},
	{"memory-grow-in-alloc", "", abi.Score, ""},
	{"memory-minimum", abi.CodeVerify, "", "memory"},
	{"memory-missing", abi.CodeVerify, "", "memory"},

	{"call-indirect-type", abi.CodeTrap, abi.Score, "indirect call type mismatch"},
	{"call-indirect-null", abi.CodeTrap, abi.Score, "table access"},
	{"call-indirect-outside", abi.CodeTrap, abi.Score, "table access"},
	{"table-set", abi.CodeVerify, "", "table-write, function 3 (poise_score), offset 0x"},
	{"table-huge", abi.CodeVerify, "", "table, offset 0x"},

	{"overwrite-everything", "", abi.Score, ""},
	{"overwrite-blocks", "", abi.Score, ""},

	{"describe-wraps", abi.CodeBadOutput, abi.Describe, "0xfffffffc"},
	{"describe-zero", abi.CodeBadOutput, abi.Describe, "0x0, expected a pointer to {pointer, length}, not 0, a multiple of 4"},
	{"describe-unaligned", abi.CodeBadOutput, abi.Describe, "0x11"},
	{"describe-outside", abi.CodeBadOutput, abi.Describe, "0x20000"},
	{"manifest-wraps", abi.CodeBadOutput, abi.Describe, "32 bytes at 0xfffffff0"},
	{"manifest-endless", abi.CodeBadOutput, abi.Describe, "4294967295"},
	{"manifest-too-long", abi.CodeBadOutput, abi.Describe, "65537"},
	{"manifest-null", abi.CodeBadOutput, abi.Describe, "0 bytes at 0x0"},
	{"manifest-empty", abi.CodeConfigure, abi.Describe, "manifest"},
	{"manifest-not-json", abi.CodeConfigure, abi.Describe, "JSON"},
	{"manifest-unknown-key", abi.CodeConfigure, abi.Describe, "color"},
	{"devices-without-score", abi.CodeConfigure, abi.Describe, "chooses_devices"},
	{"alloc-wraps", abi.CodeBadOutput, abi.Alloc, "0xfffffff0"},
	{"alloc-unaligned", abi.CodeBadOutput, abi.Alloc, "0x401"},
	{"alloc-outside", abi.CodeBadOutput, abi.Alloc, "0x1f008"},
	{"alloc-nothing", abi.CodeMemory, abi.Alloc, "none"},
	{"alloc-overlaps", "", abi.Score, ""},
	{"setup-busy", "", abi.Score, ""},
	{"alloc-traps", abi.CodeTrap, abi.Alloc, "unreachable"},

	{"output-nan", "", abi.Score, ""}, // what was written is for the caller to judge
	{"output-infinite", "", abi.Score, ""},
	{"output-minus-zero", "", abi.Score, ""},
	{"output-reason", "", abi.Filter, ""},
	{"output-status", abi.CodeStatus, abi.Score, "result: 7, expected 0"},
	{"state-global", "", abi.Score, ""},
	{"state-memory", "", abi.Score, ""},
	{"state-grown", "", abi.Score, ""},
	{"state-wasi", "", abi.Score, ""},
	{"traps-late", "", abi.Score, ""},

	{"trap-unreachable", abi.CodeTrap, abi.Score, "unreachable"},
	{"trap-divide", abi.CodeTrap, abi.Score, "divide by zero"},
	{"trap-overflow", abi.CodeTrap, abi.Score, "overflow"},
	{"trap-convert", abi.CodeTrap, abi.Score, "invalid conversion"},
	{"trap-load-outside", abi.CodeTrap, abi.Score, "out of bounds"},
	{"trap-store-outside", abi.CodeTrap, abi.Score, "out of bounds"},
	{"trap-initialize", abi.CodeTrap, abi.Initialize, "unreachable"},
	{"data-outside", abi.CodeTrap, "", "instantiate"},
	{"type-mismatch", abi.CodeCompile, "", "not a valid module"},

	{"import-function", abi.CodeVerify, "", "expected none (stock Go: those of wasi_snapshot_preview1"},
	{"import-global", abi.CodeVerify, "", "import, offset 0x"},
	{"import-memory", abi.CodeVerify, "", "import, offset 0x"},
	{"import-table", abi.CodeVerify, "", "import, offset 0x"},
	{"import-wasi-file", abi.CodeVerify, "", "os, net or time"},
	{"import-wasi-signature", abi.CodeVerify, "", "random_get"},
	{"import-log", abi.CodeVerify, "", "plugin run and test only"},
	{"wasi-random-huge", abi.CodeStatus, abi.Score, "result: 28"},
	{"wasi-random-outside", abi.CodeStatus, abi.Score, "result: 21"},
	{"wasi-random-spin", abi.CodeFuel, abi.Score, ""},
	{"wasi-memory", abi.CodeMemory, abi.Score, "result: 1"},
	{"wasi-write-many", abi.CodeStatus, abi.Score, "result: 28"},
	{"wasi-write-outside", abi.CodeStatus, abi.Score, "result: 21"},
	{"wasi-exit", abi.CodeTrap, abi.Score, `proc_exit(3), it said "\"name\""`},

	{"pause-chase", abi.CodeFuel, abi.Score, ""},
	{"pause-chase-go", abi.CodeFuel, abi.Score, ""},
	{"pause-divide", abi.CodeFuel, abi.Score, ""},
	{"pause-root", abi.CodeFuel, abi.Score, ""},
	{"pause-copy", abi.CodeFuel, abi.Score, ""},
	{"pause-copy-small", abi.CodeFuel, abi.Score, ""},
	{"pause-stride", abi.CodeFuel, abi.Score, ""},
	{"pause-grow-denied", abi.CodeFuel, abi.Score, ""},
	{"pause-indirect", abi.CodeFuel, abi.Score, ""},
	{"pause-clock", abi.CodeFuel, abi.Score, ""},

	{"start-section", abi.CodeVerify, "", "start, offset 0x"},
	{"export-reserved", abi.CodeVerify, "", "poise:fuel"},
	{"export-signature", abi.CodeVerify, "", "poise_score"},
	{"export-not-function", abi.CodeVerify, "", "poise_score"},
	{"missing-marker", abi.CodeMissingExport, abi.Marker, ""},
	{"missing-describe", abi.CodeMissingExport, abi.Describe, ""},
	{"missing-alloc", abi.CodeMissingExport, abi.Alloc, ""},
	{"missing-calls", abi.CodeMissingExport, abi.Filter, abi.Score},
	{"abi-major", abi.CodeABIMismatch, "poise_abi_v2", "expected poise_abi_v1"},
	{"abi-minor", abi.CodeABIMismatch, abi.Marker, "7, expected 0 to 0"},
	{"abi-negative", abi.CodeABIMismatch, abi.Marker, "-1"},
}

// Every hostile guest ends in the fault that it should, on both engines with
// the same fuel; another module's instance answers as before it.
func TestHostile(t *testing.T) {
	for _, interpreter := range []bool{false, true} {
		e := testEngine(t, func(o *Options) { short(o); o.Interpreter = interpreter })
		witness, err := e.Load(t.Context(), hostileBin(t, "state-global"))
		if err != nil {
			t.Fatal(err)
		}
		in, base, fault := ready(t, witness)
		if fault != nil {
			t.Fatal(fault)
		}
		for i, c := range hostileCases {
			used, f := life(t, e, hostileBin(t, c.name), hostileExport(c))
			checkFault(t, c, f)
			if f != nil && f.Code != abi.CodeFuel && used < 0 {
				t.Errorf("%s: used %d units", c.name, used)
			}
			if _, f := in.call(abi.Score, 1000, base, base, base+512); f != nil {
				t.Fatalf("the witness after %s: %v", c.name, f)
			}
			if n := binary.LittleEndian.Uint32(in.memory()[base+512:]); n != uint32(i)+1 {
				t.Fatalf("the witness after %s: call %d, expected %d", c.name, n, i+1)
			}
		}
		in.close()
		closeModule(t, witness)
	}
}

// hostileExport is what a case calls: the export that goes wrong, if it is one
// that is called.
func hostileExport(c hostileCase) string {
	if c.export == abi.Filter {
		return abi.Filter
	}
	return abi.Score
}

func checkFault(t *testing.T, c hostileCase, f *Fault) {
	t.Helper()
	switch {
	case f == nil && c.code == "":
	case f == nil:
		t.Errorf("%s: no fault, expected %s", c.name, c.code)
	case f.Code != c.code || f.Export != c.export || !strings.Contains(f.Error(), c.text) || f.Error() == "":
		t.Errorf("%s: %v\nexpected code %q, export %q, text %q", c.name, f, c.code, c.export, c.text)
	case c.name != "alloc-nothing" && f.Digest == "":
		t.Errorf("%s: %v, expected a digest", c.name, f)
	}
}

// Every guest of the directory has a case.
func TestHostileCasesAreAll(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "hostile", "*.wat"))
	if err != nil {
		t.Fatal(err)
	}
	var names, cases []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".wat"))
	}
	for _, c := range hostileCases {
		cases = append(cases, c.name)
	}
	for _, c := range logCases {
		if !slices.Contains(cases, c.name) {
			cases = append(cases, c.name)
		}
	}
	slices.Sort(names)
	slices.Sort(cases)
	if !slices.Equal(names, cases) {
		t.Errorf("guests %v\ncases %v", names, cases)
	}
}

// logCases are the guests that log, where there is a log.
var logCases = []hostileCase{
	{"import-log", "", abi.Score, ""},
	{"import-log-outside", abi.CodeTrap, abi.Score, "outside of memory"},
	{"import-log-flood", abi.CodeFuel, abi.Score, ""},
}

func TestHostileLog(t *testing.T) {
	var lines []string
	bytes := 0
	e := testEngine(t, func(o *Options) {
		o.Log = func(line string) { lines = append(lines[:min(len(lines), 9)], line); bytes += len(line) }
	})
	for _, c := range logCases {
		_, f := life(t, e, hostileBin(t, c.name), abi.Score)
		checkFault(t, c, f)
	}
	if want := `{"name":"x","version":"1.0.0","columns":[]}`; len(lines) == 0 || lines[0] != want {
		t.Errorf("log: %q, expected %q first", lines, want)
	}
	// A unit of fuel pays for 4 bytes.
	if most := 4 * int(Defaults().CallFuel); bytes > most {
		t.Errorf("%d bytes logged, expected at most %d", bytes, most)
	}
}

// An endless loop ends at the same unit on every run, on both engines.
func TestHostileFuelIsTheSame(t *testing.T) {
	compiler := testEngine(t, short)
	interpreter := testEngine(t, func(o *Options) { short(o); o.Interpreter = true })
	for _, name := range []string{"loop-score", "recursion-endless", "recursion-tree", "recursion-mutual", "bulk-fill-loop", "memory-page-by-page", "wasi-random-spin", "well-behaved", "state-wasi", "wasi-exit"} {
		bin := hostileBin(t, name)
		first, _ := life(t, compiler, bin, abi.Score)
		for _, e := range []*Engine{compiler, interpreter} {
			if used, _ := life(t, e, bin, abi.Score); used != first || used == 0 {
				t.Errorf("%s: %d units, expected %d as at first", name, used, first)
			}
		}
	}
}

// A guest that was called often and then traps is not called again, and a new
// instance of it starts anew.
func TestHostileTrapsLate(t *testing.T) {
	e := testEngine(t, nil)
	m, err := e.Load(t.Context(), hostileBin(t, "traps-late"))
	if err != nil {
		t.Fatal(err)
	}
	defer closeModule(t, m)
	for range 2 {
		in, base, f := ready(t, m)
		if f != nil {
			t.Fatal(f)
		}
		for k := range 1000 {
			if _, f := in.call(abi.Score, 1000, base, base, base); f != nil {
				t.Fatalf("call %d: %v", k+1, f)
			}
		}
		if _, f := in.call(abi.Score, 1000, base, base, base); f == nil || f.Code != abi.CodeTrap {
			t.Errorf("call 1001: %v, expected a trap", f)
		}
		in.close()
	}
}

// What a guest keeps between calls is gone after restore, on both engines.
func TestHostileStateIsRestored(t *testing.T) {
	for _, interpreter := range []bool{false, true} {
		e := testEngine(t, func(o *Options) { o.Interpreter = interpreter })
		f := func(name string, restores bool) {
			t.Helper()
			m, err := e.Load(t.Context(), hostileBin(t, name))
			if err != nil {
				t.Fatal(err)
			}
			defer closeModule(t, m)
			in, base, fault := ready(t, m)
			if fault != nil {
				t.Fatal(fault)
			}
			defer in.close()
			before := bytes.Clone(in.memory())
			ask := func() [16]byte {
				if _, f := in.call(abi.Score, 1_000_000, base, base+256, base+512); f != nil {
					t.Fatalf("%s: %v", name, f)
				}
				return [16]byte(in.memory()[base+512:])
			}
			first := ask()
			if second := ask(); second == first && name[:5] == "state" {
				t.Errorf("%s: %x twice, expected that it carries state", name, first)
			}
			if got := in.restore(base, base+arenaSize); got != restores {
				t.Fatalf("%s: restore %v, expected %v", name, got, restores)
			}
			if !restores {
				return
			}
			after := in.memory()
			if !bytes.Equal(after[:base], before[:base]) || !bytes.Equal(after[base+arenaSize:], before[base+arenaSize:]) {
				t.Errorf("%s: memory differs after restore", name)
			}
			if again := ask(); again != first {
				t.Errorf("%s: %x after restore, expected %x as at first", name, again, first)
			}
		}
		f("state-global", true)
		f("state-memory", true)
		f("state-wasi", true)
		f("state-grown", false)
		f("memory-grow-in-alloc", true) // the sealed memory holds what alloc grew
		f("overwrite-everything", true)
		f("overwrite-blocks", true)
	}
}

// calledOften are guests of every way to end a call, or the set-up before it.
var calledOften = []string{
	"well-behaved", "loop-score", "recursion-endless", "memory-beyond-cap", "call-indirect-type", "describe-wraps", "manifest-wraps",
	"alloc-wraps", "output-status", "trap-initialize", "trap-load-outside", "data-outside", "wasi-exit",
}

// Rounds of loading everything, and of calling one guest of each kind, leave
// neither memory nor goroutines behind.
func TestHostileLeavesNothing(t *testing.T) {
	e := testEngine(t, short)
	loaded := map[string]*Module{}
	load := func() {
		for _, c := range hostileCases {
			m, err := e.Load(t.Context(), hostileBin(t, c.name))
			switch {
			case err != nil:
				checkFault(t, c, faultOf(t, err))
			case loaded[c.name] != nil:
				closeModule(t, m)
			default:
				loaded[c.name] = m
			}
		}
	}
	unload := func() {
		for name, m := range loaded {
			closeModule(t, m)
			delete(loaded, name)
		}
	}
	call := func() {
		for _, c := range hostileCases {
			if m := loaded[c.name]; m != nil && slices.Contains(calledOften, c.name) {
				_, f := lifeOf(t, m, hostileExport(c))
				checkFault(t, c, f)
			}
		}
	}
	measure := func(name string, rounds int, round func()) {
		t.Helper()
		round()
		heap, goroutines := settled()
		for range rounds {
			round()
		}
		heapAfter, goroutinesAfter := settled()
		if goroutinesAfter > goroutines {
			t.Errorf("%s: %d goroutines, %d at first", name, goroutinesAfter, goroutines)
		}
		// Less than what one instance in each round would leave.
		if heapAfter > heap+2<<20 {
			t.Errorf("%s: heap of %d bytes, %d at first", name, heapAfter, heap)
		}
	}
	measure("load", 5, func() { load(); unload() })
	load()
	measure("call", 100, call)
	unload()
	if len(e.codes) != 0 {
		t.Errorf("%d codes are kept, expected none", len(e.codes))
	}
}

func settled() (heap uint64, goroutines int) {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}
