package state

import (
	"math/bits"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// ident is what a row's node says of itself beside its columns. It is replaced,
// never changed.
type ident struct {
	name        string
	cluster     string
	incarnation uint64
	joined      poise.Time
	described   uint64 // version of the row when the node said this
	labels      []poise.Label
	taints      []poise.Taint
}

// Snapshot is the fleet at one moment. It is immutable and safe to read from
// any goroutine, except for the one that State.View returns. Rows run from 0
// to Rows()-1; a row without a node is not Present and must be passed over.
type Snapshot struct {
	hot     []*hotPage
	cold    []*coldPage
	rows    int
	nodes   int
	version uint64
	// changes[i] is the row that version changesBase+1+i belongs to.
	changes     []uint32
	changesBase uint64
	dims        []string
	kinds       []string // by symbol; kinds[0] is ""
	models      []string // by symbol; models[0] is ""
	profiles    []*poise.Profile
	demand      *poise.Demand
	symbols     []string // by id; symbols[0] is ""
	at          poise.Time
	classes     poise.ModelRecord
	arrivals    uint64
	joins       uint64

	reservations []*Reservation // replaced, never changed
	tried        *tried         // of a Trial, nil for any other
}

// Rows is the number of rows, those without a node included.
func (s *Snapshot) Rows() int { return s.rows }

// Nodes is the number of nodes present.
func (s *Snapshot) Nodes() int { return s.nodes }

// Version is the counter of visible changes that the snapshot has seen.
func (s *Snapshot) Version() uint64 { return s.version }

// Joins counts the nodes that ever joined. While it and Rows stay, every row
// that is present holds the node that it held before.
func (s *Snapshot) Joins() uint64 { return s.joins }

// Arrivals counts the jobs submitted so far.
func (s *Snapshot) Arrivals() uint64 { return s.arrivals }

// Dims gives the dimension names that nodes have declared, by index. Index 0
// is cpu and 1 is memory. The slice must not be changed.
func (s *Snapshot) Dims() []string { return slices.Clip(s.dims) }

// Kinds gives the device kinds by symbol, Kinds()[0] being "".
func (s *Snapshot) Kinds() []string { return slices.Clip(s.kinds) }

// Models gives the device models by symbol, Models()[0] being "".
func (s *Snapshot) Models() []string { return slices.Clip(s.models) }

// Profile gives the demand profile in force for a device kind, or nil before
// the first one.
func (s *Snapshot) Profile(kind string) *poise.Profile {
	for _, p := range s.profiles {
		if p.Kind == kind {
			return p
		}
	}
	return nil
}

// Demand is what jobs have been asking for, or nil before the first profile.
func (s *Snapshot) Demand() *poise.Demand { return s.demand }

// Symbols gives the texts that have a number for policy plugins, by number,
// Symbols()[0] being "". A later snapshot has the same ones and perhaps more.
func (s *Snapshot) Symbols() []string { return slices.Clip(s.symbols) }

// At is the latest time of an event that the snapshot has seen.
func (s *Snapshot) At() poise.Time { return s.at }

// Joined is when the row's node joined.
func (s *Snapshot) Joined(row uint32) poise.Time { return s.ident(row).joined }

// Classes is the model of node classes in force, or nil before the first one.
func (s *Snapshot) Classes() poise.ModelRecord { return s.classes }

// Epoch is the number of the profile epoch, 0 before the first.
func (s *Snapshot) Epoch() uint64 {
	if len(s.profiles) == 0 {
		return 0
	}
	return s.profiles[0].Epoch
}

// Present says whether the row holds a node.
func (s *Snapshot) Present(row uint32) bool { return s.flags(row)&flagPresent != 0 }

// Drained says whether an operator wants no new tasks on the row's node.
func (s *Snapshot) Drained(row uint32) bool { return s.flags(row)&flagDrained != 0 }

// NotReady says whether the row's node is not vouched for.
func (s *Snapshot) NotReady(row uint32) bool { return s.flags(row)&flagNotReady != 0 }

// Exclusive says whether the row's node gives out whole devices only.
func (s *Snapshot) Exclusive(row uint32) bool { return s.flags(row)&flagExclusive != 0 }

// Tainted says whether the row's node has taints, which costs less to ask than
// the taints themselves.
func (s *Snapshot) Tainted(row uint32) bool { return s.flags(row)&flagTainted != 0 }

// Schedulable says whether the row holds a node that is ready and not drained.
func (s *Snapshot) Schedulable(row uint32) bool {
	return s.flags(row)&(flagPresent|flagNotReady|flagDrained) == flagPresent
}

func (s *Snapshot) flags(row uint32) uint8 {
	return s.hot[row>>pageShift].flags[row&pageMask]
}

// RowVersion is the version of the row's last visible change.
func (s *Snapshot) RowVersion(row uint32) uint64 {
	return s.hot[row>>pageShift].version[row&pageMask]
}

// Name is the name of the row's node.
func (s *Snapshot) Name(row uint32) string { return s.ident(row).name }

// Cluster is the cluster that the row's node joined with.
func (s *Snapshot) Cluster(row uint32) string { return s.ident(row).cluster }

// Incarnation counts joins: a node that left and came back under one name has
// a larger one.
func (s *Snapshot) Incarnation(row uint32) uint64 { return s.ident(row).incarnation }

// Described is the row version at which the node last described itself: what is
// not allocated, free or a state flag stays while it does. It is never 0.
func (s *Snapshot) Described(row uint32) uint64 { return s.ident(row).described }

// Labels are the labels of the row's node, sorted by key.
func (s *Snapshot) Labels(row uint32) []poise.Label { return s.ident(row).labels }

// Taints are the taints of the row's node.
func (s *Snapshot) Taints(row uint32) []poise.Taint { return s.ident(row).taints }

func (s *Snapshot) ident(row uint32) *ident {
	return s.cold[row>>pageShift].ident[row&pageMask]
}

// Rank orders rows as their node names do: smaller rank, smaller name.
func (s *Snapshot) Rank(row uint32) uint64 {
	return s.cold[row>>pageShift].rank[row&pageMask]
}

// Capacity of the row's node in a dimension, base units; 0 = not declared.
func (s *Snapshot) Capacity(row uint32, dim int) int64 {
	p := s.cold[row>>pageShift]
	if dim >= p.width {
		return 0
	}
	return p.capacity[dim<<pageShift|int(row&pageMask)]
}

// Allocated is the sum of the requests of the tasks on the row's node. It may
// exceed the capacity after the node shrank.
func (s *Snapshot) Allocated(row uint32, dim int) int64 {
	p := s.hot[row>>pageShift]
	if dim >= p.width {
		return 0
	}
	return p.allocated[dim<<pageShift|int(row&pageMask)]
}

// Idle is capacity less allocated, never below 0.
func (s *Snapshot) Idle(row uint32, dim int) int64 {
	return max(s.Capacity(row, dim)-s.Allocated(row, dim), 0)
}

// Free gives the free milli-devices of each device of the row's node, by
// index. The slice must not be changed.
func (s *Snapshot) Free(row uint32) []uint16 {
	n := int(s.cold[row>>pageShift].devices[row&pageMask])
	if n == 0 {
		return nil
	}
	p := s.hot[row>>pageShift]
	i := int(row&pageMask) * p.stride
	return p.free[i : i+n : i+n]
}

// MaskFits says whether the devices of a mask are as many as asked for and have
// enough free on the row.
func (s *Snapshot) MaskFits(row uint32, mask uint32, ask *poise.DeviceRequest) bool {
	free := s.Free(row)
	if bits.OnesCount32(mask) != int(ask.Count) || bits.Len32(mask) > len(free) {
		return false
	}
	for ; mask != 0; mask &= mask - 1 {
		if int32(free[bits.TrailingZeros32(mask)]) < ask.Milli {
			return false
		}
	}
	return true
}

// Devices is the number of devices of the row's node.
func (s *Snapshot) Devices(row uint32) int {
	return int(s.cold[row>>pageShift].devices[row&pageMask])
}

// Kind is the symbol of the device kind of the row's node, 0 = no devices.
func (s *Snapshot) Kind(row uint32) uint16 { return s.cold[row>>pageShift].kind[row&pageMask] }

// Model is the symbol of the device model of the row's node, 0 = none stated.
func (s *Snapshot) Model(row uint32) uint16 { return s.cold[row>>pageShift].model[row&pageMask] }

// Running is the number of tasks on the row's node.
func (s *Snapshot) Running(row uint32) int { return int(s.hot[row>>pageShift].running[row&pageMask]) }

// Tasks is the list of tasks on the row's node, the latest first.
func (s *Snapshot) Tasks(row uint32) *TaskList { return s.hot[row>>pageShift].tasks[row&pageMask] }

// Taken gives the first of the ports that a task or an occupant of the row has, or
// one that stands in its way; nil where all can be taken.
func (s *Snapshot) Taken(row uint32, ports []poise.Port) *poise.Port {
	if len(ports) == 0 {
		return nil
	}
	hot, i := s.hot[row>>pageShift], row&pageMask
	for _, list := range []*TaskList{hot.tasks[i], hot.othersAt(i)} {
		for l := list; l != nil; l = l.Next {
			for k := range l.Task.Shape.Ports {
				for n := range ports {
					if ports[n].Overlaps(&l.Task.Shape.Ports[k]) {
						return &ports[n]
					}
				}
			}
		}
	}
	return nil
}

// ChangesSince gives the rows that events changed after version, in order and with
// repetitions, and whether the log reaches back that far. Where it does not,
// every row may have changed.
func (s *Snapshot) ChangesSince(version uint64) (rows []uint32, ok bool) {
	if version < s.changesBase || version > s.version {
		return nil, false
	}
	return slices.Clip(s.changes[version-s.changesBase:]), true
}
