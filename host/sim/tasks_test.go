package sim

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Tasks end in the order of their ends, whatever stops or yields before.
func TestTasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := newTasks()
		ends := map[poise.JobID]poise.Time{} // of those that run
		now := poise.Time(0)
		jobs := make([]*state.Job, 8)
		for i := range jobs {
			jobs[i] = state.NewJob(&poise.Job{ID: poise.JobID(rune('a' + i))}, &state.Shape{}, nil, 0, uint64(i))
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			j := rapid.SampledFrom(jobs).Draw(t, "job")
			end, runs := ends[j.ID]
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				if !runs {
					span := rapid.IntRange(0, 5).Draw(t, "span")
					tasks.start(j, now, poise.Span(span))
					if ends[j.ID] = now + poise.Time(span); span == 0 {
						ends[j.ID] = -1
					}
				}
			case 1:
				if runs {
					tasks.stop(j.ID)
					delete(ends, j.ID)
				}
			case 2:
				until := now + poise.Time(rapid.IntRange(0, 4).Draw(t, "until"))
				if runs && (end < 0 || end > until) {
					ends[j.ID] = until
				}
				if runs {
					tasks.yield(j, until)
				}
			case 3:
				first, ok := tasks.next()
				var want poise.JobID
				for id, end := range ends {
					if end >= 0 && (want == "" || end < ends[want] || end == ends[want] && id < want) {
						want = id
					}
				}
				if ok != (want != "") || ok && (first.job != want || first.at != ends[want]) {
					t.Fatalf("next is %+v, %v, want %q at %d", first, ok, want, ends[want])
				}
				if ok {
					now = first.at
					tasks.stop(first.job)
					delete(ends, first.job)
				}
			}
		}
	})
}
