package wasm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// What the meter costs: each kernel plain and instrumented in turns, the ratio
// of the least times. The goals: at most 1.08 on score, 1.4 on any.
func BenchmarkMeter(b *testing.B) {
	bin, err := os.ReadFile("testdata/kernels.wasm")
	if err != nil {
		b.Fatal(err)
	}
	for _, kernel := range []struct {
		name string
		n    uint64
	}{{"multiply", 300_000}, {"fib", 20}, {"sort", 4095}, {"fill", 300_000}, {"score", 4095}} {
		b.Run(kernel.name, func(b *testing.B) { overhead(b, bin, kernel.name, kernel.n) })
	}
}

// The same for a module of stock Go: at most 1.3.
func BenchmarkMeterGo(b *testing.B) {
	path := filepath.Join(b.TempDir(), "guest.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", path, "./testdata/goguest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		b.Skipf("no toolchain for wasip1: %v: %s", err, out)
	}
	bin, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	overhead(b, bin, "score", 4095)
}

func overhead(b *testing.B, bin []byte, name string, n uint64) {
	limits := Defaults()
	limits.MemoryPages = 256
	metered, err := instrument(bin, limits, plenty)
	if err != nil {
		b.Fatal(err)
	}
	plain, with := instance(b, bin), instance(b, metered)
	f, g := plain.ExportedFunction(name), with.ExportedFunction(name)
	// As benchmarks of a few rounds are short, each round is a fair share of
	// samples.
	const samples = 20
	least := [2]time.Duration{time.Hour, time.Hour}
	for b.Loop() {
		for range samples {
			for i, fn := range []api.Function{f, g} {
				set(with, DepthGlobal, uint64(limits.Depth))
				start := time.Now()
				if _, err := fn.Call(context.Background(), n); err != nil {
					b.Fatal(err)
				}
				least[i] = min(least[i], time.Since(start))
			}
		}
	}
	b.ReportMetric(float64(least[1])/float64(least[0]), "ratio")
	b.ReportMetric(0, "ns/op")
}

func instance(tb testing.TB, bin []byte) api.Module {
	tb.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	tb.Cleanup(func() { _ = r.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	m, err := r.InstantiateWithConfig(ctx, bin, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}
