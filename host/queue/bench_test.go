package queue

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/poise"
)

const benchShapes = 64

// benchItem is job n of a mixed load: priorities 0 to 3, one arrival a
// millisecond, shapes in no order.
func benchItem(n int) Item {
	shape := ShapeID(mix(uint64(n)) % benchShapes)
	return Item{
		Job: poise.JobID(fmt.Sprintf("job-%08d", n)), Shape: shape,
		Priority: int32(mix(uint64(n)+1) % 4), Submitted: poise.Time(n),
		Size: Size{CPU: int64(shape) * 1000}, Seq: uint64(n),
	}
}

func benchItems(n int) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i] = benchItem(i)
	}
	return items
}

// figure prints one figure as every benchmark of the project does.
func figure(name string, value float64, unit string, goal float64) {
	verdict := "holds"
	if value > goal {
		verdict = "falls short"
	}
	fmt.Printf("%s\t%.1f\t%s\t<= %g\t%s\n", name, value, unit, goal, verdict)
}

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkWaitingJobs fills and empties a queue of a million jobs of 64
// shapes. The job ids are the caller's; the bytes are what the queue adds.
func BenchmarkWaitingJobs(b *testing.B) {
	const n = 1_000_000
	items := benchItems(n)
	var bytes uint64
	var push, pop time.Duration
	for b.Loop() {
		before := heapBytes()
		q := newQueue(b)
		start := b.Elapsed()
		for i := range items {
			if err := q.Push(items[i]); err != nil {
				b.Fatal(err)
			}
		}
		push = b.Elapsed() - start
		bytes = heapBytes() - before
		start = b.Elapsed()
		for range items {
			q.Pop(0)
		}
		pop = b.Elapsed() - start
	}
	figure("queue: memory per waiting job", float64(bytes)/n, "B", 150)
	figure("queue: push among 1M jobs", float64(push.Nanoseconds())/n, "ns", 5000)
	figure("queue: pop among 1M jobs", float64(pop.Nanoseconds())/n, "ns", 5000)
}

// BenchmarkPass runs passes over a full queue: an event helps all jobs that
// wait for cpu, one of them starts, another arrives.
func BenchmarkPass(b *testing.B) {
	cost := map[int]float64{}
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			q := newQueue(b)
			for _, item := range benchItems(n) {
				if err := q.Push(item); err != nil {
					b.Fatal(err)
				}
			}
			attempts, next := 0, n
			pass := func(version uint64) {
				started := false
				for {
					item, ok := q.Pop(0)
					if !ok {
						return
					}
					attempts++
					if !started {
						started = true
						continue
					}
					if err := q.Park(item, Dimension(0)|Joined, version, 0); err != nil {
						b.Fatal(err)
					}
				}
			}
			pass(0)
			attempts = 0
			var fresh []Item
			version := uint64(0)
			for b.Loop() {
				if len(fresh) == 0 {
					b.StopTimer()
					for range 10_000 {
						fresh = append(fresh, benchItem(next))
						next++
					}
					b.StartTimer()
				}
				version++
				q.Wake(Dimension(0), version)
				pass(version)
				if err := q.Push(fresh[0]); err != nil {
					b.Fatal(err)
				}
				fresh = fresh[1:]
			}
			b.ReportMetric(float64(attempts)/float64(b.N), "attempts/pass")
			cost[n] = float64(b.Elapsed().Nanoseconds()) / float64(b.N)
		})
	}
	if len(cost) == 4 {
		figure("queue: pass with 1M jobs over pass with 10k", cost[1_000_000]/cost[10_000], "times", 2)
	}
}
