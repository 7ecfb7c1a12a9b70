package abi

import (
	"encoding/binary"
	"math"
)

// Magic begins a table: the bytes "POIS".
const Magic = 0x53494F50

var le = binary.LittleEndian

// words writes u32 after u32.
func words(b []byte, values ...uint32) {
	for i, v := range values {
		le.PutUint32(b[4*i:], v)
	}
}

// doubles writes f64 after f64.
func doubles(b []byte, values []float64) {
	for i, v := range values {
		le.PutUint64(b[8*i:], math.Float64bits(v))
	}
}

// PutTable writes the table header, the column descriptors and the output
// header for a call on so many rows. arena is the arena's memory and base the
// pointer to it. Candidate bits and columns are written apart from it.
func (l *Layout) PutTable(arena []byte, base uint32, rows int) { l.PutWindow(arena, base, 0, rows) }

// PutWindow is PutTable for a call on rows that begin at one of the columns'
// rows, a multiple of 8 and at most Held. Outputs and candidate bits are where they
// always are.
func (l *Layout) PutWindow(arena []byte, base uint32, first, rows int) {
	at := func(offset int) uint32 {
		if offset == 0 {
			return 0
		}
		return base + uint32(offset)
	}
	params := at(l.Params)
	if len(l.manifest.Params) == 0 {
		params = 0
	}
	words(arena,
		Magic, Minor, uint32(rows), uint32(l.Sizes.Rows), uint32(len(l.Columns)), uint32(l.Dims),
		at(l.Candidate), params, at(l.Fleet), at(l.Domains), at(l.Profile),
		uint32(l.Sizes.Devices), base+uint32(l.columns), uint32(len(l.manifest.Params)), 0, 0)
	for i, c := range l.Columns {
		words(arena[l.columns+descriptorSize*i:], uint32(c.Kind), at(c.Offset+first*c.Stride), uint32(c.Stride), 0)
	}
	words(arena[l.Out:], at(l.Values), at(l.Masks), uint32(l.Sizes.Rows), 0)
}

// PutRows changes the number of rows in a table header.
func (l *Layout) PutRows(arena []byte, rows int) { le.PutUint32(arena[8:], uint32(rows)) }

// PutParams writes the values of the parameters, in declared order.
func (l *Layout) PutParams(arena []byte, bits []uint64) {
	for i, v := range bits {
		le.PutUint64(arena[l.Params+8*i:], v)
	}
}

// PutJob writes the block of the job.
func (l *Layout) PutJob(arena []byte, base uint32, j *JobBlock) {
	words(arena[l.Job:],
		jobSize, uint32(j.DeviceCount), uint32(j.DeviceMilli), j.DeviceKind,
		uint32(len(j.Models)), base+uint32(l.jobModels), uint32(j.Selectors),
		uint32(len(j.Fields)), base+uint32(l.fields), uint32(l.Dims), base+uint32(l.request), 0)
	for i, v := range j.Fields {
		le.PutUint64(arena[l.fields+8*i:], v)
	}
	doubles(arena[l.request:], j.Request)
	words(arena[l.jobModels:], j.Models...)
}

// PutFleet writes the block of the fleet.
func (l *Layout) PutFleet(arena []byte, base uint32, f *FleetBlock) {
	words(arena[l.Fleet:], uint32(f.Nodes), uint32(l.Dims), fleetDimSize, base+uint32(l.fleetDims))
	for d := range l.Dims {
		doubles(arena[l.fleetDims+fleetDimSize*d:], []float64{f.Sum[d], f.Max[d]})
	}
}

// PutDomains writes the block of the domains, one per key of the manifest's, if
// the plugin wants them. Each has at most as many values as the layout has room
// for.
func (l *Layout) PutDomains(arena []byte, base uint32, keys []DomainBlock) {
	if l.Domains == 0 {
		return
	}
	words(arena[l.Domains:], uint32(len(keys)), base+uint32(l.domainKeys), domainKeySize, uint32(l.Dims))
	for i := range keys {
		k := &keys[i]
		list := l.domainLists[i]
		var tenant, job, nodes extremes
		for v := range k.Values {
			e := &k.Values[v]
			tenant.see(v, e.TenantTasks)
			job.see(v, e.JobTasks)
			nodes.see(v, e.Nodes)
			b := arena[list+v*l.valueStride():]
			words(b, e.Value, uint32(e.Nodes), uint32(e.TenantTasks), uint32(e.JobTasks))
			doubles(b[domainFixed:], e.Capacity)
			doubles(b[domainFixed+8*l.Dims:], e.Allocated)
		}
		words(arena[l.domainKeys+domainKeySize*i:],
			uint32(len(k.Values)), base+uint32(list), uint32(l.valueStride()), uint32(k.Absent),
			tenant.min, tenant.max, job.min, job.max, nodes.min, nodes.max, 0, 0)
	}
}

// extremes are the least and the largest of a list; 0 and 0 of an empty one.
type extremes struct{ min, max uint32 }

func (x *extremes) see(i, value int) {
	v := uint32(value)
	if i == 0 {
		x.min, x.max = v, v
	}
	x.min, x.max = min(x.min, v), max(x.max, v)
}

// PutProfile writes the block of the profile, if the plugin wants it. It has at
// most as many shapes and models as the layout has room for.
func (l *Layout) PutProfile(arena []byte, base uint32, p *ProfileBlock) {
	if l.Profile == 0 {
		return
	}
	b := arena[l.Profile:]
	le.PutUint64(b, p.Epoch)
	doubles(b[8:], []float64{p.TotalCount, p.TotalWeight})
	words(b[24:], uint32(len(p.Shapes)), uint32(l.shapeStride()), base+uint32(l.shapes), uint32(l.Dims))
	models := l.shapeModels
	for i := range p.Shapes {
		s := &p.Shapes[i]
		b := arena[l.shapes+i*l.shapeStride():]
		doubles(b, []float64{s.Count, s.Weight})
		words(b[16:], uint32(s.DeviceCount), uint32(s.DeviceMilli), uint32(len(s.Models)), base+uint32(models))
		doubles(b[shapeFixed:], s.Request)
		words(arena[models:], s.Models...)
		models += 4 * len(s.Models)
	}
}
