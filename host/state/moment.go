package state

import (
	"cmp"
	"maps"
	"slices"
)

// Moment is a State as it is at one time, for an Image that is made later, on any
// goroutine: a State that goes on does not change it.
type Moment struct {
	image     *Image // without what follows
	snap      *Snapshot
	jobs      []Job // in no order
	occupants map[string]*occupant
}

// Moment takes down the State as it is now. It copies each job that waits or runs,
// about 150 bytes, and no more: the rest of the work is that of Moment.Image.
func (s *State) Moment() *Moment {
	v := s.Snapshot()
	m := &Moment{snap: v, jobs: make([]Job, 0, len(s.jobs)), occupants: maps.Clone(s.occupants)}
	m.image = &Image{
		Index: s.index, Version: v.version, Joins: v.joins, Arrivals: s.demand.arrivals, At: v.at,
		Dims: slices.Clone(v.dims), Kinds: slices.Clone(v.kinds), Models: slices.Clone(v.models), Symbols: slices.Clone(s.symbols.texts),
		Rows: v.rows, FreeRows: slices.Clone(s.freeRows), Profiles: v.profiles, Demand: v.demand, Classes: v.classes,
		Policies: s.policies.image(), Gangs: s.gangImages(), Past: s.usage.past.image(), Reservations: v.reservationImages(), Spaces: s.spaceImages(),
		SymbolKeys: slices.Sorted(maps.Keys(s.symbols.keys)),
	}
	for _, j := range s.jobs {
		m.jobs = append(m.jobs, *j)
	}
	for i := range s.demand.seen {
		m.image.Seen = append(m.image.Seen, SeenImage{Seen: s.demand.seen[i], Last: s.demand.seen[i].at})
	}
	return m
}

// Index is that of the last event that the State had seen.
func (m *Moment) Index() uint64 { return m.image.Index }

// Image gives the image of the State at that time.
func (m *Moment) Image() *Image {
	im := *m.image
	im.Gangs = slices.Clone(im.Gangs)
	slices.SortFunc(im.Gangs, func(a, b GangImage) int { return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.ID, b.ID)) })
	for row := range uint32(m.snap.rows) {
		if m.snap.Present(row) {
			n := m.snap.nodeImage(row)
			n.Occupants = m.occupantImages(row)
			im.Nodes = append(im.Nodes, n)
		}
	}
	order := make([]int, len(m.jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(m.jobs[a].Seq, m.jobs[b].Seq) })
	if len(order) > 0 {
		im.Jobs = make([]JobImage, 0, len(order))
	}
	for _, i := range order {
		im.Jobs = append(im.Jobs, m.jobs[i].image())
	}
	return &im
}

// occupantImages gives the occupants of a row in the order of its list.
func (m *Moment) occupantImages(row uint32) []OccupantImage {
	var images []OccupantImage
	for l := m.snap.hot[row>>pageShift].othersAt(row & pageMask); l != nil; l = l.Next {
		images = append(images, OccupantImage{Occupant: m.occupants[l.Task.occupant].spec, Devices: l.Task.Devices, Placed: l.Task.Placed})
	}
	return images
}
