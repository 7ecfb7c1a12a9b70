package policy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
)

// ownChild is the command under which this test binary is the compile child.
func ownChild(t testing.TB) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Skip("no path of the test binary: ", err)
	}
	return []string{self, childCommand}
}

// noChild is a command that does not start: whoever loads with it has the code
// already.
var noChild = []string{filepath.Join("testdata", "no such program")}

// generous are limits that let every bomb through the verifier.
func generous() Limits {
	l := Defaults()
	l.Module.Bytes, l.Module.Functions, l.Module.Body = 1<<28, 1<<20, 1<<28
	l.Module.Targets, l.Module.TargetsByLocals, l.Module.TotalTargetsByLocals = 1<<28, 1<<40, 1<<40
	return l
}

// Each limit is what stops a module made to exceed it, and lets the same module
// through where it is larger.
func TestLimitsAreEffective(t *testing.T) {
	f := func(name string, bin []byte, code abi.Code, text string, tight, wide func(l *Limits)) {
		t.Helper()
		for _, step := range []struct {
			change func(l *Limits)
			want   abi.Code
		}{{tight, code}, {wide, ""}} {
			e := testEngine(t, func(o *Options) { o.Limits = generous(); step.change(&o.Limits) })
			_, f := life(t, e, bin, abi.Score)
			switch {
			case step.want == "" && f != nil:
				t.Errorf("%s: %v, expected no fault under the wide limit", name, f)
			case step.want != "" && (f == nil || f.Code != step.want || !strings.Contains(f.Error(), text)):
				t.Errorf("%s: %v, expected %s with %q under the tight limit", name, f, step.want, text)
			}
		}
	}
	verify := func(name, rule string, bin []byte, set func(l *Limits, v int), tight, wide int) {
		t.Helper()
		f(name, bin, abi.CodeVerify, rule+",", func(l *Limits) { set(l, tight) }, func(l *Limits) { set(l, wide) })
	}
	small := bomb(nil, 0)
	verify("bytes", "bytes", small, func(l *Limits, v int) { l.Module.Bytes = v }, len(small)-1, len(small))
	verify("functions", "functions", bomb(chain(10, 3), 0), func(l *Limits, v int) { l.Module.Functions = v }, 13, 14)
	verify("body", "body", bomb(chain(1, 3000), 0), func(l *Limits, v int) { l.Module.Body = v }, 3000, 3010)
	verify("targets", "targets", bomb([]body{ifs(100, 1)}, 0), func(l *Limits, v int) { l.Module.Targets = v }, 99, 110)
	verify("targets by locals", "targets", bomb([]body{ifs(100, 10)}, 0), func(l *Limits, v int) { l.Module.TargetsByLocals = v }, 999, 1200)
	verify("targets by locals in sum", "targets", bomb([]body{ifs(100, 10), ifs(100, 10)}, 0), func(l *Limits, v int) { l.Module.TotalTargetsByLocals = v }, 1999, 2400)
	pages := hostileBin(t, "memory-beyond-cap") // 65 pages
	f("memory", pages, abi.CodeMemory, "", func(l *Limits) { l.Module.MemoryPages = 64 }, func(l *Limits) { l.Module.MemoryPages = 65 })
	f("minimum of memory", pages, abi.CodeVerify, "memory,", func(l *Limits) { l.Module.MemoryPages, l.GoMemoryPages = 1, 1 }, func(l *Limits) { l.Module.MemoryPages = 65 })
	random := hostileBin(t, "wasi-memory") // 257 pages
	f("memory of stock Go", random, abi.CodeMemory, "", func(l *Limits) { l.GoMemoryPages = 256 }, func(l *Limits) { l.GoMemoryPages = 257 })
	deep := bomb(chain(500, 3), 0)
	f("depth", deep, abi.CodeDepth, "", func(l *Limits) { l.Module.Depth = 400 }, func(l *Limits) { l.Module.Depth = 510 })
	long := bomb(chain(100, 3000), 0) // 200,000 units
	f("call fuel", long, abi.CodeFuel, "", func(l *Limits) { l.CallFuel = 190_000 }, func(l *Limits) { l.CallFuel = 210_000 })
	busy := hostileBin(t, "setup-busy") // 1,000,000 units
	f("set-up fuel", busy, abi.CodeFuel, "", func(l *Limits) { l.SetupFuel = 900_000 }, func(l *Limits) { l.SetupFuel = 1_100_000 })
}

// The memory of a module is that of its kind.
func TestModuleLimits(t *testing.T) {
	e := testEngine(t, nil)
	f := func(name string, pages uint32) {
		t.Helper()
		m, err := e.Load(t.Context(), hostileBin(t, name))
		if err != nil {
			t.Fatal(err)
		}
		defer closeModule(t, m)
		if got := m.Limits().Module.MemoryPages; got != pages {
			t.Errorf("%s: %d pages, expected %d", name, got, pages)
		}
	}
	f("well-behaved", 64)
	f("state-wasi", 256)
}

func TestLimitsValidate(t *testing.T) {
	f := func(text string, change func(l *Limits)) {
		t.Helper()
		l := Defaults()
		change(&l)
		_, err := NewEngine(t.Context(), Options{Limits: l})
		if err == nil || !strings.Contains(err.Error(), text) || poise.KindOf(err) != poise.Invalid {
			t.Errorf("%v, expected an invalid %q", err, text)
		}
	}
	f("call fuel: 0", func(l *Limits) { l.CallFuel = 0 })
	f("set-up fuel: -1", func(l *Limits) { l.SetupFuel = -1 })
	f("call depth: 5000", func(l *Limits) { l.Module.Depth = 5000 })
	f("memory pages: 65537", func(l *Limits) { l.Module.MemoryPages = 65537 })
	f("compile time: 0", func(l *Limits) { l.Compile = 0 })
	f("compile memory: 0", func(l *Limits) { l.CompileMemory = 0 })
}

// Under the default limits no compile bomb gets as far as a compiler.
func TestBombsAreRefused(t *testing.T) {
	e := testEngine(t, nil)
	f := func(name, rule string, bin []byte) {
		t.Helper()
		_, err := e.Load(t.Context(), bin)
		if err == nil || !strings.Contains(err.Error(), rule+",") || faultOf(t, err).Code != abi.CodeVerify {
			t.Errorf("%s: %v, expected rule %s", name, err, rule)
		}
	}
	f("4,000 ifs x 1,000 locals", "targets", bomb([]body{ifs(4000, 1000)}, 0))
	f("20,000 ifs", "body", bomb([]body{ifs(20_000, 1)}, 0))
	f("5,000 ifs", "targets", bomb([]body{ifs(5000, 1)}, 0))
	f("10,000 functions", "functions", bomb(chain(10_000, 30), 0))
	f("40 functions of 65,000", "targets", bomb(slices.Repeat([]body{ifs(650, 100)}, 40), 0))
	f("5 MiB", "bytes", bomb(nil, 5<<20))
	f("50,000 locals", "locals", bomb([]body{{locals: 50_000, code: []byte{0x0b}}}, 0))
}

// A child that takes too long or too much is killed, and the fault says which.
func TestChildIsBounded(t *testing.T) {
	heavy := bomb([]body{ifs(4000, 1000)}, 0) // half a minute and a lot of memory
	f := func(text string, command []string, change func(l *Limits)) {
		t.Helper()
		e := testEngine(t, func(o *Options) {
			o.Cache, o.Child, o.Limits = cacheDir(t), command, generous()
			change(&o.Limits)
		})
		_, err := e.Load(t.Context(), heavy)
		if err == nil || faultOf(t, err).Code != abi.CodeCompile || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, expected a compile fault with %q", err, text)
		}
		if left, _ := filepath.Glob(filepath.Join(e.store.dir, "tmp-*")); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	}
	own := ownChild(t)
	if runtime.GOOS == "linux" {
		f("time: more than", own, func(l *Limits) { l.Compile = time.Second })
		f("memory: more than 100000000 bytes", own, func(l *Limits) { l.CompileMemory = 100_000_000 })
	}
	f("time: more than 150ms, expected at most 50ms of CPU", []string{"sh", "-c", "exec sleep 60"}, func(l *Limits) { l.Compile = 50 * time.Millisecond })
	f("no such program", noChild, func(*Limits) {})
	f(`the compiler crashed: "boom"`, []string{"sh", "-c", "echo boom >&2; exit 3"}, func(*Limits) {})
	f("answer of the compile child", []string{"echo"}, func(*Limits) {})
}

// Whoever loads can give up; the module is not blamed for it.
func TestLoadIsCanceled(t *testing.T) {
	e := testEngine(t, func(o *Options) { o.Child = []string{"sh", "-c", "exec sleep 60"} })
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	_, err := e.Load(ctx, hostileBin(t, "well-behaved"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, expected canceled", err)
	}
}

// The child says of every guest what this process says.
func TestChildSaysTheSame(t *testing.T) {
	e := testEngine(t, func(o *Options) {
		short(o)
		o.Cache, o.Child = cacheDir(t), ownChild(t)
	})
	for i, c := range hostileCases {
		if i%8 != 0 {
			continue // a process each
		}
		_, f := life(t, e, hostileBin(t, c.name), hostileExport(c))
		checkFault(t, c, f)
	}
}

func TestRunCompileChildUsage(t *testing.T) {
	f := func(args ...string) {
		t.Helper()
		var out strings.Builder
		if code := RunCompileChild(strings.NewReader(""), &out, args); code != 2 || out.Len() > 0 {
			t.Errorf("%q: exit %d, %q, expected 2 and nothing", args, code, out.String())
		}
	}
	f()
	f("{}")
	f("x")
	f("{}", "{}")
}

// cacheDir gives a directory that does not exist yet.
func cacheDir(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "cache")
}

// A module in the cache is loaded without a child, until the cache is harmed.
func TestCache(t *testing.T) {
	dir := cacheDir(t)
	bin := hostileBin(t, "well-behaved")
	load := func(child []string, change func(o *Options)) error {
		t.Helper()
		e := testEngine(t, func(o *Options) {
			o.Cache, o.Child = dir, child
			if change != nil {
				change(o)
			}
		})
		m, err := e.Load(t.Context(), bin)
		if err != nil {
			return err
		}
		defer closeModule(t, m)
		if m.Manifest.Name != "x" || m.Minor != 0 {
			t.Errorf("manifest %+v of minor %d, expected that of x", m.Manifest, m.Minor)
		}
		_, f := lifeOf(t, m, abi.Score)
		if f != nil {
			return f
		}
		return nil
	}
	own := ownChild(t)
	if err := load(noChild, nil); err == nil {
		t.Fatal("loaded from an empty cache")
	}
	if err := load(own, nil); err != nil {
		t.Fatal(err)
	}
	if err := load(noChild, nil); err != nil {
		t.Fatalf("from the cache: %v", err)
	}
	if err := load(noChild, func(o *Options) { o.Limits.Module.Depth-- }); err == nil {
		t.Error("loaded under other limits, expected to be compiled again")
	}
	if err := load(noChild, func(o *Options) { o.Interpreter = true }); err == nil {
		t.Error("loaded by the other engine, expected to be compiled again")
	}

	files, err := filesIn(dir)
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v, expected code, instrumented module and record", files, err)
	}
	for _, file := range files {
		path := filepath.Join(dir, file.Path)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		harm := func(name string, content []byte) {
			t.Helper()
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := load(noChild, nil); err == nil {
				t.Errorf("%s, %s: loaded, expected to be compiled again", file.Path, name)
			}
			if err := load(own, nil); err != nil {
				t.Errorf("%s, %s: %v, expected to be compiled again", file.Path, name, err)
			}
			if err := load(noChild, nil); err != nil {
				t.Errorf("%s, %s: %v, expected to be mended", file.Path, name, err)
			}
		}
		flipped := slices.Clone(whole)
		flipped[len(flipped)-1] ^= 1
		harm("empty", nil)
		harm("half", whole[:len(whole)/2])
		harm("a bit flipped", flipped)
	}
}

// A directory that others can write to would let them run native code here.
func TestCacheIsOurs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no mode bits")
	}
	f := func(mode os.FileMode, ok bool) {
		t.Helper()
		dir := cacheDir(t)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		e, err := NewEngine(t.Context(), Options{Cache: dir, Limits: Defaults()})
		if (err == nil) != ok {
			t.Errorf("mode %o: %v, expected success %v", mode, err, ok)
		}
		if err == nil {
			if err := e.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	f(0o700, true)
	f(0o755, true)
	f(0o770, false)
	f(0o702, false)
	dir := cacheDir(t)
	testEngine(t, func(o *Options) { o.Cache = dir })
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v, expected mode 0700", info.Mode(), err)
	}
}

// Instances of ten modules on many goroutines, modules that come and go under
// them: every answer is right, and nothing is left.
func TestConcurrent(t *testing.T) {
	e := testEngine(t, func(o *Options) { o.Cache = cacheDir(t); o.Limits.SetupFuel = shortSetup })
	names := []string{
		"well-behaved", "state-global", "state-memory", "state-wasi", "traps-late",
		"loop-score", "recursion-tree", "memory-page-by-page", "trap-divide", "manifest-not-json",
	}
	cases := map[string]hostileCase{}
	bins := map[string][]byte{}
	for _, c := range hostileCases {
		cases[c.name] = c
	}
	for _, name := range names {
		bins[name] = hostileBin(t, name)
	}
	var all sync.WaitGroup
	for g := range 32 {
		all.Go(func() {
			for k := range 10 {
				name := names[(g+k)%len(names)]
				m, err := e.Load(t.Context(), bins[name])
				if err != nil {
					checkFault(t, cases[name], faultOf(t, err))
					continue
				}
				in, base, f := ready(t, m)
				// The module goes while its instance still runs.
				closeModule(t, m)
				if f != nil {
					t.Errorf("%s: %v", name, f)
					continue
				}
				_, f = in.call(abi.Score, 100_000, base, base, base+512)
				if (f != nil) != (cases[name].code != "") {
					t.Errorf("%s: %v, expected %q", name, f, cases[name].code)
				}
				in.close()
				if _, err := m.instantiate(); err == nil {
					t.Errorf("%s: an instance of a closed module", name)
				}
			}
		})
	}
	all.Wait()
	if len(e.codes) != 0 {
		t.Errorf("%d codes are kept, expected none", len(e.codes))
	}
}

// Modules of one digest share their code, which stays until the last is closed.
func TestModulesShareCode(t *testing.T) {
	e := testEngine(t, nil)
	bin := hostileBin(t, "well-behaved")
	var modules [8]*Module
	var all sync.WaitGroup
	for i := range modules {
		all.Go(func() {
			m, err := e.Load(t.Context(), bin)
			if err != nil {
				t.Error(err)
				return
			}
			modules[i] = m
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for i, m := range modules {
		if m.code != modules[0].code {
			t.Errorf("module %d has code of its own", i)
		}
	}
	for i, m := range modules {
		closeModule(t, m)
		closeModule(t, m) // twice is once
		if i == len(modules)-1 {
			break
		}
		if _, f := lifeOf(t, modules[i+1], abi.Score); f != nil {
			t.Errorf("after %d are closed: %v", i+1, f)
		}
	}
	if len(e.codes) != 0 {
		t.Errorf("%d codes are kept, expected none", len(e.codes))
	}
}

// The good path of a call does not allocate.
func TestCallDoesNotAllocate(t *testing.T) {
	e := testEngine(t, nil)
	m, err := e.Load(t.Context(), hostileBin(t, "state-wasi"))
	if err != nil {
		t.Fatal(err)
	}
	defer closeModule(t, m)
	in, base, fault := ready(t, m)
	if fault != nil {
		t.Fatal(fault)
	}
	defer in.close()
	allocs := testing.AllocsPerRun(100, func() {
		if _, f := in.call(abi.Score, 10_000, base, base, base+512); f != nil {
			t.Fatal(f)
		}
		if !in.restore(base, base+arenaSize) {
			t.Fatal("restore: refused")
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations a call, expected none", allocs)
	}
}

func TestFaultText(t *testing.T) {
	f := func(want string, fault Fault) {
		t.Helper()
		if got := fault.Error(); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
	f("verify: start, offset 0x10", Fault{Code: abi.CodeVerify, Detail: "start, offset 0x10"})
	f(`plugin "a 1.0.0" sha256:0123456789ab, poise_score, job "j": fuel: more`,
		Fault{Code: abi.CodeFuel, Plugin: "a 1.0.0", Digest: "sha256:" + strings.Repeat("0123456789abcdef", 4), Export: "poise_score", Job: "j", Detail: "more"})
	f("poise_score: trap", Fault{Code: abi.CodeTrap, Export: "poise_score"})
	f("compile: canceled: context canceled", Fault{Code: abi.CodeCompile, Detail: "canceled", Err: context.Canceled})
	kind := func(want poise.Kind, code abi.Code) {
		t.Helper()
		if got := poise.KindOf(fmt.Errorf("push: %w", &Fault{Code: code})); got != want {
			t.Errorf("%s: kind %v, expected %v", code, got, want)
		}
	}
	kind(poise.Limit, abi.CodeFuel)
	kind(poise.Limit, abi.CodeDepth)
	kind(poise.Invalid, abi.CodeVerify)
	kind(poise.Unavailable, abi.CodeFetch)
}
