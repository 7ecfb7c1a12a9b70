package state

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// model is a state that keeps no sums: it adds up the live tasks whenever it
// is asked.
type model struct {
	halfLife float64
	nodes    map[string]*modelNode
	jobs     map[poise.JobID]*modelJob
	joins    uint64
	arrivals []poise.Request
	placings int
	epoch    uint64
	gangs    map[string]*modelGang // by tenant and id; of those without members it means nothing
	reserved []modelReservation    // in their order
	tenants  map[poise.TenantID]poise.Tenant
	declared func(resource string) bool // whether a node ever did

	occupants map[string]*modelOccupant // by id, those whose node has left among them
	spaces    map[string]string         // by cluster and tenant
}

type modelNode struct {
	poise.Node
	incarnation uint64
}

type modelJob struct {
	poise.Job
	on        *modelTask // nil while it waits
	notBefore poise.Time
	failures  int32
	yield     Yield
}

type modelTask struct {
	node        string
	incarnation uint64
	devices     []uint16
	placed      poise.Time
	order       int
	pool        [2]string

	cluster, space string // of the pod that the job has become, "" for none
	ending         bool
}

func newModel(halfLife float64) *model {
	return &model{
		halfLife: halfLife, nodes: map[string]*modelNode{}, jobs: map[poise.JobID]*modelJob{}, gangs: map[string]*modelGang{}, tenants: map[poise.TenantID]poise.Tenant{},
		occupants: map[string]*modelOccupant{}, spaces: map[string]string{},
	}
}

// tasks gives the jobs that hold part of the node, the latest first.
func (m *model) tasks(n *modelNode) []*modelJob {
	var on []*modelJob
	for _, j := range m.jobs {
		if j.on != nil && j.on.node == n.Name && j.on.incarnation == n.incarnation {
			on = append(on, j)
		}
	}
	slices.SortFunc(on, func(a, b *modelJob) int { return b.on.order - a.on.order })
	return on
}

func (m *model) allocated(n *modelNode, dim string) int64 {
	sum := int64(0)
	for _, j := range m.tasks(n) {
		amount, _ := j.Request.Amounts.Find(dim)
		sum += amount
	}
	for _, o := range m.others(n) {
		amount, _ := o.Request.Amounts.Find(dim)
		sum += amount
	}
	return sum
}

func (m *model) free(n *modelNode) []uint16 {
	var free []uint16
	for d := range uint16(n.Devices.Count) {
		left := int32(1000)
		for _, j := range m.tasks(n) {
			if slices.Contains(j.on.devices, d) {
				left -= j.Request.Device.Milli
			}
		}
		for _, o := range m.others(n) {
			if slices.Contains(o.devices, d) {
				left -= o.Request.Device.Milli
			}
		}
		free = append(free, uint16(left))
	}
	return free
}

// fits says whether the job's request is idle on the node, with these devices.
func (m *model) fits(j *modelJob, n *modelNode, devices []uint16) bool {
	for _, a := range j.Request.Amounts {
		capacity, _ := n.Capacity.Find(a.Name)
		if a.Value > 0 && capacity-m.allocated(n, a.Name) < a.Value {
			return false
		}
	}
	ask, free := j.Request.Device, m.free(n)
	if len(devices) != int(ask.Count) || ask.Count > 0 && ask.Kind != n.Devices.Kind {
		return false
	}
	for k, d := range devices {
		if k > 0 && devices[k-1] >= d || int(d) >= len(free) || int32(free[d]) < ask.Milli {
			return false
		}
	}
	return true
}

// devices gives the lowest devices of the node that the job could take.
func (m *model) devices(j *modelJob, n *modelNode) []uint16 {
	var take []uint16
	for d, free := range m.free(n) {
		if len(take) < int(j.Request.Device.Count) && int32(free) >= j.Request.Device.Milli {
			take = append(take, uint16(d))
		}
	}
	return take
}

// submit makes a job known.
func (m *model) submit(j *poise.Job) (kind poise.Kind, ok bool) {
	if j.Validate() != nil {
		return poise.Invalid, false
	}
	if m.jobs[j.ID] != nil {
		return poise.Conflict, false
	}
	for _, id := range j.After {
		if m.jobs[id] == nil {
			return poise.NotFound, false
		}
	}
	made := &modelJob{Job: *j}
	if !m.enlists(made) {
		return poise.Conflict, false
	}
	m.arrivals = append(m.arrivals, j.Request)
	m.jobs[j.ID] = made
	return 0, true
}

// forget drops a job, and what comes after it comes after one less.
func (m *model) forget(id poise.JobID) {
	m.unreserve(m.jobs[id])
	delete(m.jobs, id)
	for _, j := range m.jobs {
		j.After = slices.DeleteFunc(slices.Clone(j.After), func(other poise.JobID) bool { return other == id })
	}
}

// apply makes the event part of the model, or says why it is refused.
func (m *model) apply(body poise.Body, at poise.Time) (kind poise.Kind, ok bool) {
	switch b := body.(type) {
	case poise.NodeJoined:
		if b.Node.Validate() != nil {
			return poise.Invalid, false
		}
		if m.nodes[b.Node.Name] != nil {
			return poise.Conflict, false
		}
		m.joins++
		m.nodes[b.Node.Name] = &modelNode{Node: b.Node, incarnation: m.joins}
	case poise.NodeChanged:
		if b.Node.Validate() != nil {
			return poise.Invalid, false
		}
		n := m.nodes[b.Node.Name]
		if n == nil {
			return poise.NotFound, false
		}
		n.Node = b.Node
	case poise.NodeMarked:
		n := m.nodes[b.Name]
		if n == nil {
			return poise.NotFound, false
		}
		n.NotReady, n.Drained = b.NotReady, b.Drained
	case poise.NodeLeft:
		if m.nodes[b.Name] == nil {
			return poise.NotFound, false
		}
		for _, o := range m.others(m.nodes[b.Name]) {
			delete(m.occupants, o.ID)
		}
		delete(m.nodes, b.Name)
	case poise.NodeOccupied:
		return m.occupy(b.Occupant)
	case poise.NodeVacated:
		return m.vacate(b.ID)
	case poise.JobEnding:
		return m.ending(b.Job)
	case poise.SpaceSet:
		if b.Validate() != nil {
			return poise.Invalid, false
		}
		m.spaces[b.Cluster+"/"+string(b.Tenant)] = b.Space
	case poise.JobSubmitted:
		return m.submit(&b.Job)
	case poise.JobAdopted:
		return m.adopt(&b, at)
	case poise.JobPlaced:
		p := b.Placement
		j, n, kind, ok := m.placeable(&p)
		if !ok {
			return kind, false
		}
		if !m.alone(j) || !m.fits(j, n, p.Devices) {
			return poise.Conflict, false
		}
		m.run(j, n, p.Devices, at)
		m.begins(j)
	case poise.GangPlaced:
		return m.placeGang(&b, at)
	case poise.JobPreempted:
		return m.preempt(&b)
	case poise.JobSpared:
		return m.spare(&b)
	case poise.ReservationMade:
		return m.reserve(&b)
	case poise.ReservationEnded:
		was := len(m.reserved)
		m.reserved = slices.DeleteFunc(m.reserved, func(r modelReservation) bool { return r.job == b.Job })
		if len(m.reserved) == was {
			return poise.NotFound, false
		}
	case poise.TenantSet:
		return m.setTenant(b.Tenant)
	case poise.TenantRemoved:
		return m.removeTenant(b.Tenant)
	case poise.JobFinished:
		if kind, ok := m.known(b.Job, true); !ok {
			return kind, false
		}
		m.ends(m.jobs[b.Job])
	case poise.JobRequeued:
		if kind, ok := m.known(b.Job, true); !ok {
			return kind, false
		}
		j := m.jobs[b.Job]
		j.notBefore = b.NotBefore
		m.waitsAgain(j, at)
		if b.Failed {
			j.failures++
			j.StartBy = 0
		}
	case poise.JobHeld:
		if kind, ok := m.known(b.Job, false); !ok {
			return kind, false
		}
		if m.jobs[b.Job].Held != "" {
			return poise.Conflict, false
		}
		m.jobs[b.Job].Held = b.By
		m.unreserve(m.jobs[b.Job])
	case poise.JobReleased:
		j := m.jobs[b.Job]
		if j == nil {
			return poise.NotFound, false
		}
		if j.Held == "" {
			return poise.Conflict, false
		}
		j.Held = ""
	case poise.JobPrioritySet:
		j := m.jobs[b.Job]
		if j == nil {
			return poise.NotFound, false
		}
		kin := []*modelJob{j}
		if j.Gang != nil {
			kin = m.members(j)
		}
		for _, each := range kin {
			each.Priority = b.Priority
		}
	case poise.JobWithdrawn:
		if kind, ok := m.known(b.Job, false); !ok {
			return kind, false
		}
		m.ends(m.jobs[b.Job])
	case poise.ProfileBuilt:
		m.epoch = b.Profiles[0].Epoch
	}
	return 0, true
}

func (m *model) known(id poise.JobID, placed bool) (poise.Kind, bool) {
	switch j := m.jobs[id]; {
	case j == nil:
		return poise.NotFound, false
	case (j.on != nil) != placed:
		return poise.Conflict, false
	}
	return 0, true
}

// content is what the function of that name says of a snapshot.
func (m *model) content() string {
	var lines []string
	for _, n := range m.nodes {
		lines = append(lines, m.nodeText(n))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (m *model) nodeText(n *modelNode) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s cluster=%q ready=%v drained=%v schedulable=%v labels=%v taints=%v tainted=%v",
		n.Name, n.Cluster, !n.NotReady, n.Drained, !n.NotReady && !n.Drained, n.Labels, n.Taints, len(n.Taints) > 0)
	var dims []string
	for _, a := range n.Capacity {
		dims = append(dims, a.Name)
	}
	for _, j := range m.tasks(n) {
		for _, a := range j.Request.Amounts {
			dims = append(dims, a.Name)
		}
	}
	for _, o := range m.others(n) {
		for _, a := range o.Request.Amounts {
			dims = append(dims, a.Name)
		}
	}
	slices.Sort(dims)
	for _, name := range slices.Compact(dims) {
		capacity, _ := n.Capacity.Find(name)
		allocated := m.allocated(n, name)
		if capacity != 0 || allocated != 0 {
			fmt.Fprintf(&b, " %s=%d/%d/%d", name, capacity, allocated, max(capacity-allocated, 0))
		}
	}
	tasks := m.tasks(n)
	fmt.Fprintf(&b, " devices=%d %q %q exclusive=%v free=%v running=%d tasks=",
		n.Devices.Count, n.Devices.Kind, n.Devices.Model, n.Devices.Exclusive, m.free(n), len(tasks))
	for _, j := range tasks {
		b.WriteString(taskText(j.ID, j.on.devices, j.on.placed, &j.Request))
	}
	return b.String()
}

// lives gives, by job, all that people may change of it and what became of it.
func (m *model) lives() map[poise.JobID]string {
	lives := map[poise.JobID]string{}
	for id, j := range m.jobs {
		lives[id] = lifeText(&j.Job, j.notBefore, j.failures)
	}
	return lives
}

func lifeText(j *poise.Job, notBefore poise.Time, failures int32) string {
	due, ok := poise.DueBy(true, j.StartBy, j.FinishBy, j.RunTime)
	return fmt.Sprintf("priority %d after %v held %q labels %v retry %v start by %d finish by %d due %d %v not before %d failures %d",
		j.Priority, j.After, j.Held, j.Labels, j.Retry, j.StartBy, j.FinishBy, due, ok, notBefore, failures)
}

// demand gives what Demand should: per kind of device request, in order of
// first arrival, the sum over its arrivals of 2^(-age/halfLife).
func (m *model) demand() []Seen {
	var seen []Seen
	for i, r := range m.arrivals {
		cpu, _ := r.Amounts.Find("cpu")
		memory, _ := r.Amounts.Find("memory")
		s := Seen{Kind: r.Device.Kind, CPU: cpu, Memory: int64(math.Ceil(float64(memory) / (1 << 20))), Count: r.Device.Count, Milli: r.Device.Milli, Models: r.Device.Models}
		k := slices.IndexFunc(seen, func(o Seen) bool {
			return o.Kind == s.Kind && o.CPU == s.CPU && o.Memory == s.Memory && o.Count == s.Count && o.Milli == s.Milli && slices.Equal(o.Models, s.Models)
		})
		if k < 0 {
			k = len(seen)
			seen = append(seen, s)
		}
		weight := 1.0
		if m.halfLife > 0 {
			weight = math.Pow(2, -float64(len(m.arrivals)-1-i)/m.halfLife)
		}
		seen[k].Times += weight
	}
	return seen
}

// shapes counts the distinct requests, selectors and tolerations of live jobs.
func (m *model) shapes() int {
	distinct := map[string]bool{}
	for _, j := range m.jobs {
		distinct[fmt.Sprintf("%q %q %v", fmt.Sprint(j.Request), j.Selectors, j.Tolerations)] = true
	}
	for _, o := range m.occupants {
		distinct[fmt.Sprintf("%q %q %v", fmt.Sprint(o.Request), []poise.Selector(nil), []poise.Toleration(nil))] = true
	}
	return len(distinct)
}
