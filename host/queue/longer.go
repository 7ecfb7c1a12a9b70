package queue

import "github.com/poise-sched/poise/host/poise"

// ParkLonger hands back a popped job that could not be placed for as long as it
// runs, because others are to start before it would end: with it wait the jobs of
// its shape that run as long or longer, or declare no run time. Those that are
// shorter may be tried. Blocked, version and errors are as in Park.
func (q *Queue) ParkLonger(item Item, blocked Causes, version uint64, now poise.Time) error {
	j, err := q.admit(&item)
	if err != nil {
		return err
	}
	g := j.group
	if g.parked || q.missed(blocked, version) {
		q.enqueue(j)
		return nil
	}
	if g.longer == nil {
		g.longer = &group{shape: g.shape, size: g.size, of: g, run: item.RunTime}
		q.list(g.longer, now)
	}
	g.longer.blocked, g.longer.version = blocked, version
	if !g.longer.takes(j) {
		g.longer.run = item.RunTime
	}
	g.longer.take(j)
	q.skim(g)
	return nil
}

// takes says whether a job runs as long as those of the group, or longer.
func (g *group) takes(j *job) bool { return g.run != 0 && (j.run == 0 || j.run >= g.run) || j.run == 0 }

func (g *group) take(j *job) {
	j.group = g
	g.jobs.push(queued{key: j.key, job: j})
}

// skim moves jobs from the front of a ready group to those that wait because they
// are long, until a shorter one stands there.
func (q *Queue) skim(g *group) {
	if g.longer == nil {
		return
	}
	moved := false
	for len(g.jobs) > 0 && g.longer.takes(g.jobs[0].job) {
		j := g.jobs[0].job
		g.jobs.remove(0)
		g.longer.take(j)
		moved = true
	}
	switch {
	case !moved:
	case len(g.jobs) == 0:
		q.ready.remove(g.pos)
	default:
		q.ready.fix(g.pos)
	}
}

// rejoin gives the jobs of a group of longer ones back to the others of their shape.
func (q *Queue) rejoin(longer *group) {
	g := longer.of
	g.longer = nil
	for _, each := range longer.jobs {
		each.job.group = g
		q.enqueue(each.job)
	}
}

// Try makes a parked job ready, with those that wait for what it waits for.
func (q *Queue) Try(id poise.JobID) {
	j := q.jobs[id]
	if j == nil || j.delayed() {
		return
	}
	if j.group.parked {
		q.unpark(j.group)
	}
	j.group.rows = nil
}

// TryAll makes all parked jobs ready.
func (q *Queue) TryAll() {
	for _, g := range q.ready {
		g.rows = nil
	}
	for len(q.parked) > 0 {
		q.unpark(q.parked[len(q.parked)-1])
	}
}

// Before says whether a job that was popped goes before one that waits.
func (q *Queue) Before(item *Item, id poise.JobID) bool {
	popped := &job{id: item.Job, key: q.settings.keyOf(item), seq: item.Seq, group: &group{size: item.Size}}
	return popped.compare(q.jobs[id]) < 0
}
