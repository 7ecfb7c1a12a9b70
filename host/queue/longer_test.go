package queue

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// Jobs of one shape that are kept back for how long they run: whatever order
// things come in, what is popped is the first in order of those that may be
// tried. That is by rule: from the moment that a job was kept back until a wake,
// none that runs as long.
func TestParkLongerIsTheRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, err := New(Defaults())
		if err != nil {
			t.Fatal(err)
		}
		waiting := map[poise.JobID]Item{}
		limit, parked := never, false
		version, seq := uint64(0), uint64(0)
		length := func(i *Item) poise.Span { return cmp.Or(i.RunTime, never-1) }
		first := func() (best Item, ok bool) {
			for _, each := range waiting {
				if length(&each) < limit && (!ok || each.Seq < best.Seq) {
					best, ok = each, true
				}
			}
			return best, ok && !parked
		}
		wake := func() {
			version++
			q.Wake(Joined, version)
			limit, parked = never, false
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				seq++
				i := Item{Job: poise.JobID(fmt.Sprint("j", seq)), Shape: 1, Seq: seq, RunTime: poise.Span(rapid.IntRange(0, 4).Draw(t, "run time"))}
				if err := q.Push(i); err != nil {
					t.Fatal(err)
				}
				waiting[i.Job] = i
			},
			"pop": func(t *rapid.T) {
				got, ok := q.Pop(0)
				want, any := first()
				if ok != any || ok && got.Job != want.Job {
					t.Fatalf("popped %v %q, expected %v %q", ok, got.Job, any, want.Job)
				}
				if !ok {
					return
				}
				delete(waiting, got.Job)
				switch rapid.IntRange(0, 4).Draw(t, "outcome") {
				case 0: // placed
					return
				case 1, 2:
					limit, err = length(&got), q.ParkLonger(got, Joined, version, 0)
				case 3:
					parked, err = true, q.Park(got, Joined, version, 0)
				default:
					err = q.Push(got)
				}
				if waiting[got.Job] = got; err != nil {
					t.Fatal(err)
				}
			},
			"remove": func(t *rapid.T) {
				if len(waiting) == 0 {
					t.Skip("none waits")
				}
				ids := make([]poise.JobID, 0, len(waiting))
				for id := range waiting {
					ids = append(ids, id)
				}
				slices.Sort(ids)
				id := rapid.SampledFrom(ids).Draw(t, "job")
				if delete(waiting, id); !q.Remove(id) {
					t.Fatalf("job %q is not there", id)
				}
				wake() // that none is kept back any more depends on who was looked at
			},
			"wake": func(*rapid.T) { wake() },
			"": func(t *rapid.T) {
				if q.Len() != len(waiting) || q.Ready()+q.Parked() != q.Len() {
					t.Fatalf("%d wait, %d ready and %d parked, expected %d", q.Len(), q.Ready(), q.Parked(), len(waiting))
				}
			},
		})
	})
}

const never = poise.Span(1 << 62)
