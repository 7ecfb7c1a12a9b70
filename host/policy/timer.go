package policy

import "time"

// timedOne says that of the calls on few rows one in so many is timed, and stands
// for all of them: two looks at the clock take longer than such a call.
const timedOne = 16

// timer says which calls are timed.
type timer struct {
	began time.Time
	stand int // calls that the present one stands for; 0 = it is not timed
	since int // calls since the last one that was
	begun bool
}

// start begins a call on so many rows.
func (t *timer) start(rows int) {
	if t.stand = 1; rows <= smallRows {
		if t.since++; t.begun && t.since < timedOne {
			t.stand = 0
			return
		}
		t.stand, t.since, t.begun = t.since, 0, true
	}
	t.began = time.Now()
}

// stop ends it and gives the time to count.
func (t *timer) stop() time.Duration {
	if t.stand == 0 {
		return 0
	}
	return time.Duration(t.stand) * time.Since(t.began)
}
