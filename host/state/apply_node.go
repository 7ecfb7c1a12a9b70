package state

import (
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Bounds on the distinct names that nodes bring in. None is ever forgotten,
// because snapshots and caches hold their numbers.
const (
	// maxDims keeps rows small: a page has columns for every dimension up to
	// the last one that a node in it declared.
	maxDims = 1024
	// maxSymbols is how many device kinds or models a column can number.
	maxSymbols = 1 << 16
)

func (s *State) joinNode(n *poise.Node, at poise.Time) error {
	if err := n.Validate(); err != nil {
		return err
	}
	if _, ok := s.rowOf[n.Name]; ok {
		return conflict(fmt.Sprintf("join node %q", n.Name), "a node of that name is present, expected a new name")
	}
	if err := s.checkNames(n); err != nil {
		return err
	}
	row := s.newRow()
	s.rowOf[n.Name] = row
	s.live.joins++
	s.names.add(n.Name, row)
	hot, cold := s.hotPage(row), s.coldPage(row)
	i := row & pageMask
	cold.ident[i] = &ident{name: n.Name, incarnation: s.live.joins, joined: at}
	for d := range hot.width {
		hot.allocated[d<<pageShift|int(i)] = 0
	}
	s.live.nodes++
	s.describe(row, n)
	return nil
}

func (s *State) changeNode(n *poise.Node) error {
	if err := n.Validate(); err != nil {
		return err
	}
	row, ok := s.rowOf[n.Name]
	if !ok {
		return notFound(fmt.Sprintf("change node %q", n.Name), "no such node")
	}
	if err := s.checkNames(n); err != nil {
		return err
	}
	s.describe(row, n)
	return nil
}

func (s *State) markNode(b poise.NodeMarked) error {
	row, ok := s.rowOf[b.Name]
	if !ok {
		return notFound(fmt.Sprintf("mark node %q", b.Name), "no such node")
	}
	hot := s.hotPage(row)
	f := &hot.flags[row&pageMask]
	*f = setFlag(setFlag(*f, flagNotReady, b.NotReady), flagDrained, b.Drained)
	s.touch(hot, row)
	return nil
}

func (s *State) removeNode(name string) error {
	row, ok := s.rowOf[name]
	if !ok {
		return notFound(fmt.Sprintf("remove node %q", name), "no such node")
	}
	delete(s.rowOf, name)
	s.names.remove(name, s)
	hot, cold := s.hotPage(row), s.coldPage(row)
	i := row & pageMask
	s.count(row, -1)
	for l := hot.tasks[i]; l != nil; l = l.Next {
		s.charge(l.Task, -1)
		s.podKinds.count(l.Task.Kind, row, -1, l.Task.Ending)
	}
	s.occupantsLeft(row)
	hot.flags[i], hot.tasks[i], hot.running[i] = 0, nil, 0
	cold.ident[i], cold.devices[i], cold.kind[i], cold.model[i] = nil, 0, 0, 0
	s.freeRows = append(s.freeRows, row)
	s.live.nodes--
	s.touch(hot, row)
	return nil
}

// buildModel puts a model in force. Only the nodes that it gives labels to have
// changed for a reader.
func (s *State) buildModel(b *poise.ModelBuilt) error {
	if b.Model == nil {
		return &poise.Error{Kind: poise.Invalid, Op: "build model", Detail: "model: none, expected a record"}
	}
	for i := range b.Labels {
		if err := b.Labels[i].Validate(); err != nil {
			return err
		}
		if _, ok := s.rowOf[b.Labels[i].Node]; !ok {
			return notFound("build model", fmt.Sprintf("labels of node %q: no such node", b.Labels[i].Node))
		}
	}
	s.live.classes = b.Model
	for i := range b.Labels {
		row := s.rowOf[b.Labels[i].Node]
		hot, cold := s.hotPage(row), s.coldPage(row)
		id := *cold.ident[row&pageMask]
		s.countPools(row, -1)
		id.labels, id.described = slices.Clone(b.Labels[i].Labels), s.live.version+1
		s.internLabels(id.labels)
		cold.ident[row&pageMask] = &id
		s.countPools(row, 1)
		s.touch(hot, row)
	}
	return nil
}

// describe writes what the node says of itself into its row. Tasks stay: what
// they hold is taken from the new devices, and allocated may exceed capacity.
// Only nodes add dimensions: a job that asks for a name nobody declares adds
// nothing to the table.
func (s *State) describe(row uint32, n *poise.Node) {
	width := 0
	for i := range n.Capacity {
		width = max(width, s.dims.Intern(n.Capacity[i].Name)+1)
	}
	s.live.dims = s.dims.Names()
	hot, cold := s.hotPage(row), s.coldPage(row)
	i := row & pageMask
	if s.live.Present(row) {
		s.count(row, -1)
	}
	hot.widen(width)
	cold.widen(width)
	for d := range cold.width {
		cold.capacity[d<<pageShift|int(i)] = 0
	}
	for _, a := range n.Capacity {
		cold.capacity[s.cell(a.Name, i)] = a.Value
	}
	old := cold.ident[i]
	cold.ident[i] = &ident{
		name: old.name, incarnation: old.incarnation, joined: old.joined, described: s.live.version + 1, cluster: n.Cluster,
		labels: slices.Clone(n.Labels), taints: slices.Clone(n.Taints),
	}
	cold.kind[i], s.live.kinds = intern(s.live.kinds, n.Devices.Kind)
	cold.model[i], s.live.models = intern(s.live.models, n.Devices.Model)
	cold.devices[i] = uint8(n.Devices.Count)
	s.symbols.intern(n.Devices.Model)
	s.internLabels(n.Labels)
	f := uint8(flagPresent)
	f = setFlag(f, flagNotReady, n.NotReady)
	f = setFlag(f, flagDrained, n.Drained)
	f = setFlag(f, flagExclusive, n.Devices.Exclusive)
	hot.flags[i] = setFlag(f, flagTainted, len(n.Taints) > 0)
	hot.restride(int(n.Devices.Count))
	free := hot.free[int(i)*hot.stride:][:n.Devices.Count]
	for d := range free {
		free[d] = poise.WholeDevice
	}
	for l := hot.tasks[i]; l != nil; l = l.Next {
		takeDevices(free, l.Task)
	}
	for l := hot.othersAt(i); l != nil; l = l.Next {
		takeDevices(free, l.Task)
	}
	s.count(row, 1)
	s.touch(hot, row)
}

func (s *State) newRow() uint32 {
	if n := len(s.freeRows); n > 0 {
		row := s.freeRows[n-1]
		s.freeRows = s.freeRows[:n-1]
		return row
	}
	row := uint32(s.live.rows)
	s.live.rows++
	if int(row>>pageShift) == len(s.live.hot) {
		s.ownHot()
		s.ownCold()
		s.live.hot = append(s.live.hot, &hotPage{owner: s.generation})
		s.live.cold = append(s.live.cold, &coldPage{owner: s.generation})
	}
	return row
}

// cell is where a page keeps a declared dimension of its row i.
func (s *State) cell(dim string, i uint32) int {
	d, _ := s.dims.Index(dim)
	return d<<pageShift | int(i)
}

// checkNames refuses a node that brings a dimension, device kind or model that
// is one more than there is room for.
func (s *State) checkNames(n *poise.Node) error {
	limit := func(detail string) error {
		return &poise.Error{Kind: poise.Limit, Op: fmt.Sprintf("node %q", n.Name), Detail: detail}
	}
	dims := len(s.live.dims)
	for i := range n.Capacity {
		if _, ok := s.dims.Index(n.Capacity[i].Name); ok {
			continue
		}
		if dims++; dims > maxDims {
			return limit(fmt.Sprintf("capacity: %s: a new name, expected one of the %d that nodes have declared", n.Capacity[i].Name, maxDims))
		}
	}
	if len(s.live.kinds) == maxSymbols && !slices.Contains(s.live.kinds, n.Devices.Kind) {
		return limit(fmt.Sprintf("devices: kind %q: a new name, expected one of the %d that nodes have declared", n.Devices.Kind, maxSymbols-1))
	}
	if len(s.live.models) == maxSymbols && !slices.Contains(s.live.models, n.Devices.Model) {
		return limit(fmt.Sprintf("devices: model %q: a new name, expected one of the %d that nodes have declared", n.Devices.Model, maxSymbols-1))
	}
	return nil
}

// intern gives the number of a name, appending it where it is new. Readers of
// older snapshots keep their shorter slice.
func intern(names []string, name string) (uint16, []string) {
	if i := slices.Index(names, name); i >= 0 {
		return uint16(i), names
	}
	return uint16(len(names)), append(names, name)
}

func setFlag(f uint8, flag uint8, on bool) uint8 {
	if on {
		return f | flag
	}
	return f &^ flag
}
