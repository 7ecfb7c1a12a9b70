package policy

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/poise-sched/poise/abi"
)

// pauseCases are the calls that take longest for their fuel.
func pauseCases(t testing.TB) []pauseCase {
	return []pauseCase{
		{"spin", hostileBin(t, "loop-score")},
		{"chase-4MiB", hostileBin(t, "pause-chase")},
		{"chase-16MiB", hostileBin(t, "pause-chase-go")},
		{"divide", hostileBin(t, "pause-divide")},
		{"square-root", hostileBin(t, "pause-root")},
		{"fill", hostileBin(t, "bulk-fill-loop")},
		{"copy-4MiB", hostileBin(t, "pause-copy")},
		{"copy-small", hostileBin(t, "pause-copy-small")},
		{"store-strided", hostileBin(t, "pause-stride")},
		{"grow", hostileBin(t, "memory-page-by-page")},
		{"grow-denied", hostileBin(t, "pause-grow-denied")},
		{"call-tree", hostileBin(t, "recursion-tree")},
		{"call-indirect", hostileBin(t, "pause-indirect")},
		{"recursion", hostileBin(t, "recursion-endless")},
		{"straight-tree", bomb(tree(20, 60_000), 0)},
		{"random", hostileBin(t, "wasi-random-spin")},
		{"clock", hostileBin(t, "pause-clock")},
	}
}

type pauseCase struct {
	name string
	bin  []byte
}

// BenchmarkPause gives, for the calls that take longest for their fuel: the
// time of a call, and how long a garbage collection that starts beside it waits
// for it. That is what a tenant can do to the daemon's latency.
func BenchmarkPause(b *testing.B) {
	e := testEngine(b, nil)
	for _, c := range pauseCases(b) {
		b.Run(c.name, func(b *testing.B) {
			m, err := e.Load(b.Context(), c.bin)
			if err != nil {
				b.Fatal(err)
			}
			defer closeModule(b, m)
			var call, gc []time.Duration
			used := int64(0)
			for b.Loop() {
				in, base, f := ready(b, m)
				if f != nil {
					b.Fatal(f)
				}
				prepareChase(in.memory())
				started, collected := make(chan struct{}), make(chan time.Duration)
				go func() {
					<-started
					from := time.Now()
					runtime.GC()
					collected <- time.Since(from)
				}()
				close(started)
				runtime.Gosched()
				from := time.Now()
				used, _ = in.call(abi.Score, m.Limits().CallFuel, base, base+256, base+512)
				call = append(call, time.Since(from))
				gc = append(gc, <-collected)
				in.close()
			}
			slices.Sort(call)
			slices.Sort(gc)
			b.ReportMetric(float64(call[0].Microseconds())/1000, "ms/call-min")
			b.ReportMetric(float64(call[len(call)/2].Microseconds())/1000, "ms/call")
			b.ReportMetric(float64(gc[len(gc)-1].Microseconds())/1000, "ms/gc-max")
			b.ReportMetric(float64(call[0].Nanoseconds())/float64(max(used, 1)), "ns/unit")
		})
	}
}

// prepareChase lays one cycle through all of memory behind the arena, a cache
// line a step, in an order that no processor foresees.
func prepareChase(mem []byte) {
	const first, line = 8192, 64
	n := uint32(len(mem)-first) / line
	if n < 2 {
		return
	}
	// An odd factor permutes the residues of a power of two; the others are left
	// out of the cycle.
	size := uint32(1)
	for size*2 <= n {
		size *= 2
	}
	at := func(i uint32) uint32 { return first + line*(i*2654435761%size) }
	for i := range size {
		binary.LittleEndian.PutUint32(mem[at(i):], at((i+1)%size))
	}
}

// The pause cases are what they say: each ends by its fuel, or by what else
// bounds it, in both engines at the same unit.
func TestPauseCases(t *testing.T) {
	compiler := testEngine(t, short)
	interpreter := testEngine(t, func(o *Options) { short(o); o.Interpreter = true })
	for _, c := range pauseCases(t) {
		used, f := life(t, compiler, c.bin, abi.Score)
		again, g := life(t, interpreter, c.bin, abi.Score)
		if used != again || fmt.Sprint(f) != fmt.Sprint(g) || f == nil {
			t.Errorf("%s: %d units, %v; interpreted %d, %v; expected a fault, the same", c.name, used, f, again, g)
		}
	}
}
