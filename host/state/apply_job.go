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
	s.symbols.intern(string(j.Tenant))
	s.symbols.internDevice(j.Request.Device.Kind, j.Request.Device.Models)
	s.live.symbols = s.symbols.texts
	s.demand.arrive(&j.Request)
	s.live.arrivals = s.demand.arrivals
	s.jobs[j.ID] = &Job{
		ID: j.ID, Name: j.Name, Tenant: j.Tenant, Priority: j.Priority, Tasks: j.Tasks,
		RunTime: j.RunTime, Submitted: at, Seq: s.demand.arrivals, Shape: s.shapes.acquire(j),
	}
	s.comeAfter(s.jobs[j.ID], j.After)
	return nil
}

func (s *State) comeAfter(j *Job, after []poise.JobID) {
	j.After = slices.Clone(after)
	for _, id := range after {
		s.later[id] = append(s.later[id], j.ID)
	}
}

func (s *State) placeJob(p *poise.Placement, at poise.Time) error {
	op := func() string { return fmt.Sprintf("place job %q on node %q", p.Job, p.Node) }
	j := s.jobs[p.Job]
	if j == nil {
		return notFound(op(), "no such job")
	}
	if j.task != nil {
		return conflict(op(), "the job is placed already, expected a waiting job")
	}
	if len(j.After) > 0 {
		return conflict(op(), fmt.Sprintf("the job comes after %q, expected it to have ended", j.After[0]))
	}
	row, ok := s.rowOf[p.Node]
	if !ok {
		return notFound(op(), "no such node")
	}
	if detail := s.misfit(row, j.Shape, p.Devices); detail != "" {
		return conflict(op(), detail)
	}
	t := &Task{
		Job: j.ID, Tenant: j.Tenant, Shape: j.Shape, Devices: slices.Clone(p.Devices), Placed: at,
		row: row, incarnation: s.live.Incarnation(row),
	}
	hot := s.hotPage(row)
	i := row & pageMask
	for _, a := range j.Shape.Request.Amounts {
		if a.Value > 0 {
			hot.allocated[s.cell(a.Name, i)] += a.Value
		}
	}
	takeDevices(hot.free[int(i)*hot.stride:][:s.live.Devices(row)], t)
	hot.tasks[i] = &TaskList{Task: t, Next: hot.tasks[i]}
	hot.running[i]++
	j.task = t
	s.charge(t, 1)
	s.touch(hot, row)
	return nil
}

// misfit says why the request does not fit into what is idle on the row, or "".
func (s *State) misfit(row uint32, shape *Shape, devices []uint16) string {
	for _, a := range shape.Request.Amounts {
		if a.Value == 0 {
			continue
		}
		dim, ok := s.dims.Index(a.Name)
		if !ok || s.live.Idle(row, dim) < a.Value {
			idle := int64(0)
			if ok {
				idle = s.live.Idle(row, dim)
			}
			return fmt.Sprintf("%s: request %s, idle %s", a.Name, resource.Format(a.Name, a.Value), resource.Format(a.Name, idle))
		}
	}
	ask := &shape.Request.Device
	if len(devices) != int(ask.Count) {
		return fmt.Sprintf("devices: %d given, expected %d", len(devices), ask.Count)
	}
	if ask.Count > 0 && s.live.kinds[s.live.Kind(row)] != ask.Kind {
		return fmt.Sprintf("devices: kind %q, expected %q", s.live.kinds[s.live.Kind(row)], ask.Kind)
	}
	free := s.live.Free(row)
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
	s.releaseTask(j)
	s.forget(j)
	return nil
}

func (s *State) requeueJob(id poise.JobID) error {
	j := s.jobs[id]
	if j == nil {
		return notFound(fmt.Sprintf("requeue job %q", id), "no such job")
	}
	if j.task == nil {
		return conflict(fmt.Sprintf("requeue job %q", id), "the job waits, expected a placed job")
	}
	s.releaseTask(j)
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
	s.forget(j)
	return nil
}

// forget drops a job. Those that come after it need not wait for it any more.
func (s *State) forget(j *Job) {
	for _, id := range s.later[j.ID] {
		if l := s.jobs[id]; l != nil {
			l.After = without(l.After, j.ID)
		}
	}
	delete(s.later, j.ID)
	for _, id := range j.After {
		if s.later[id] = without(s.later[id], j.ID); len(s.later[id]) == 0 {
			delete(s.later, id)
		}
	}
	s.shapes.release(j.Shape)
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
	if !s.live.Present(t.row) || s.live.Incarnation(t.row) != t.incarnation {
		return
	}
	hot := s.hotPage(t.row)
	i := t.row & pageMask
	for _, a := range t.Shape.Request.Amounts {
		if a.Value > 0 {
			hot.allocated[s.cell(a.Name, i)] -= a.Value
		}
	}
	free := hot.free[int(i)*hot.stride:][:s.live.Devices(t.row)]
	for _, d := range t.Devices {
		if int(d) < len(free) {
			free[d] += uint16(t.Shape.Request.Device.Milli)
		}
	}
	hot.tasks[i] = hot.tasks[i].without(t)
	hot.running[i]--
	s.charge(t, -1)
	s.touch(hot, t.row)
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
