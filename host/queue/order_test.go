package queue

import (
	"math"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"pgregory.net/rapid"
)

// extremes are where an order by subtraction or a wrapping key would fail.
var (
	priorities = []int32{math.MinInt32, math.MinInt32 + 1, -1, 0, 1, math.MaxInt32 - 1, math.MaxInt32}
	times      = []poise.Time{-MaxTime, -1, 0, 1, 1 << 40, MaxTime - 1, MaxTime}
)

func orderedJob(s *Settings, priority int32, submitted poise.Time, size Size, seq uint64, id poise.JobID) *job {
	return &job{id: id, key: s.key(priority, submitted), seq: seq, priority: priority, group: &group{size: size}}
}

func drawJob(t *rapid.T, s *Settings, id poise.JobID) *job {
	amount := rapid.OneOf(rapid.SampledFrom([]int64{0, 1, math.MaxInt64 - 1, math.MaxInt64}), rapid.Int64Min(0))
	return orderedJob(s,
		rapid.OneOf(rapid.SampledFrom(priorities), rapid.Int32()).Draw(t, "priority"),
		rapid.OneOf(rapid.SampledFrom(times), rapid.Custom(func(t *rapid.T) poise.Time {
			return poise.Time(rapid.Int64Range(int64(-MaxTime), int64(MaxTime)).Draw(t, "ms"))
		})).Draw(t, "submitted"),
		Size{amount.Draw(t, "devices"), amount.Draw(t, "cpu"), amount.Draw(t, "memory")},
		rapid.OneOf(rapid.SampledFrom([]uint64{0, 1, math.MaxUint64}), rapid.Uint64()).Draw(t, "seq"),
		id,
	)
}

// expectOrder fails unless compare is antisymmetric, transitive and total on
// the jobs, which have distinct ids.
func expectOrder(t fataler, jobs []*job) {
	t.Helper()
	for i, a := range jobs {
		for k, b := range jobs {
			ab := a.compare(b)
			if ab != -b.compare(a) || (ab == 0) != (i == k) {
				t.Fatalf("compare(%+v, %+v) = %d, turned round %d", a, b, ab, b.compare(a))
			}
			for _, c := range jobs {
				if ab < 0 && b.compare(c) < 0 && a.compare(c) >= 0 {
					t.Fatalf("%+v before %+v before %+v, but not the first before the last", a, b, c)
				}
			}
		}
	}
}

// B27.
func TestOrderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Defaults()
		s.Step = rapid.OneOf(rapid.SampledFrom([]poise.Span{1, day}), rapid.Map(rapid.Int64Range(1, day), func(n int64) poise.Span { return poise.Span(n) })).Draw(t, "step")
		jobs := make([]*job, 5)
		for i := range jobs {
			jobs[i] = drawJob(t, &s, poise.JobID(rune('a'+i)))
		}
		expectOrder(t, jobs)
	})
}

// B27: the extremes, all against all.
func TestOrderAtTheExtremes(t *testing.T) {
	for _, step := range []poise.Span{1, Defaults().Step, day} {
		s := Defaults()
		s.Step = step
		var jobs []*job
		for i, p := range priorities {
			for k, at := range times {
				jobs = append(jobs, orderedJob(&s, p, at, Size{}, 0, poise.JobID([]byte{byte('a' + i), byte('a' + k)})))
			}
		}
		expectOrder(t, jobs)
		// At one time the larger priority goes first, at one priority the
		// earlier time: a key that wraps would break this.
		for i, a := range jobs {
			for k, b := range jobs {
				pa, ta, pb, tb := i/len(times), i%len(times), k/len(times), k%len(times)
				if pa >= pb && ta <= tb && i != k && a.compare(b) >= 0 {
					t.Fatalf("step %d: priority %d at %d is not before priority %d at %d", step, priorities[pa], times[ta], priorities[pb], times[tb])
				}
			}
		}
	}
}

func FuzzOrder(f *testing.F) {
	f.Add(int32(math.MinInt32), int32(math.MaxInt32), int32(-1), int64(MaxTime), int64(-MaxTime), int64(0), int64(day), uint64(1), uint64(2), uint64(1))
	f.Add(int32(0), int32(0), int32(1), int64(0), int64(0), int64(600_000), int64(600_000), uint64(0), uint64(math.MaxUint64), uint64(5))
	f.Fuzz(func(t *testing.T, p1, p2, p3 int32, t1, t2, t3, step int64, s1, s2, s3 uint64) {
		s := Defaults()
		s.Step = poise.Span(step)
		if s.Validate() != nil {
			t.Skip("not a legal step")
		}
		at := func(ms int64) poise.Time { return poise.Time(ms % int64(MaxTime+1)) }
		jobs := []*job{
			orderedJob(&s, p1, at(t1), Size{Devices: t2}, s1, "a"),
			orderedJob(&s, p2, at(t2), Size{Devices: t3}, s2, "b"),
			orderedJob(&s, p3, at(t3), Size{Devices: t1}, s3, "c"),
		}
		expectOrder(t, jobs)
		for i, ms := range []int64{t1, t2, t3} {
			if got := s.submitted(jobs[i].priority, jobs[i].key); got != at(ms) {
				t.Fatalf("submitted at %d, got back %d", at(ms), got)
			}
		}
	})
}

// Whoever has the larger level goes first, whatever the time is.
func TestEffective(t *testing.T) {
	s := Defaults()
	f := func(priority int32, submitted, now poise.Time, age, level float64) {
		t.Helper()
		got := s.Effective(&Item{Priority: priority, Submitted: submitted, Size: Size{CPU: 7}, Seq: 3}, now)
		if want := (Effective{Priority: priority, Age: age, Level: level, Size: Size{CPU: 7}, Arrival: 3}); got != want {
			t.Fatalf("%+v, expected %+v", got, want)
		}
	}
	f(0, 0, 0, 0, 0)
	f(5, 0, 10*minute, 1, 6)
	f(-2, 10*minute, 25*minute, 1.5, -0.5)
	f(1, 10*minute, 0, 0, 1) // the clock was set back
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Item {
			return Item{Priority: rapid.Int32Range(-5, 5).Draw(t, name), Submitted: poise.Time(rapid.IntRange(0, 100*minute).Draw(t, name+" at"))}
		}
		a, b := draw("a"), draw("b")
		now := poise.Time(100*minute) + poise.Time(rapid.IntRange(0, 1<<40).Draw(t, "now"))
		ka, kb := s.key(a.Priority, a.Submitted), s.key(b.Priority, b.Submitted)
		la, lb := s.Effective(&a, now).Level, s.Effective(&b, now).Level
		if ka > kb && la < lb || kb > ka && lb < la {
			t.Fatalf("levels %v and %v, keys %d and %d", la, lb, ka, kb)
		}
	})
}
