package queue

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// Delay hands back a popped job that was placed but could not be bound, and
// gives the time at which it may be tried again. Attempt is how often binding
// has failed, 1 or more. Other jobs of its shape are not held up. The delay is
// spread over its upper half by a hash of seed, job and attempt, so that jobs
// that failed together do not come back together, and a replay has the same
// times. Errors are those of Push, and Invalid for an attempt below 1.
func (q *Queue) Delay(item Item, attempt int, seed uint64, now poise.Time) (poise.Time, error) {
	if attempt < 1 {
		return 0, item.refuse(poise.Invalid, fmt.Sprintf("attempt: %d, expected 1 or more", attempt))
	}
	s := &q.settings
	due := later(now, Backoff(s.RetryBase, s.RetryMax, item.Job, attempt, seed))
	if err := q.Defer(item, due, s.RetryMax); err != nil {
		return 0, err
	}
	return due, nil
}

// Defer adds a job that may be tried at a time, and not before. Longest is how far
// off that can be. Other jobs of its shape are not held up. Errors are those of
// Push.
func (q *Queue) Defer(item Item, due poise.Time, longest poise.Span) error {
	j, err := q.admit(&item)
	if err != nil {
		return err
	}
	q.delayed.push(delayed{due: due, longest: longest, job: j})
	return nil
}

// release gives the delayed jobs that are due back to their groups. A job due
// later than its longest delay shows that the clock was set back; then it is
// due as well.
func (q *Queue) release(now poise.Time) {
	for len(q.delayed) > 0 {
		first := q.delayed[0]
		if now < first.due && first.due <= later(now, first.longest) {
			return
		}
		q.delayed.remove(0)
		q.enqueue(first.job)
	}
}

// Backoff is base * 2^(attempt-1), at most longest, less up to half of it by a hash
// of job, attempt and seed. Base is 1 ms to longest, that at most poise.MaxWait, and
// attempt 1 or more.
func Backoff(base, longest poise.Span, id poise.JobID, attempt int, seed uint64) poise.Span {
	d := base
	for i := 1; i < attempt && d < longest; i++ {
		d *= 2
	}
	d = min(d, longest)
	return d - poise.Span(jitter(id, attempt, seed)%uint64(d/2+1))
}

// jitter hashes with FNV-1a over the job's id and spreads with the finaliser
// of SplitMix64; both are fixed by their authors, so no build differs.
func jitter(id poise.JobID, attempt int, seed uint64) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	return mix(mix(h^seed) + uint64(attempt))
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
