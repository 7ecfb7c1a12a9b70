package store

import (
	"sync"
	"testing"
)

// BenchmarkAppend is the ceiling that the store sets for a daemon: durable
// records of 220 bytes, each waited for by one of so many writers.
func BenchmarkAppend(b *testing.B) {
	f := func(name string, writers int, batch func(uint64) Batch) {
		b.Run(name, func(b *testing.B) {
			s := open(b, b.TempDir())
			var order sync.Mutex
			next := uint64(1)
			var all sync.WaitGroup
			b.ResetTimer()
			for range writers {
				all.Go(func() {
					for {
						order.Lock()
						seq := next
						if seq > uint64(b.N) {
							order.Unlock()
							return
						}
						next++
						p := s.Append(batch(seq))
						order.Unlock()
						if err := p.Wait(b.Context()); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
	event := func(seq uint64) Batch {
		r := record(seq)
		r.Body = make([]byte, 220)
		return Batch{Records: []Record{r}}
	}
	placed := func(seq uint64) Batch {
		b := event(seq)
		rows := batchAt(seq)
		b.Jobs, b.Placements, b.Decisions = rows.Jobs, rows.Placements, rows.Decisions
		return b
	}
	f("writers=1", 1, event)
	f("writers=64", 64, event)
	f("writers=1/rows", 1, placed)
	f("writers=64/rows", 64, placed)
}
