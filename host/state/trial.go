package state

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Trial is a fork of a snapshot on which jobs are placed tentatively: what it
// changes is copied, page by page, and the snapshot stays as it was. It is valid
// as long as its snapshot is.
type Trial struct {
	view      Snapshot
	tentative *Tentative
	owned     []bool // by page
	unused    bool   // nothing is copied yet
	begin     poise.Time
}

// Tentative numbers the tentative changes of all trials that one set of caches
// follows: each gives its row a version that no other change has, and no event
// ever gives.
type Tentative struct{ used uint64 }

// tentative is the first row version of tentative changes: events do not count so
// far.
const tentative = 1 << 63

func (t *Tentative) next() uint64 {
	t.used++
	return tentative | t.used
}

// NewTrial forks a snapshot. One that is itself a Trial's has to have the same
// versions, and is valid until it changes.
func NewTrial(base *Snapshot, versions *Tentative) *Trial {
	t := &Trial{view: *base, tentative: versions, unused: true, begin: base.at}
	t.view.tried = &tried{}
	if base.tried != nil {
		t.view.tried.rows = slices.Clone(base.tried.rows)
	}
	return t
}

// tried is the rows that a Trial has changed, in order and with repetitions.
type tried struct{ rows []uint32 }

// View is the fork as it is now. It is valid until the next change.
func (t *Trial) View() *Snapshot { return &t.view }

// Begin has what is placed from now on begin at a time; else it does at that of the
// snapshot.
func (t *Trial) Begin(at poise.Time) { t.begin = at }

// Place puts a job on a row, or says why it does not fit there.
func (t *Trial) Place(j *Job, row uint32, devices []uint16) error {
	if detail := t.view.misfit(row, j.Shape, devices); detail != "" {
		return conflict(placeOp(j.ID, t.view.Name(row)), detail)
	}
	task := newTask(j, row, t.view.Incarnation(row), devices, t.begin)
	hot := t.page(row)
	t.view.hold(hot, task)
	hot.version[row&pageMask] = t.tentative.next()
	t.view.tried.rows = append(t.view.tried.rows, row)
	return nil
}

// Release takes a task off its row, if its node is there.
func (t *Trial) Release(task *Task) {
	row, ok := task.Row(&t.view)
	if !ok {
		return
	}
	hot := t.page(row)
	t.view.giveBack(hot, task)
	hot.version[row&pageMask] = t.tentative.next()
	t.view.tried.rows = append(t.view.tried.rows, row)
}

// page gives the page of a row for writing.
func (t *Trial) page(row uint32) *hotPage {
	if t.unused {
		t.unused = false
		t.view.hot = slices.Clone(t.view.hot)
		t.owned = make([]bool, len(t.view.hot))
	}
	i := row >> pageShift
	if !t.owned[i] {
		t.owned[i] = true
		t.view.hot[i] = t.view.hot[i].clone(0)
	}
	return t.view.hot[i]
}

// Empty makes every node empty, ready and not drained, at the price of a page per
// 64 rows.
func (t *Trial) Empty() {
	for row := range uint32(t.view.rows) {
		if !t.view.Present(row) {
			continue
		}
		hot, i := t.page(row), row&pageMask
		hot.flags[i] &^= flagNotReady | flagDrained
		for d := range hot.width {
			hot.allocated[d<<pageShift|int(i)] = 0
		}
		free := hot.free[int(i)*hot.stride:][:t.view.Devices(row)]
		for d := range free {
			free[d] = poise.WholeDevice
		}
		hot.tasks[i], hot.running[i] = nil, 0
		hot.setOthers(i, nil)
		hot.version[i] = t.tentative.next()
		t.view.tried.rows = append(t.view.tried.rows, row)
	}
}

// Cursor is how far a reader has followed the snapshots of one State and the
// trials on them.
type Cursor struct {
	version uint64 // of the snapshot, or of that which the trial is of
	tried   *tried // of the trial, nil = none
	seen    int    // rows of these
	scratch []uint32
}

// Follow gives the rows that differ between what the reader has seen and the
// snapshot, with repetitions, and whether that is known. Where it is not, every
// row may differ. The rows are valid until the next Follow.
func (c *Cursor) Follow(s *Snapshot) (rows []uint32, ok bool) {
	if s.tried != nil && s.tried == c.tried && s.version == c.version {
		rows = s.tried.rows[c.seen:]
		c.seen = len(s.tried.rows)
		return slices.Clip(rows), true
	}
	rows, ok = s.ChangesSince(c.version)
	if ok && (c.seen > 0 || s.tried != nil && len(s.tried.rows) > 0) {
		c.scratch = append(c.scratch[:0], rows...)
		if c.seen > 0 {
			c.scratch = append(c.scratch, c.tried.rows[:c.seen]...)
		}
		if s.tried != nil {
			c.scratch = append(c.scratch, s.tried.rows...)
		}
		rows = c.scratch
	}
	c.version, c.tried, c.seen = s.version, s.tried, 0
	if c.tried != nil {
		c.seen = len(c.tried.rows)
	}
	return rows, ok
}
