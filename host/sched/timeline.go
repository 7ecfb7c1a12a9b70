package sched

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// never is later than any time.
const never = poise.Time(1<<63 - 1)

// overrunStep is the first step in which the end of a task is put off that runs
// longer than declared; each further one is twice as long.
const overrunStep = poise.Span(1000)

// endOf is when a task is expected to end: after its declared run time, or when it is
// to make room for another job, or never by itself where there is neither. One that
// has not ended by then is put off by 1, 2, 4, … s from there, the first that lies
// ahead, so that nobody waits for ever for one that may end any moment, and few
// answers change.
func endOf(t *state.Task, now poise.Time) poise.Time {
	due := after(t.Placed, t.RunTime)
	if t.Until != 0 {
		due = min(due, t.Until)
	}
	end := due
	for step := overrunStep; end <= now && step > 0; step *= 2 {
		end = after(due, step)
	}
	return end
}

// after adds a run time to a time; 0 is without end.
func after(t poise.Time, s poise.Span) poise.Time {
	if s == 0 || t > never-poise.Time(s) {
		return never
	}
	return t + poise.Time(s)
}

// timeline is what one row has free for the jobs of a shape, from now on.
type timeline struct {
	fit    *fit
	snap   *state.Snapshot
	row    uint32
	ends   []ending // by time
	claims []claim
	free   []uint16 // scratch
}

// ending is when a task ends.
type ending struct {
	at   poise.Time
	task *state.Task
}

// claim is what a reservation takes of the row, from a time to a time.
type claim struct {
	from, to poise.Time
	shape    *state.Shape
}

// reset makes it the timeline of a row, with what some reservations claim there.
// One whose start is not known, or has come, may start any moment.
func (t *timeline) reset(f *fit, snap *state.Snapshot, row uint32, now poise.Time, claims []*state.Reservation) {
	t.fit, t.snap, t.row, t.ends, t.claims = f, snap, row, t.ends[:0], t.claims[:0]
	for l := snap.Tasks(row); l != nil; l = l.Next {
		t.ends = append(t.ends, ending{endOf(l.Task, now), l.Task})
	}
	slices.SortStableFunc(t.ends, func(a, b ending) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	for _, r := range claims {
		from, to := spanOf(r, now)
		for h := range r.On(snap, row) {
			t.claims = append(t.claims, claim{from: from, to: to, shape: h.Shape})
		}
	}
}

// spanOf gives from when to when a reservation takes what it keeps.
func spanOf(r *state.Reservation, now poise.Time) (from, to poise.Time) {
	from = max(r.Start, now)
	if to = after(from, r.RunTime); r.Start == 0 {
		to = never
	}
	return from, to
}

// fits says whether a task of the shape fits that runs for so long from a time
// on: then, and whenever a claim on the row begins while it runs. What it does
// not ask for itself does not count.
func (t *timeline) fits(at poise.Time, run poise.Span) bool {
	return t.room(at) && !t.delays(at, run)
}

// delays says whether such a task leaves too little for a claim that begins while
// it runs.
func (t *timeline) delays(at poise.Time, run poise.Span) bool {
	end := after(at, run)
	return slices.ContainsFunc(t.claims, func(c claim) bool { return c.from >= at && c.from < end && !t.room(c.from) })
}

// earliest is the first time from which a task of the shape fits for so long,
// never where that depends on tasks without a run time.
func (t *timeline) earliest(now poise.Time, run poise.Span) poise.Time {
	if t.fits(now, run) {
		return now
	}
	if len(t.claims) == 0 { // what is free only grows
		i, _ := slices.BinarySearchFunc(t.ends, true, func(e ending, _ bool) int {
			if t.room(e.at) {
				return 0
			}
			return -1
		})
		if i == len(t.ends) {
			return never
		}
		return t.ends[i].at
	}
	best := never
	try := func(at poise.Time) {
		if at > now && at < best && t.fits(at, run) {
			best = at
		}
	}
	for _, e := range t.ends {
		try(e.at)
	}
	for _, c := range t.claims {
		try(c.to)
	}
	return best
}

// room says whether the task fits beside what holds the row at a time. Tasks that
// never end by themselves hold it for ever.
func (t *timeline) room(at poise.Time) bool {
	for i := range t.fit.Dims {
		d := &t.fit.Dims[i]
		left := t.snap.Capacity(t.row, d.Dim) - t.snap.Allocated(t.row, d.Dim) - d.Amount
		for _, e := range t.ends {
			if e.at <= at && e.at < never {
				left += amountOf(e.task.Shape, d.Name)
			}
		}
		for _, c := range t.claims {
			if c.from <= at && at < c.to {
				left -= amountOf(c.shape, d.Name)
			}
		}
		if left < 0 {
			return false
		}
	}
	return t.fit.shape.Request.Device.Count == 0 || t.deviceRoom(at)
}

func amountOf(shape *state.Shape, name string) int64 {
	amount, _ := shape.Request.Amounts.Find(name)
	return amount
}

// deviceRoom is room as to devices. Claims take theirs as the host chooses them;
// one that finds too few leaves none.
func (t *timeline) deviceRoom(at poise.Time) bool {
	t.free = append(t.free[:0], t.snap.Free(t.row)...)
	for _, e := range t.ends {
		if e.at > at || e.at == never {
			continue
		}
		for _, d := range e.task.Devices {
			if int(d) < len(t.free) {
				t.free[d] += uint16(e.task.Shape.Request.Device.Milli)
			}
		}
	}
	for _, c := range t.claims {
		ask := &c.shape.Request.Device
		if at < c.from || at >= c.to || ask.Count == 0 {
			continue
		}
		if devicesFree(t.free, ask.Milli) < ask.Count {
			return false
		}
		for _, d := range hostDevices(t.free, ask) {
			t.free[d] -= uint16(ask.Milli)
		}
	}
	ask := &t.fit.shape.Request.Device
	return devicesFree(t.free, ask.Milli) >= ask.Count
}

// hostDevices gives the devices that the host takes where nobody else chooses:
// the lowest free ones for whole devices, best fit (least free that is enough,
// then lowest) for a share. There are as many as asked for.
func hostDevices(free []uint16, ask *poise.DeviceRequest) []uint16 {
	chosen := make([]uint16, 0, ask.Count)
	if ask.Shared() {
		best := -1
		for i, f := range free {
			if int32(f) >= ask.Milli && (best < 0 || f < free[best]) {
				best = i
			}
		}
		return append(chosen, uint16(best))
	}
	for i := 0; len(chosen) < int(ask.Count); i++ {
		if int32(free[i]) >= ask.Milli {
			chosen = append(chosen, uint16(i))
		}
	}
	return chosen
}
