package state

import (
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Image is a State as plain data, for keeping: State.Image gives one, FromImage
// the State again. What a State can work out anew is not in it. It may be
// written as JSON but for Classes, which whoever writes it has to add.
type Image struct {
	Index, Version, Joins, Arrivals uint64
	At                              poise.Time
	Dims, Kinds, Models             []string
	Symbols, SymbolKeys             []string
	Rows                            int
	FreeRows                        []uint32
	Nodes                           []NodeImage // by row
	Jobs                            []JobImage  // by arrival
	Gangs                           []GangImage `json:",omitempty"` // by tenant and id
	Seen                            []SeenImage
	Profiles                        []*poise.Profile
	Demand                          *poise.Demand
	Policies                        PoliciesImage
	Past                            []PastImage        `json:",omitempty"` // by tenant
	Reservations                    []ReservationImage `json:",omitempty"`
	Spaces                          []poise.SpaceSet   `json:",omitempty"` // by cluster and tenant
	Classes                         poise.ModelRecord  `json:"-"`
}

// NodeImage is a present node.
type NodeImage struct {
	Row                             uint32
	Version, Incarnation, Described uint64
	Joined                          poise.Time
	Node                            poise.Node
	Tasks                           []poise.JobID   // in the order of the row's list
	Occupants                       []OccupantImage `json:",omitempty"` // likewise
}

// JobImage is a job that waits or runs.
type JobImage struct {
	Job       poise.Job
	Submitted poise.Time
	Seq       uint64
	Task      *TaskImage // nil while it waits
	NotBefore poise.Time `json:",omitempty"`
	Failures  int32      `json:",omitempty"`
	Yield     *Yield     `json:",omitempty"`
}

// TaskImage is where a job runs.
type TaskImage struct {
	Row         uint32
	Incarnation uint64
	Devices     []uint16
	Placed      poise.Time
	Pool        *PoolImage `json:",omitempty"` // nil in what earlier versions kept
	// Space is the namespace of the pod that the job has become, "" for any other and in
	// what earlier versions kept.
	Space  string `json:",omitempty"`
	Ending bool   `json:",omitempty"`
}

// SeenImage is one count of the demand.
type SeenImage struct {
	Seen
	Last uint64 // arrival number of the last one
}

// Image gives the State as it is now.
func (s *State) Image() *Image { return s.Moment().Image() }

func (s *Snapshot) nodeImage(row uint32) NodeImage {
	n := NodeImage{
		Row: row, Version: s.RowVersion(row), Incarnation: s.Incarnation(row), Described: s.Described(row), Joined: s.Joined(row),
		Node: s.NodeOf(row),
	}
	for l := s.Tasks(row); l != nil; l = l.Next {
		n.Tasks = append(n.Tasks, l.Task.Job)
	}
	return n
}

// NodeOf gives the row's node as it last described itself, with the marks that
// were made since.
func (s *Snapshot) NodeOf(row uint32) poise.Node {
	n := poise.Node{
		Name: s.Name(row), Cluster: s.Cluster(row), Labels: slices.Clone(s.Labels(row)), Taints: slices.Clone(s.Taints(row)),
		NotReady: s.NotReady(row), Drained: s.Drained(row),
		Devices: poise.Devices{
			Kind: s.kinds[s.Kind(row)], Model: s.models[s.Model(row)], Count: int32(s.Devices(row)), Exclusive: s.Exclusive(row),
		},
	}
	for d, name := range s.dims {
		if v := s.Capacity(row, d); v > 0 {
			n.Capacity = append(n.Capacity, resource.Amount{Name: name, Value: v})
		}
	}
	slices.SortFunc(n.Capacity, func(a, b resource.Amount) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return n
}

func (j *Job) image() JobImage {
	im := JobImage{Job: j.Spec(), Submitted: j.Submitted, Seq: j.Seq, NotBefore: j.NotBefore, Failures: j.Failures, Yield: j.Yield.image()}
	if t := j.task; t != nil {
		im.Task = &TaskImage{Row: t.row, Incarnation: t.incarnation, Devices: t.Devices, Placed: t.Placed, Pool: t.pool.image(), Space: t.space(j), Ending: t.Ending}
	}
	return im
}

// Spec gives the job as it was submitted, with what became of it since.
func (j *Job) Spec() poise.Job {
	return poise.Job{
		ID: j.ID, Name: j.Name, Tenant: j.Tenant, Priority: j.Priority, Tasks: j.Tasks, RunTime: j.RunTime,
		Request: cloneRequest(&j.Shape.Request), Selectors: slices.Clone(j.Shape.Selectors), Tolerations: slices.Clone(j.Shape.Tolerations),
		After: slices.Clone(j.After), StartBy: j.StartBy, FinishBy: j.FinishBy, Retry: j.Retry, Held: j.Held, Labels: j.Labels, Gang: j.Gang,
		Pod: j.Kind.pod(),
	}
}

// FromImage makes the State of an image. An image that does not hold together is
// refused.
func FromImage(im *Image, settings Settings) (*State, error) {
	s, err := New(settings)
	if err != nil {
		return nil, err
	}
	if err := im.check(); err != nil {
		return nil, err
	}
	for _, name := range im.Dims {
		s.dims.Intern(name)
	}
	l := &s.live
	l.dims, l.kinds, l.models = s.dims.Names(), im.Kinds, im.Models
	if !slices.Equal(l.dims, im.Dims) || len(im.Kinds) == 0 || len(im.Models) == 0 || len(im.Symbols) == 0 {
		return nil, broken("names: %d dimensions, %d kinds, %d models, %d symbols do not hold together", len(im.Dims), len(im.Kinds), len(im.Models), len(im.Symbols))
	}
	s.symbols = newSymbols()
	for _, text := range im.Symbols {
		s.symbols.intern(text)
	}
	for _, key := range im.SymbolKeys {
		s.symbols.keys[key] = true
	}
	l.symbols = s.symbols.texts
	for range im.Rows {
		s.newRow()
	}
	s.placePolicies(&im.Policies)
	half := settings.UsageHalfLife
	if im.Policies.Scheduler != nil {
		half = im.Policies.Scheduler.UsageHalfLife
	}
	s.usage.past = past{} // what tasks hold is charged below, and was long before
	for i := range im.Spaces {
		if err := s.setSpace(&im.Spaces[i]); err != nil {
			return nil, err
		}
	}
	if err := s.placeNodes(im); err != nil {
		return nil, err
	}
	if err := s.placeJobs(im); err != nil {
		return nil, err
	}
	if err := s.placeOccupants(im); err != nil {
		return nil, err
	}
	if err := s.placeReservations(im); err != nil {
		return nil, err
	}
	for i := range im.Seen {
		e := im.Seen[i].Seen
		e.at = im.Seen[i].Last
		s.demand.index[string(e.appendKey(nil))] = len(s.demand.seen)
		s.demand.seen = append(s.demand.seen, e)
	}
	s.freeRows = slices.Clone(im.FreeRows)
	s.demand.arrivals, l.arrivals, l.joins, s.index = im.Arrivals, im.Arrivals, im.Joins, im.Index
	l.profiles, l.demand, l.classes, l.at = im.Profiles, im.Demand, im.Classes, im.At
	l.version, l.changesBase, l.changes = im.Version, im.Version, nil
	if err := s.usage.past.place(half, im.Past); err != nil {
		return nil, err
	}
	return s, nil
}

// check refuses what no State gives an image of, before room is made for it.
func (im *Image) check() error {
	if im.Rows != len(im.Nodes)+len(im.FreeRows) {
		return broken("rows: %d, expected %d for nodes and %d free ones", im.Rows, len(im.Nodes), len(im.FreeRows))
	}
	taken := make([]bool, im.Rows)
	for _, row := range im.FreeRows {
		if int(row) >= im.Rows || taken[row] {
			return broken("free row %d of %d: expected each once", row, im.Rows)
		}
		taken[row] = true
	}
	for i := range im.Nodes {
		if n := &im.Nodes[i]; int(n.Row) >= im.Rows || taken[n.Row] || n.Version > im.Version || n.Described > im.Version {
			return broken("node %q: row %d of %d, version %d of %d, expected a row of its own and no later version", n.Node.Name, n.Row, im.Rows, n.Version, im.Version)
		}
		taken[im.Nodes[i].Row] = true
	}
	for _, p := range im.Profiles {
		if p == nil {
			return broken("demand profile: empty, expected one")
		}
	}
	return nil
}

func broken(format string, args ...any) error {
	return &poise.Error{Kind: poise.Invalid, Op: "state from image", Detail: fmt.Sprintf(format, args...)}
}

// placeNodes puts the nodes into their rows.
func (s *State) placeNodes(im *Image) error {
	for i := range im.Nodes {
		n := &im.Nodes[i]
		if err := n.Node.Validate(); err != nil {
			return err
		}
		if _, twice := s.rowOf[n.Node.Name]; twice || int(n.Row) >= im.Rows || s.live.Present(n.Row) {
			return broken("node %q: row %d of %d, expected a row and a name of its own", n.Node.Name, n.Row, im.Rows)
		}
		s.rowOf[n.Node.Name] = n.Row
		s.names.add(n.Node.Name, n.Row)
		s.live.nodes++
		s.coldPage(n.Row).ident[n.Row&pageMask] = &ident{name: n.Node.Name, incarnation: n.Incarnation, joined: n.Joined}
		s.describe(n.Row, &n.Node)
		s.coldPage(n.Row).ident[n.Row&pageMask].described = n.Described
		s.hotPage(n.Row).version[n.Row&pageMask] = n.Version
	}
	return nil
}

// placeJobs makes the jobs known and puts the tasks on their rows.
func (s *State) placeJobs(im *Image) error {
	for i := range im.Jobs {
		e := &im.Jobs[i]
		if err := e.Job.Validate(); err != nil {
			return err
		}
		if s.jobs[e.Job.ID] != nil {
			return broken("job %q: twice, expected once", e.Job.ID)
		}
		j := NewJob(&e.Job, s.shapes.acquire(&e.Job), s.podKinds.acquire(e.Job.Pod, e.Job.Labels), e.Submitted, e.Seq)
		j.change(func(m *More) { m.NotBefore, m.Failures = e.NotBefore, e.Failures })
		if detail := s.contradiction(&e.Job); detail != "" {
			return broken("job %q: %s", e.Job.ID, detail)
		}
		s.join(j)
		if t := e.Task; t != nil {
			j.task = newTask(j, t.Row, t.Incarnation, t.Devices, t.Placed)
			j.task.pool, j.task.Ending = s.poolOf(t), t.Ending
			if t.Space != "" {
				cluster := "" // of a node that has left nobody asks
				if _, there := j.task.Row(&s.live); there {
					cluster = s.live.Cluster(t.Row)
				}
				s.becomePod(j.task, j, cluster, t.Space)
			}
		}
		s.jobs[j.ID] = j
		if err := s.placeYield(j, e.Yield); err != nil {
			return err
		}
		if j.task != nil {
			s.began(j)
		}
	}
	if err := s.placeGangs(im.Gangs); err != nil {
		return err
	}
	for i := range im.Jobs { // by arrival, as they came
		e := &im.Jobs[i].Job
		for _, id := range e.After {
			if s.jobs[id] == nil {
				return broken("job %q: after %q, which is not there", e.ID, id)
			}
		}
		s.comeAfter(s.jobs[e.ID], e.After)
	}
	for i := range im.Nodes {
		n := &im.Nodes[i]
		hot, at := s.hotPage(n.Row), n.Row&pageMask
		for _, id := range slices.Backward(n.Tasks) {
			j := s.jobs[id]
			if j == nil || j.task == nil || j.task.row != n.Row || j.task.incarnation != n.Incarnation {
				return broken("node %q: task of job %q, which does not run there", n.Node.Name, id)
			}
			for _, a := range j.Shape.Request.Amounts {
				if a.Value > 0 {
					// The nodes of a page may all have lost a dimension since.
					d, known := s.dims.Index(a.Name)
					if !known {
						return broken("job %q: runs, and asks for %q, which no node had", id, a.Name)
					}
					hot.widen(d + 1)
					hot.allocated[s.cell(a.Name, at)] += a.Value
				}
			}
			takeDevices(hot.free[int(at)*hot.stride:][:s.live.Devices(n.Row)], j.task)
			hot.tasks[at] = &TaskList{Task: j.task, Next: hot.tasks[at]}
			hot.running[at]++
			s.podKinds.count(j.task.Kind, n.Row, 1, j.task.Ending)
			s.charge(j.task, 1)
		}
	}
	return nil
}
