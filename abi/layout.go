package abi

import (
	"errors"
	"math"
)

// Sizes are how much the blocks of a Layout have room for.
type Sizes struct {
	Rows        int   // rows of a call, 1 to MaxRows
	Held        int   // rows that the columns have room for before those, a multiple of 8
	Devices     int   // devices of a row, 0 to MaxDevices
	Shapes      int   // shapes of the profile
	ShapeModels int   // allowed models of all shapes together
	Values      []int // per key of the manifest's domains: distinct values
}

// Layout says where each block lies in the arena, which is what the host asks
// poise_alloc for. Offsets are in bytes from the arena's beginning, all of them
// multiples of 8; what the guest sees are pointers, base + offset.
type Layout struct {
	Sizes Sizes
	Dims  int
	Size  int // bytes of the arena

	Columns   []Placed // as in Manifest.AllColumns
	Candidate int      // bitset of rows, u64 words
	Params    int
	Job       int
	Fleet     int
	Domains   int // 0 = not wanted
	Profile   int // 0 = not wanted
	Out       int
	Values    int // u32 reasons or f64 losses
	Masks     int // u32 device masks; 0 = the plugin does not choose devices

	manifest    *Manifest
	columns     int // descriptors
	fields      int
	request     int
	jobModels   int
	fleetDims   int
	domainKeys  int
	domainLists []int
	shapes      int
	shapeModels int
}

// Placed is a column and where it lies.
type Placed struct {
	Column
	Offset int
	Stride int // bytes a row
}

// Sizes of the fixed parts, in bytes. The table stands at offset 0.
const (
	tableSize      = 64
	descriptorSize = 16
	jobSize        = 48
	outSize        = 16
	fleetSize      = 16
	fleetDimSize   = 16
	domainsSize    = 16
	domainKeySize  = 48
	domainFixed    = 16 // of a value, before its amounts
	profileSize    = 40
	shapeFixed     = 32 // of a shape, before its request
)

// ErrTooLarge says that an arena would not fit into 32 bits.
var ErrTooLarge = errors.New("arena: over 2 GiB, expected fewer rows, shapes or values")

// NewLayout lays the blocks out, one after the other, in the order of the fields
// of Layout. The manifest is valid and the sizes are within their bounds.
func NewLayout(m *Manifest, s Sizes) (*Layout, error) {
	l := &Layout{Sizes: s, Dims: len(m.Dims()), manifest: m}
	take := func(size int) int {
		at := l.Size
		l.Size += (size + 7) &^ 7
		return at
	}
	all := m.AllColumns()
	take(tableSize)
	l.columns = take(descriptorSize * len(all))
	l.Params = take(8 * len(m.Params))
	l.Job = take(jobSize)
	l.fields = take(8 * len(m.JobFields))
	l.request = take(8 * l.Dims)
	l.jobModels = take(4 * MaxRowModels)
	l.Out = take(outSize)
	l.Fleet = take(fleetSize)
	l.fleetDims = take(fleetDimSize * l.Dims)
	if len(m.Domains) > 0 {
		l.Domains = take(domainsSize)
		l.domainKeys = take(domainKeySize * len(m.Domains))
		for _, n := range s.Values {
			l.domainLists = append(l.domainLists, take(n*l.valueStride()))
		}
	}
	if m.WantsProfile {
		l.Profile = take(profileSize)
		l.shapes = take(s.Shapes * l.shapeStride())
		l.shapeModels = take(4 * s.ShapeModels)
	}
	l.Candidate = take((s.Rows + 63) / 64 * 8)
	for _, c := range all {
		stride := c.Stride(s.Devices)
		l.Columns = append(l.Columns, Placed{Column: c, Offset: take(stride * (s.Held + s.Rows)), Stride: stride})
	}
	l.Values = take(8 * s.Rows)
	if m.ChoosesDevices {
		l.Masks = take(4 * s.Rows)
	}
	if l.Size > math.MaxInt32 {
		return nil, ErrTooLarge
	}
	return l, nil
}

func (l *Layout) valueStride() int { return domainFixed + 16*l.Dims }

func (l *Layout) shapeStride() int { return shapeFixed + 8*l.Dims }
