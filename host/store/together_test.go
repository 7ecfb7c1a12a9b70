package store

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// Writers, readers and upkeep at one time do not disturb each other.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var order sync.Mutex
	var all sync.WaitGroup
	next := uint64(1)
	for range 4 {
		all.Go(func() {
			for range 25 {
				order.Lock()
				b := batchAt(next)
				next += uint64(len(b.Records))
				p := s.Append(b)
				order.Unlock()
				if err := p.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		for range 10 {
			last := s.Last()
			var n uint64
			if err := s.Read(t.Context(), 1, func(Record) error { n++; return nil }); err != nil || n < last {
				t.Errorf("%d records, %v, expected %d or more", n, err, last)
			}
		}
	})
	all.Go(func() {
		for i := range 5 {
			if err := s.PutSnapshot(t.Context(), s.Last(), []byte("state"), false); err != nil {
				t.Error(err)
			}
			if err := s.Retain(t.Context(), Retention{Jobs: Keep{Count: 1}}); err != nil {
				t.Error(err)
			}
			if err := s.Backup(t.Context(), filepath.Join(dir, string(rune('a'+i)))); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := checkWhole(t, dir, 1); got != next-1 {
		t.Errorf("last %d, expected %d", got, next-1)
	}
}

func TestTake(t *testing.T) {
	// Each batch has so many records, of so many bytes in all.
	f := func(batches [][2]int, want ...int) {
		t.Helper()
		var s Store
		for _, b := range batches {
			s.queue = append(s.queue, &Pending{batch: Batch{Records: make([]Record, b[0])}, bytes: b[1]})
		}
		var got []int
		for len(s.queue) > 0 {
			n := len(s.take())
			got = append(got, n)
			s.queue = s.queue[n:]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: groups of %v, expected %v", batches, got, want)
		}
	}
	f(nil)
	f([][2]int{{1, 0}, {1, 0}, {1, 0}}, 3)
	f([][2]int{{1024, 0}}, 1)
	f([][2]int{{1023, 0}, {1, 0}, {1, 0}}, 2, 1)
	f([][2]int{{1, 0}, {5000, 0}, {1, 0}}, 1, 1, 1) // a large one alone
	f([][2]int{{1, 16 << 20}, {1, 0}, {1, 1}}, 2, 1)
	f([][2]int{{1, 60 << 20}, {1, 0}}, 1, 1)
	f(slices.Repeat([][2]int{{0, 0}}, 1025), 1024, 1) // rows only: each counts
}
