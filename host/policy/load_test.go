package policy

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/poise-sched/poise/abi"
)

// stockGo builds the benchmark kernel with the Go toolchain at hand.
func stockGo(t testing.TB) []byte {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: a stock Go guest cannot be built")
	}
	out := filepath.Join(t.TempDir(), "score.wasm")
	cmd := exec.CommandContext(t.Context(), tool, "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./testdata/kernels/score_go")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("a stock Go guest cannot be built: %v\n%s", err, text)
	}
	bin, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// A stock Go guest sets itself up through the shim within the limits, the same
// in each instance, and goes back to it.
func TestStockGo(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a module of 2 MB")
	}
	bin := stockGo(t)
	e := testEngine(t, func(o *Options) {
		o.Cache, o.Child = cacheDir(t), ownChild(t)
		o.Limits.Compile = time.Minute // the child is this program, and may have the race detector on
	})
	m, err := e.Load(t.Context(), bin)
	if err != nil {
		t.Fatal(err)
	}
	defer closeModule(t, m)
	if !m.Info.ImportsWASI || m.Limits().Module.MemoryPages != 256 {
		t.Errorf("%v imports, %d pages, expected WASI and 256", m.Info.Imports, m.Limits().Module.MemoryPages)
	}
	var fuel [2]int64
	for i := range fuel {
		in, base, f := ready(t, m)
		if f != nil {
			t.Fatal(f)
		}
		fuel[i] = in.setup
		// A table of no rows.
		binary.LittleEndian.PutUint32(in.memory()[base:], abi.Magic)
		if _, f := in.call(abi.Score, m.Limits().CallFuel, base, base+256, base+512); f != nil {
			t.Errorf("instance %d: %v", i, f)
		} else if !in.restore(base, base+arenaSize) {
			t.Errorf("instance %d: its memory has grown in a call without rows", i)
		}
		in.close()
	}
	if fuel[0] != fuel[1] {
		t.Errorf("%d and %d units left of set-up, expected the same", fuel[0], fuel[1])
	}
	t.Logf("set-up takes %d units of fuel", Defaults().SetupFuel-fuel[0])
}

// BenchmarkLoad gives what an activated plugin costs to load from the cache, and
// an instance of it.
func BenchmarkLoad(b *testing.B) {
	f := func(name string, bin func(b *testing.B) []byte) {
		e := testEngine(b, func(o *Options) { o.Cache, o.Child = cacheDir(b), ownChild(b) })
		code := bin(b)
		load := func(b *testing.B) *Module {
			m, err := e.Load(b.Context(), code)
			if err != nil {
				b.Fatal(err)
			}
			return m
		}
		closeModule(b, load(b)) // into the cache
		b.Run(name+"/load", func(b *testing.B) {
			for b.Loop() {
				closeModule(b, load(b))
			}
		})
		b.Run(name+"/instance", func(b *testing.B) {
			m := load(b)
			defer closeModule(b, m)
			for b.Loop() {
				in, err := m.instantiate()
				if err != nil {
					b.Fatal(err)
				}
				in.close()
			}
		})
		b.Run(name+"/restore", func(b *testing.B) {
			m := load(b)
			defer closeModule(b, m)
			in, base, f := ready(b, m)
			if f != nil {
				b.Fatal(f)
			}
			defer in.close()
			for b.Loop() {
				if !in.restore(base, base+arenaSize) {
					b.Fatal("restore: refused")
				}
			}
		})
	}
	kernel := func(file string) func(b *testing.B) []byte {
		return func(b *testing.B) []byte {
			bin, err := os.ReadFile(filepath.Join("testdata", "kernels", file))
			if err != nil {
				b.Skip("no kernel: ", err)
			}
			return bin
		}
	}
	f("c", kernel("score_c.wasm"))
	f("rust", kernel("score_rs.wasm"))
	f("go", func(b *testing.B) []byte { return stockGo(b) })
}
