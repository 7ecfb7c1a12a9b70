package policy

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// mirror holds the columns that one plugin wants, for every row of the fleet, in
// the bytes that guests see, and what is counted over all rows. It follows the
// snapshots of one State; a call copies from it.
type mirror struct {
	manifest *abi.Manifest
	columns  []abi.Column
	dim      []int // per column: index of its dimension in dims, if it has one
	dims     []string
	cursor   state.Cursor // followed to
	started  bool

	rows       int
	numbers    []uint32                  // of the rows: 0, 1, 2 and so on
	hasDevices bool                      // a column devices is wanted
	devices    int                       // device slots a row, as many as any node has
	withSlots  [poise.MaxDevices + 1]int // nodes by their number of devices
	records    []byte                    // row by row
	record     int                       // bytes of a row
	within     []int                     // per column: where it lies in the record
	data       [][]byte                  // the same per column, as of the last turn: blocks are copied from there
	stride     []int
	behind     touched // of data
	all        []int   // columns
	moving     []int   // columns that change while a node does not describe itself anew
	order      []int   // columns as they lie in a record: what is written often is together
	seen       []rowSeen
	settled    []uint64 // per row: 1 more than the version it described itself at, 0 = more than what tasks have is to be looked at

	dimIndex  []int // of dims, in the snapshot's; -1 = not declared
	knownDims int
	symbols   symbolTable
	fleet     fleetSums
	domains   []domainCounts
	touched   touched
	// changes counts what a row-pure plugin sees of the fleet as a whole: sums and
	// largest capacities, domains, device slots.
	changes uint64
}

// rowSeen is what of a row is in the sums over the fleet.
type rowSeen struct {
	present   bool
	unnamed   bool // has a text that had no number yet
	devices   int
	described uint64
	capacity  []int64 // per dimension of the plugin
	allocated []int64 // the same, as of the last change that the sums need it for
	tasks     *state.TaskList
	domain    []uint32 // symbol per key
}

func newMirror(m *abi.Manifest) *mirror {
	r := &mirror{manifest: m, columns: m.AllColumns(), dims: m.Dims(), symbols: newSymbolTable()}
	r.data, r.stride, r.within = make([][]byte, len(r.columns)), make([]int, len(r.columns)), make([]int, len(r.columns))
	r.dimIndex = make([]int, len(r.dims))
	for i, c := range r.columns {
		r.dim = append(r.dim, slices.Index(r.dims, c.Name))
		r.hasDevices = r.hasDevices || c.Kind == abi.Devices
		r.all = append(r.all, i)
		switch c.Kind {
		case abi.Allocated, abi.Devices, abi.RunningTasks:
			r.moving = append(r.moving, i)
		}
	}
	r.order = slices.Clone(r.moving)
	for i := range r.columns {
		if !slices.Contains(r.moving, i) {
			r.order = append(r.order, i)
		}
	}
	r.restart(0)
	return r
}

// restart forgets all rows and makes room for so many devices on each.
func (r *mirror) restart(devices int) {
	r.started, r.rows, r.devices, r.seen, r.settled = false, 0, devices, nil, nil
	clear(r.withSlots[:])
	r.fleet = newFleetSums(len(r.dims))
	r.domains = make([]domainCounts, len(r.manifest.Domains))
	for i := range r.domains {
		r.domains[i] = newDomainCounts(r.manifest.Domains[i])
	}
	r.records, r.record = nil, 0
	for i, c := range r.columns {
		r.stride[i], r.data[i] = c.Stride(devices), nil
	}
	for _, i := range r.order {
		r.within[i] = r.record
		r.record += r.stride[i]
	}
	r.changes++
	r.touched, r.behind = touched{all: true}, touched{all: true}
}

// follow brings the mirror to the snapshot.
func (r *mirror) follow(snap *state.Snapshot) {
	r.symbols.follow(snap)
	if r.knownDims != len(snap.Dims()) {
		r.knownDims = len(snap.Dims())
		for i, name := range r.dims {
			r.dimIndex[i] = slices.Index(snap.Dims(), name)
		}
		r.started = false // rows may have had a dimension that was not looked up
	}
	if snap.Rows() < r.rows {
		r.restart(r.devices) // an older snapshot, from before some rows
	}
	changes, ok := r.cursor.Follow(snap)
	if !ok || !r.started || len(changes) > snap.Rows() {
		changes = nil
		for row := range uint32(snap.Rows()) {
			changes = append(changes, row)
		}
	}
	r.grow(snap.Rows())
	for _, row := range changes {
		if r.hasDevices && snap.Devices(row) > r.devices {
			r.restart(snap.Devices(row))
			r.follow(snap)
			return
		}
		r.update(snap, row)
	}
	// The number of slots is what the snapshot says, whatever was before: guests
	// see it, and budgets go by it.
	if r.hasDevices && r.mostDevices() < r.devices {
		r.restart(r.mostDevices())
		r.follow(snap)
		return
	}
	r.started = true
	if r.fleet.settle(r.seen) {
		r.changes++
	}
}

// mostDevices is the largest number of devices of a node.
func (r *mirror) mostDevices() int {
	most := len(r.withSlots) - 1
	for most > 0 && r.withSlots[most] == 0 {
		most--
	}
	return most
}

func (r *mirror) grow(rows int) {
	if rows <= r.rows {
		return
	}
	r.rows = rows
	for i := range r.data {
		r.data[i] = append(r.data[i], make([]byte, rows*r.stride[i]-len(r.data[i]))...)
	}
	r.records = append(r.records, make([]byte, rows*r.record-len(r.records))...)
	for len(r.numbers) < rows {
		r.numbers = append(r.numbers, uint32(len(r.numbers)))
	}
	r.settled = append(r.settled, make([]uint64, rows-len(r.settled))...)
	more, dims, domains := rows-len(r.seen), len(r.dims), len(r.domains)
	amounts, domain := make([]int64, 2*dims*more), make([]uint32, domains*more)
	for range more {
		r.seen = append(r.seen, rowSeen{capacity: amounts[:dims:dims], allocated: amounts[dims : 2*dims : 2*dims], domain: domain[:domains:domains]})
		amounts, domain = amounts[2*dims:], domain[domains:]
	}
}

// update writes a row's columns and takes its part of the sums anew. What the
// node said of itself is written once, as long as it says the same.
func (r *mirror) update(snap *state.Snapshot, row uint32) {
	s, columns := &r.seen[row], r.moving
	r.touched.add(row, r.rows)
	r.behind.add(row, r.rows)
	settled := r.started && snap.Present(row) && r.settled[row] == snap.Described(row)+1
	if !settled {
		r.settled[row] = 0
		if r.recount(snap, row, s) {
			columns = r.all
		}
		if !s.present {
			clear(r.records[int(row)*r.record:][:r.record])
			return
		}
	}
	for _, i := range columns {
		r.put(r.element(row, i), snap, row, s, i)
	}
	if !settled && !s.unnamed && len(r.domains) == 0 {
		r.settled[row] = s.described + 1
	}
}

// element gives what a row has in a column.
func (r *mirror) element(row uint32, i int) []byte {
	return r.records[int(row)*r.record+r.within[i]:][:r.stride[i]]
}

// turn brings the columns to what the rows have. Most passes pick from the rows
// and need none.
func (r *mirror) turn() {
	t := &r.behind
	if r.rows == 0 {
		return
	}
	for i := range r.data {
		stride := r.stride[i]
		if t.all {
			gather(r.data[i], r.records[r.within[i]:], r.numbers[:r.rows], stride, r.record)
			continue
		}
		for _, row := range t.rows {
			copy(r.data[i][int(row)*stride:][:stride], r.element(row, i))
		}
	}
	t.rows, t.all = t.rows[:0], false
}

// put writes the element of a column.
func (r *mirror) put(b []byte, snap *state.Snapshot, row uint32, s *rowSeen, i int) {
	c := &r.columns[i]
	switch c.Kind {
	case abi.Capacity:
		putDouble(b, float64(s.capacity[r.dim[i]]))
	case abi.Allocated:
		_, allocated := r.amounts(snap, row, r.dim[i])
		putDouble(b, float64(allocated))
	case abi.Class:
		r.putSymbol(b, s, r.symbols.label(snap, row, poise.ClassLabel))
	case abi.Label:
		r.putSymbol(b, s, r.symbols.label(snap, row, c.Name))
	case abi.Devices:
		clear(b)
		if snap.Kinds()[snap.Kind(row)] == c.Name {
			for d, free := range snap.Free(row) {
				binary.LittleEndian.PutUint16(b[2*d:], free)
			}
		}
	case abi.DeviceModel:
		model := uint32(0)
		if snap.Kinds()[snap.Kind(row)] == c.Name {
			model = r.symbols.id(snap.Models()[snap.Model(row)])
		}
		r.putSymbol(b, s, model)
	case abi.RunningTasks:
		binary.LittleEndian.PutUint32(b, uint32(snap.Running(row)))
	}
}

// putSymbol writes a number of a text.
func (r *mirror) putSymbol(b []byte, s *rowSeen, id uint32) {
	s.unnamed = s.unnamed || id == unknown
	binary.LittleEndian.PutUint32(b, id)
}

// recount replaces what the row has in the sums, and says whether all of its
// columns are to be written.
func (r *mirror) recount(snap *state.Snapshot, row uint32, s *rowSeen) bool {
	was, present := *s, snap.Present(row)
	described := present && (!was.present || !r.started || was.described != snap.Described(row))
	if was.present && (!present || described) {
		r.fleet.remove(was.capacity)
	}
	for i := range r.domains {
		if was.present {
			r.domains[i].remove(was.domain[i], s)
		}
	}
	if was.present {
		r.withSlots[was.devices]--
	}
	*s = rowSeen{present: present, capacity: was.capacity, allocated: was.allocated, domain: was.domain}
	if !present {
		if was.present && len(r.domains) > 0 {
			r.changes++
		}
		return true
	}
	s.described, s.tasks, s.devices = snap.Described(row), snap.Tasks(row), snap.Devices(row)
	r.withSlots[s.devices]++
	for d := range r.dims {
		s.capacity[d], s.allocated[d] = r.amounts(snap, row, d)
	}
	if described {
		r.fleet.add(s.capacity)
	}
	all := described || was.unnamed
	for i := range r.domains {
		if all {
			s.domain[i] = r.symbols.label(snap, row, r.domains[i].key)
			s.unnamed = s.unnamed || s.domain[i] == unknown
		}
		r.domains[i].add(s.domain[i], s)
		r.changes++
	}
	return all
}

// amounts gives capacity and allocated of a row in a dimension of the plugin. A
// device resource counts in milli-devices.
func (r *mirror) amounts(snap *state.Snapshot, row uint32, dim int) (capacity, allocated int64) {
	if i := r.dimIndex[dim]; i >= 0 && snap.Capacity(row, i) > 0 {
		return snap.Capacity(row, i), snap.Allocated(row, i)
	}
	if snap.Kind(row) == 0 || snap.Kinds()[snap.Kind(row)] != r.dims[dim] {
		if i := r.dimIndex[dim]; i >= 0 {
			return 0, snap.Allocated(row, i)
		}
		return 0, 0
	}
	free := snap.Free(row)
	capacity = int64(len(free)) * poise.WholeDevice
	allocated = capacity
	for _, f := range free {
		allocated -= int64(f)
	}
	return capacity, allocated
}

func putDouble(b []byte, v float64) { binary.LittleEndian.PutUint64(b, math.Float64bits(v)) }
