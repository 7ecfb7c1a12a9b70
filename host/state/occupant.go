package state

import (
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// occupant is what holds part of a node without a placement.
type occupant struct {
	spec poise.Occupant
	task *Task // of no job
}

// occupy puts an occupant on its node, in place of what was said of it before.
func (s *State) occupy(o *poise.Occupant, at poise.Time) error {
	if err := o.Validate(); err != nil {
		return err
	}
	row, ok := s.rowOf[o.Node]
	if !ok {
		return notFound(fmt.Sprintf("occupy node %q", o.Node), "no such node")
	}
	if s.occupants[o.ID] != nil {
		s.vacate(o.ID)
	}
	s.settle(o, s.occupantTask(o, row, at), s.live.lowest(row, &o.Request.Device))
	return nil
}

// occupantTask makes the task of an occupant, without devices.
func (s *State) occupantTask(o *poise.Occupant, row uint32, at poise.Time) *Task {
	job := poise.Job{Request: o.Request, Pod: o.Pod}
	// No node has of what none ever declared.
	job.Request.Amounts = slices.DeleteFunc(slices.Clone(o.Request.Amounts), func(a resource.Amount) bool {
		_, known := s.dims.Index(a.Name)
		return !known || a.Value == 0
	})
	return &Task{occupant: o.ID, Shape: s.shapes.acquire(&job), Kind: s.podKinds.acquire(o.Pod, o.Labels), Placed: at, row: row, incarnation: s.live.Incarnation(row)}
}

// lowest gives the first devices that have as much free as is asked for, as many as
// there are.
func (s *Snapshot) lowest(row uint32, ask *poise.DeviceRequest) []uint16 {
	if ask.Count == 0 || s.kinds[s.Kind(row)] != ask.Kind {
		return nil
	}
	var devices []uint16
	for i, free := range s.Free(row) {
		if len(devices) < int(ask.Count) && int32(free) >= ask.Milli {
			devices = append(devices, uint16(i))
		}
	}
	return devices
}

// settle takes what an occupant asks for from its row, whether or not it is there.
func (s *State) settle(o *poise.Occupant, t *Task, devices []uint16) {
	t.Devices = devices
	s.occupants[o.ID] = &occupant{spec: *o, task: t}
	hot, i := s.hotPage(t.row), t.row&pageMask
	for _, a := range t.Shape.Request.Amounts {
		d, _ := s.dims.Index(a.Name)
		hot.widen(d + 1)
		hot.allocated[d<<pageShift|int(i)] += a.Value
	}
	takeDevices(hot.free[int(i)*hot.stride:][:s.live.Devices(t.row)], t)
	hot.setOthers(i, &TaskList{Task: t, Next: hot.othersAt(i)})
	s.podKinds.count(t.Kind, t.row, 1, o.Ending)
	s.touch(hot, t.row)
}

// vacate takes an occupant off its node.
func (s *State) vacate(id string) {
	t := s.occupants[id].task
	hot, i := s.hotPage(t.row), t.row&pageMask
	for _, a := range t.Shape.Request.Amounts {
		d, _ := s.dims.Index(a.Name)
		hot.allocated[d<<pageShift|int(i)] -= a.Value
	}
	returnDevices(hot.free[int(i)*hot.stride:][:s.live.Devices(t.row)], t)
	hot.setOthers(i, hot.othersAt(i).without(t))
	s.touch(hot, t.row)
	s.gone(id)
}

// gone forgets an occupant that is off its row already.
func (s *State) gone(id string) {
	o := s.occupants[id]
	t := o.task
	s.podKinds.count(t.Kind, t.row, -1, o.spec.Ending)
	s.podKinds.release(t.Kind)
	s.shapes.release(t.Shape)
	delete(s.occupants, id)
}

func (s *State) endOccupation(id string) error {
	if s.occupants[id] == nil {
		return notFound(fmt.Sprintf("vacate occupant %q", id), "no such occupant")
	}
	s.vacate(id)
	return nil
}

// Occupants gives the ids of what occupies nodes of a cluster, sorted.
func (s *State) Occupants(cluster string) []string {
	var ids []string
	for id, o := range s.occupants {
		if s.live.Cluster(o.task.row) == cluster {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Occupant gives an occupant that is on a node, or nil.
func (s *State) Occupant(id string) *poise.Occupant {
	if o := s.occupants[id]; o != nil {
		return &o.spec
	}
	return nil
}

// occupantsLeft forgets the occupants of a node that leaves.
func (s *State) occupantsLeft(row uint32) {
	hot, i := s.hotPage(row), row&pageMask
	for l := hot.othersAt(i); l != nil; l = l.Next {
		s.gone(l.Task.occupant)
	}
	hot.setOthers(i, nil)
}

// OccupantImage is an occupant with the devices that it holds.
type OccupantImage struct {
	Occupant poise.Occupant
	Devices  []uint16 `json:",omitempty"`
	Placed   poise.Time
}

// placeOccupants puts the occupants of an image on their rows.
func (s *State) placeOccupants(im *Image) error {
	for i := range im.Nodes {
		n := &im.Nodes[i]
		for _, e := range slices.Backward(n.Occupants) {
			if err := e.Occupant.Validate(); err != nil {
				return err
			}
			if e.Occupant.Node != n.Node.Name || s.occupants[e.Occupant.ID] != nil {
				return broken("occupant %q of node %q: expected each once, on its node", e.Occupant.ID, n.Node.Name)
			}
			s.settle(&e.Occupant, s.occupantTask(&e.Occupant, n.Row, e.Placed), e.Devices)
			s.hotPage(n.Row).version[n.Row&pageMask] = n.Version
		}
	}
	return nil
}
