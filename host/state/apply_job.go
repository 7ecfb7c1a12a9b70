package state

import (
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

func (s *State) submitJob(j *poise.Job, at poise.Time) error {
	if err := j.Validate(); err != nil {
		return err
	}
	if s.jobs[j.ID] != nil {
		return conflict(fmt.Sprintf("submit job %q", j.ID), "a job of that id is known, expected a new id")
	}
	for _, id := range j.After {
		if s.jobs[id] == nil {
			return notFound(fmt.Sprintf("submit job %q", j.ID), fmt.Sprintf("after: %q: no job that waits or runs", id))
		}
	}
	if detail := s.contradiction(j); detail != "" {
		return conflict(fmt.Sprintf("submit job %q", j.ID), detail)
	}
	tenant := poise.TenantID(s.symbols.intern(string(j.Tenant)))
	s.symbols.internDevice(j.Request.Device.Kind, j.Request.Device.Models)
	s.live.symbols = s.symbols.texts
	s.demand.arrive(&j.Request)
	s.live.arrivals = s.demand.arrivals
	made := NewJob(j, s.shapes.acquire(j), s.podKinds.acquire(j.Pod, j.Labels), at, s.demand.arrivals)
	made.Tenant = tenant // jobs share the text
	s.jobs[j.ID] = made
	s.join(made)
	s.comeAfter(made, j.After)
	return nil
}

func (s *State) comeAfter(j *Job, after []poise.JobID) {
	if len(after) == 0 {
		return
	}
	j.change(func(m *More) { m.After = slices.Clone(after) })
	for _, id := range after {
		s.later[id] = append(s.later[id], j.ID)
	}
}

func placeOp(id poise.JobID, node string) string {
	return fmt.Sprintf("place job %q on node %q", id, node)
}

func (s *State) placeJob(p *poise.Placement, at poise.Time) error {
	j, row, err := s.placeable(p)
	if err != nil {
		return err
	}
	if !s.Alone(j) {
		return conflict(placeOp(p.Job, p.Node), fmt.Sprintf("gang %q has not started, expected its first %d members together", j.Gang.ID, j.Gang.Least()))
	}
	if detail := s.live.misfit(row, j.Shape, p.Devices); detail != "" {
		return conflict(placeOp(p.Job, p.Node), detail)
	}
	s.hold(j, row, p.Devices, at)
	return nil
}

// placeable gives the job and the row of a placement, whether or not it fits.
func (s *State) placeable(p *poise.Placement) (*Job, uint32, error) {
	j := s.jobs[p.Job]
	if j == nil {
		return nil, 0, notFound(placeOp(p.Job, p.Node), "no such job")
	}
	if j.task != nil {
		return nil, 0, conflict(placeOp(p.Job, p.Node), "the job is placed already, expected a waiting job")
	}
	if len(j.After) > 0 {
		return nil, 0, conflict(placeOp(p.Job, p.Node), fmt.Sprintf("the job comes after %q, expected it to have ended", j.After[0]))
	}
	if j.Held != "" {
		return nil, 0, conflict(placeOp(p.Job, p.Node), fmt.Sprintf("the job is held by %q, expected it to be released", j.Held))
	}
	row, ok := s.rowOf[p.Node]
	if !ok {
		return nil, 0, notFound(placeOp(p.Job, p.Node), "no such node")
	}
	return j, row, nil
}

// hold takes what the job asks for from a row on which it fits.
func (s *State) hold(j *Job, row uint32, devices []uint16, at poise.Time) {
	t := newTask(j, row, s.live.Incarnation(row), devices, at)
	t.pool = s.live.pool(row)
	cluster := s.live.Cluster(row)
	s.becomePod(t, j, cluster, s.space(cluster, j.Tenant))
	hot := s.hotPage(row)
	s.live.hold(hot, t)
	s.podKinds.count(t.Kind, row, 1, false)
	j.task = t
	s.unreserve(j)
	j.started()
	s.began(j)
	s.charge(t, 1)
	s.touch(hot, row)
}

// hold writes a task into the page of its row.
func (s *Snapshot) hold(hot *hotPage, t *Task) {
	i := t.row & pageMask
	for _, a := range t.Shape.Request.Amounts {
		if a.Value > 0 {
			hot.allocated[slices.Index(s.dims, a.Name)<<pageShift|int(i)] += a.Value
		}
	}
	takeDevices(hot.free[int(i)*hot.stride:][:s.Devices(t.row)], t)
	hot.tasks[i] = &TaskList{Task: t, Next: hot.tasks[i]}
	hot.running[i]++
}

// misfit says why the request does not fit into what is idle on the row, or "".
func (s *Snapshot) misfit(row uint32, shape *Shape, devices []uint16) string {
	for _, a := range shape.Request.Amounts {
		if a.Value == 0 {
			continue
		}
		idle := int64(0)
		if dim := slices.Index(s.dims, a.Name); dim >= 0 {
			idle = s.Idle(row, dim)
		}
		if idle < a.Value {
			return fmt.Sprintf("%s: request %s, idle %s", a.Name, resource.Format(a.Name, a.Value), resource.Format(a.Name, idle))
		}
	}
	if p := s.Taken(row, shape.Ports); p != nil {
		return fmt.Sprintf("port %s: taken", p)
	}
	ask := &shape.Request.Device
	if len(devices) != int(ask.Count) {
		return fmt.Sprintf("devices: %d given, expected %d", len(devices), ask.Count)
	}
	if ask.Count > 0 && s.kinds[s.Kind(row)] != ask.Kind {
		return fmt.Sprintf("devices: kind %q, expected %q", s.kinds[s.Kind(row)], ask.Kind)
	}
	free := s.Free(row)
	for k, d := range devices {
		if k > 0 && devices[k-1] >= d {
			return fmt.Sprintf("devices: %d after %d, expected ascending indexes", d, devices[k-1])
		}
		if int(d) >= len(free) || int32(free[d]) < ask.Milli {
			return fmt.Sprintf("device %d: fewer than %d milli free", d, ask.Milli)
		}
	}
	return ""
}

func (s *State) finishJob(id poise.JobID) error {
	j := s.jobs[id]
	if j == nil {
		return notFound(fmt.Sprintf("finish job %q", id), "no such job")
	}
	if j.task == nil {
		return conflict(fmt.Sprintf("finish job %q", id), "the job waits, expected a placed job")
	}
	s.goesOn(j)
	s.releaseTask(j)
	s.stopped(j, false, 0)
	s.forget(j)
	return nil
}

func (s *State) requeueJob(b *poise.JobRequeued, at poise.Time) error {
	j := s.jobs[b.Job]
	if j == nil {
		return notFound(fmt.Sprintf("requeue job %q", b.Job), "no such job")
	}
	if j.task == nil {
		return conflict(fmt.Sprintf("requeue job %q", b.Job), "the job waits, expected a placed job")
	}
	s.releaseTask(j)
	s.stopped(j, true, at)
	s.waitsAgain(j)
	j.waitAgain(b)
	return nil
}

func (s *State) withdrawJob(id poise.JobID) error {
	j := s.jobs[id]
	if j == nil {
		return notFound(fmt.Sprintf("withdraw job %q", id), "no such job")
	}
	if j.task != nil {
		return conflict(fmt.Sprintf("withdraw job %q", id), "the job is placed, expected a waiting job")
	}
	s.goesOn(j)
	s.forget(j)
	return nil
}

// forget drops a job. Those that come after it need not wait for it any more.
func (s *State) forget(j *Job) {
	s.unreserve(j)
	for _, id := range s.later[j.ID] {
		if l := s.jobs[id]; l != nil {
			l.change(func(m *More) { m.After = without(m.After, j.ID) })
		}
	}
	delete(s.later, j.ID)
	for _, id := range j.After {
		if s.later[id] = without(s.later[id], j.ID); len(s.later[id]) == 0 {
			delete(s.later, id)
		}
	}
	s.leave(j)
	s.shapes.release(j.Shape)
	s.podKinds.release(j.Kind)
	delete(s.jobs, j.ID)
}

// without gives a new list less one id.
func without(ids []poise.JobID, id poise.JobID) []poise.JobID {
	var rest []poise.JobID
	for _, other := range ids {
		if other != id {
			rest = append(rest, other)
		}
	}
	return rest
}

// releaseTask gives back what the job holds. A node that left took its row's
// sums with it, and one that came back under the name is another incarnation.
func (s *State) releaseTask(j *Job) {
	t := j.task
	j.task = nil
	if j.Kind == nil {
		defer s.podKinds.release(t.Kind)
	}
	if j.Extra() {
		s.extras--
	}
	if g := s.GangOf(j); g != nil {
		g.running--
	}
	if !s.live.Present(t.row) || s.live.Incarnation(t.row) != t.incarnation {
		return
	}
	hot := s.hotPage(t.row)
	s.live.giveBack(hot, t)
	s.podKinds.count(t.Kind, t.row, -1, t.Ending)
	s.charge(t, -1)
	s.touch(hot, t.row)
}

// giveBack takes a task out of the page of its row.
func (s *Snapshot) giveBack(hot *hotPage, t *Task) {
	i := t.row & pageMask
	for _, a := range t.Shape.Request.Amounts {
		if a.Value > 0 {
			hot.allocated[slices.Index(s.dims, a.Name)<<pageShift|int(i)] -= a.Value
		}
	}
	returnDevices(hot.free[int(i)*hot.stride:][:s.Devices(t.row)], t)
	hot.tasks[i] = hot.tasks[i].without(t)
	hot.running[i]--
}

// returnDevices gives a task's share of each device back. A device that the node no
// longer has is passed over.
func returnDevices(free []uint16, t *Task) {
	for _, d := range t.Devices {
		if int(d) < len(free) {
			free[d] += uint16(t.Shape.Request.Device.Milli)
		}
	}
}

// takeDevices takes a task's share from each device it holds. A device that
// the node no longer has is passed over.
func takeDevices(free []uint16, t *Task) {
	for _, d := range t.Devices {
		if int(d) < len(free) {
			free[d] -= uint16(t.Shape.Request.Device.Milli)
		}
	}
}
