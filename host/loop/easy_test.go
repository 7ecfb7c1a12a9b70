package loop

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// easy is EASY backfilling as the textbooks have it (Lifka, JSSPP 1995; Mu'alem
// and Feitelson, TPDS 2001), for one machine of so many processors and run times
// that are exact, or, without backfilling, first come, first served. It knows
// nothing of Poise. It gives when each job starts.
func easy(processors int64, jobs []task, backfills bool) map[poise.JobID]poise.Time {
	type running struct {
		end poise.Time
		cpu int64
	}
	cpuOf := func(j *task) int64 { return j.job.Request.Amounts[0].Value / 1000 }
	starts := map[poise.JobID]poise.Time{}
	var waiting []task
	var runs []running
	free := processors
	for len(jobs) > 0 || len(waiting) > 0 || len(runs) > 0 {
		now := poise.Time(1 << 62)
		if len(jobs) > 0 {
			now = jobs[0].at
		}
		for _, r := range runs {
			now = min(now, r.end)
		}
		for i := 0; i < len(runs); {
			if runs[i].end == now {
				free += runs[i].cpu
				runs = slices.Delete(runs, i, i+1)
				continue
			}
			i++
		}
		for len(jobs) > 0 && jobs[0].at == now {
			waiting, jobs = append(waiting, jobs[0]), jobs[1:]
		}
		start := func(i int) {
			j := waiting[i]
			starts[j.job.ID] = now
			free -= cpuOf(&j)
			runs = append(runs, running{now + poise.Time(j.runs), cpuOf(&j)})
			waiting = slices.Delete(waiting, i, i+1)
		}
		for len(waiting) > 0 && cpuOf(&waiting[0]) <= free {
			start(0)
		}
		if len(waiting) == 0 || !backfills {
			continue
		}
		// The shadow time is when the first one can start, extra what it leaves then.
		slices.SortFunc(runs, func(a, b running) int { return int(a.end - b.end) })
		extra, shadow := free-cpuOf(&waiting[0]), now
		for _, r := range runs {
			if extra >= 0 && r.end > shadow {
				break
			}
			extra, shadow = extra+r.cpu, r.end
		}
		for i := 1; i < len(waiting); {
			j := &waiting[i]
			inTime := now+poise.Time(j.runs) <= shadow
			if cpuOf(j) > free || !inTime && cpuOf(j) > extra {
				i++
				continue
			}
			if !inTime {
				extra -= cpuOf(j)
			}
			start(i)
		}
	}
	return starts
}

// workload draws jobs for one machine, at most one each millisecond: their order
// is that of their arrival.
func workload(t *rapid.T, processors int64, most int) []task {
	var jobs []task
	at := poise.Time(0)
	for i := range rapid.IntRange(1, most).Draw(t, "jobs") {
		at += poise.Time(rapid.IntRange(1, 3000).Draw(t, "gap"))
		runs := poise.Span(rapid.SampledFrom([]int{1, 500, 1000, 2000, 5000, 20_000, 60_000}).Draw(t, "run time") + rapid.IntRange(0, 3).Draw(t, "more"))
		jobs = append(jobs, cpuTask(fmt.Sprint("j", i), at, min(processors, rapid.SampledFrom([]int64{1, 1, 1, 2, 2, 3, 4, 6, 8}).Draw(t, "cpu")), runs, runs))
	}
	return jobs
}

// With one reservation and exact run times, jobs of one tenant start when EASY
// starts them.
func TestOneReservationIsEASY(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		processors := rapid.Int64Range(1, 10).Draw(t, "processors")
		jobs := workload(t, processors, 60)
		p := newPlant(t, 1, cpuNode("n", processors))
		p.run(slices.Clone(jobs), 1<<40)
		want := easy(processors, slices.Clone(jobs), true)
		for i := range jobs {
			id := jobs[i].job.ID
			if got, ok := p.started[id]; !ok || got != want[id] {
				t.Fatalf("%s started at %d (%v), expected at %d\n%v", id, got, ok, want[id], p.log)
			}
		}
	})
}

// On a loaded machine backfilling is worth its while, as published: the mean
// bounded slowdown (with 10 s as the least run time, Feitelson and Rudolph 1998)
// is lower than first come, first served has it, and all is done no later.
func TestBackfillingIsWorthIt(t *testing.T) {
	const processors = 16
	state := uint64(1)
	random := func(n int64) int64 { // splitmix64
		state += 0x9e3779b97f4a7c15
		x := state
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		return int64((x ^ x>>31) % uint64(n))
	}
	var jobs []task
	at := poise.Time(0)
	for i := range 1000 {
		at += poise.Time(1 + random(30_000))
		runs := poise.Span(1000 << random(8))
		jobs = append(jobs, cpuTask(fmt.Sprint("j", i), at, 1<<random(5), runs, runs))
	}
	slowdown := func(starts map[poise.JobID]poise.Time) (mean float64, end poise.Time) {
		for i := range jobs {
			j := &jobs[i]
			s := starts[j.job.ID]
			end = max(end, s+poise.Time(j.runs))
			mean += max(1, float64(s-j.at+poise.Time(j.runs))/float64(max(j.runs, 10_000)))
		}
		return mean / float64(len(jobs)), end
	}
	p := newPlant(t, 1, cpuNode("n", processors))
	p.run(slices.Clone(jobs), 1<<40)
	poises, poiseEnd := slowdown(p.started)
	first, firstEnd := slowdown(easy(processors, slices.Clone(jobs), false))
	t.Logf("mean bounded slowdown %.2f with backfilling and %.2f without, all done after %d and %d s", poises, first, poiseEnd/1000, firstEnd/1000)
	if poises >= first || poiseEnd > firstEnd {
		t.Error("backfilling is worse than first come, first served")
	}
}
