package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Settings of a State. They are part of what decisions depend on.
type Settings struct {
	// DemandHalfLife is the number of arrivals after which a count of the
	// demand profile has halved; 0 keeps all counts.
	DemandHalfLife float64
	// UsageHalfLife is the time after which what a tenant held counts half in its
	// share, up to ten years; 0 = the past counts nothing.
	UsageHalfLife poise.Span
}

// State is the fleet and its jobs. It belongs to one goroutine; others read
// snapshots.
type State struct {
	live       Snapshot
	generation uint64 // pages with another owner are shared with a snapshot
	hotOwner   uint64 // owner of the slice of hot pages
	coldOwner  uint64 // owner of the slice of cold pages
	rowOf      map[string]uint32
	freeRows   []uint32
	dims       *resource.Dims
	jobs       map[poise.JobID]*Job
	later      map[poise.JobID][]poise.JobID // by job, those that come after it, in their order
	yields     map[poise.JobID][]poise.JobID // by job, those that run and make room for it
	extras     int                           // that run
	shapes     shapes
	podKinds   podKinds
	spaces     map[spaceKey]string  // by what they are for, where it is not the name of the tenant
	occupants  map[string]*occupant // by id
	names      names
	demand     demand
	symbols    symbols
	policies   *Policies
	usage      usage
	gangs      map[gangKey]*Gang
	index      uint64
}

// New gives an empty state.
func New(s Settings) (*State, error) {
	if !(s.DemandHalfLife >= 0) || s.DemandHalfLife > 1e12 {
		return nil, &poise.Error{
			Kind: poise.Invalid, Op: "new state",
			Detail: fmt.Sprintf("demand half-life: %v arrivals, expected 0 to 1e12", s.DemandHalfLife),
		}
	}
	if err := checkUsageHalfLife("new state", s.UsageHalfLife); err != nil {
		return nil, err
	}
	dims := resource.NewDims()
	made := &State{
		live: Snapshot{
			dims:    dims.Names(),
			kinds:   []string{""},
			models:  []string{""},
			symbols: []string{""},
		},
		rowOf:  map[string]uint32{},
		dims:   dims,
		jobs:   map[poise.JobID]*Job{},
		later:  map[poise.JobID][]poise.JobID{},
		yields: map[poise.JobID][]poise.JobID{},
		shapes: shapes{byKey: map[string]*Shape{}}, podKinds: podKinds{byKey: map[string]*PodKind{}}, spaces: map[spaceKey]string{}, occupants: map[string]*occupant{},
		symbols: newSymbols(), policies: NewPolicies(), usage: newUsage(), gangs: map[gangKey]*Gang{},
		demand: demand{halfLife: s.DemandHalfLife, index: map[string]int{}},
	}
	made.usage.setHalfLife(s.UsageHalfLife)
	return made, nil
}

// View gives the present state without copying anything. It is valid until the
// next Apply and only for the goroutine that owns the State.
func (s *State) View() *Snapshot {
	s.names.flush(s)
	return &s.live
}

// Snapshot gives the present state for keeping: later events change copies of
// the pages they touch.
func (s *State) Snapshot() *Snapshot {
	s.names.flush(s)
	snap := s.live
	s.generation++
	return &snap
}

// Job gives a job that waits or runs, or nil. It must not be changed and is
// valid until the next Apply.
func (s *State) Job(id poise.JobID) *Job { return s.jobs[id] }

// Draft gives a job as it would be if it were submitted now, which changes
// nothing that a decision depends on.
func (s *State) Draft(j *poise.Job, at poise.Time) (*Job, error) {
	if err := j.Validate(); err != nil {
		return nil, err
	}
	shape := s.shapes.acquire(j)
	s.shapes.release(shape)
	kind := s.podKinds.acquire(j.Pod, j.Labels)
	s.podKinds.release(kind)
	return NewJob(j, shape, kind, at, s.demand.arrivals+1), nil
}

// All gives the jobs that wait or run, in the order of their arrival.
func (s *State) All() []*Job {
	jobs := slices.Collect(maps.Values(s.jobs))
	slices.SortFunc(jobs, func(a, b *Job) int { return cmp.Compare(a.Seq, b.Seq) })
	return jobs
}

// Waiting gives the jobs that wait, in the order of their arrival.
func (s *State) Waiting() []*Job {
	return slices.DeleteFunc(s.All(), func(j *Job) bool { return !j.Waiting() })
}

// Later gives the jobs that come after a job, in the order of their arrival.
func (s *State) Later(id poise.JobID) []poise.JobID { return slices.Clone(s.later[id]) }

// Jobs is the number of jobs that wait or run.
func (s *State) Jobs() int { return len(s.jobs) }

// Shapes is the number of distinct shapes of the jobs that wait or run.
func (s *State) Shapes() int { return s.shapes.used() }

// Row gives the row of a present node.
func (s *State) Row(node string) (uint32, bool) {
	row, ok := s.rowOf[node]
	return row, ok
}

// Demand gives what kinds of device jobs have arrived and how often, in order
// of first arrival. It knows 8,192 kinds: one more, and the lighter half by
// times * (1 + devices asked for) is forgotten.
func (s *State) Demand() []Seen { return s.demand.counts() }

// Index is the index of the last event applied.
func (s *State) Index() uint64 { return s.index }

// Apply makes the event part of the state. The event's index must follow the
// last one. An event that does not apply (a job that is not there, a placement
// that does not fit) gives a poise.Error and leaves the state as it was.
func (s *State) Apply(ev poise.Event) error {
	if ev.Index != s.index+1 {
		return conflict("apply event", fmt.Sprintf("index %d, expected %d", ev.Index, s.index+1))
	}
	s.usage.past.now = max(s.live.at, ev.At)
	if err := s.apply(ev); err != nil {
		return err
	}
	s.index = ev.Index
	s.live.at = max(s.live.at, ev.At)
	return nil
}

func (s *State) apply(ev poise.Event) error {
	switch b := ev.Body.(type) {
	case poise.NodeJoined:
		return s.joinNode(&b.Node, ev.At)
	case poise.NodeChanged:
		return s.changeNode(&b.Node)
	case poise.NodeMarked:
		return s.markNode(b)
	case poise.NodeLeft:
		return s.removeNode(b.Name)
	case poise.NodeOccupied:
		return s.occupy(&b.Occupant, ev.At)
	case poise.NodeVacated:
		return s.endOccupation(b.ID)
	case poise.SpaceSet:
		return s.setSpace(&b)
	case poise.JobSubmitted:
		return s.submitJob(&b.Job, ev.At)
	case poise.JobAdopted:
		return s.adopt(&b, ev.At)
	case poise.JobPlaced:
		return s.placeJob(&b.Placement, ev.At)
	case poise.GangPlaced:
		return s.placeGang(&b, ev.At)
	case poise.JobFinished:
		return s.finishJob(b.Job)
	case poise.JobRequeued:
		return s.requeueJob(&b, ev.At)
	case poise.JobPreempted:
		return s.preempt(&b)
	case poise.JobEnding:
		return s.ending(b.Job)
	case poise.JobSpared:
		return s.spare(&b)
	case poise.JobWithdrawn:
		return s.withdrawJob(b.Job)
	case poise.JobHeld:
		return s.holdJob(&b)
	case poise.JobReleased:
		return s.letGoJob(b.Job)
	case poise.JobPrioritySet:
		return s.setPriority(&b)
	case poise.ReservationMade:
		return s.reserve(&b)
	case poise.ReservationEnded:
		return s.endReservation(b.Job)
	case poise.ModelBuilt:
		return s.buildModel(&b)
	case poise.ProfileBuilt:
		s.live.profiles = b.Profiles
		if b.Demand != nil {
			s.live.demand = b.Demand
			for i := range b.Demand.Kinds {
				s.symbols.internDevice(b.Demand.Kinds[i].Kind, b.Demand.Kinds[i].Models)
			}
			s.live.symbols = s.symbols.texts
		}
		return nil
	case poise.SymbolsWanted:
		s.wantSymbols(&b)
		return nil
	case poise.SchedulerSet, poise.PolicySet, poise.PolicyRolledBack, poise.PolicyCleared, poise.PolicyQuarantined,
		poise.TenantSet, poise.TenantRemoved:
		return s.applyPolicy(ev)
	}
	return &poise.Error{Kind: poise.Invalid, Op: "apply event", Detail: fmt.Sprintf("body %T, expected an event of package poise", ev.Body)}
}

// hotPage gives the page of a row for writing, copied if a snapshot shares it.
func (s *State) hotPage(row uint32) *hotPage {
	s.ownHot()
	i := row >> pageShift
	if p := s.live.hot[i]; p.owner != s.generation {
		s.live.hot[i] = p.clone(s.generation)
	}
	return s.live.hot[i]
}

func (s *State) coldPage(row uint32) *coldPage {
	s.ownCold()
	i := row >> pageShift
	if p := s.live.cold[i]; p.owner != s.generation {
		s.live.cold[i] = p.clone(s.generation)
	}
	return s.live.cold[i]
}

func (s *State) ownHot() {
	if s.hotOwner != s.generation {
		s.live.hot, s.hotOwner = slices.Clone(s.live.hot), s.generation
	}
}

func (s *State) ownCold() {
	if s.coldOwner != s.generation {
		s.live.cold, s.coldOwner = slices.Clone(s.live.cold), s.generation
	}
}

// touch gives the row a new version and logs it.
func (s *State) touch(p *hotPage, row uint32) {
	l := &s.live
	// The log is cut to its newer half when it has grown to four times the
	// fleet; a cache that is further behind looks at every row anyway.
	if limit := max(4*l.rows, 4096); len(l.changes) >= limit {
		cut := len(l.changes) / 2
		l.changes = append(make([]uint32, 0, limit), l.changes[cut:]...)
		l.changesBase += uint64(cut)
	}
	l.version++
	l.changes = append(l.changes, row)
	p.version[row&pageMask] = l.version
}

func (s *State) rank(row uint32) uint64 { return s.live.Rank(row) }

func (s *State) setRank(row uint32, rank uint64) {
	s.coldPage(row).rank[row&pageMask] = rank
}

func conflict(op, detail string) error {
	return &poise.Error{Kind: poise.Conflict, Op: op, Detail: detail}
}

func notFound(op, detail string) error {
	return &poise.Error{Kind: poise.NotFound, Op: op, Detail: detail}
}
