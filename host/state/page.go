package state

// pageRows is how many rows a page holds. A page is the unit of copying after
// a snapshot: 64 rows of 6 dimensions and 8 devices are about 6 KB to copy.
const (
	pageShift = 6
	pageRows  = 1 << pageShift
	pageMask  = pageRows - 1
)

// Row flags.
const (
	flagPresent = 1 << iota
	flagNotReady
	flagDrained
	flagExclusive
	flagTainted
)

// hotPage holds the columns that change with every placement.
type hotPage struct {
	owner     uint64 // the generation of State that may write it
	version   [pageRows]uint64
	tasks     [pageRows]*TaskList
	others    *[pageRows]*TaskList // occupants; replaced, never changed; nil = none
	running   [pageRows]int32
	flags     [pageRows]uint8
	width     int      // dimensions held
	allocated []int64  // [dim*pageRows + i]
	stride    int      // devices held per row
	free      []uint16 // [i*stride + device], milli-devices
}

// coldPage holds the columns that change when a node describes itself anew.
type coldPage struct {
	owner    uint64
	ident    [pageRows]*ident
	rank     [pageRows]uint64
	kind     [pageRows]uint16 // symbol of the device kind, 0 = no devices
	model    [pageRows]uint16 // symbol of the device model, 0 = no model
	devices  [pageRows]uint8
	width    int
	capacity []int64 // [dim*pageRows + i]
}

func (p *hotPage) clone(owner uint64) *hotPage {
	q := *p
	q.owner = owner
	q.allocated = append([]int64(nil), p.allocated...)
	q.free = append([]uint16(nil), p.free...)
	return &q
}

func (p *coldPage) clone(owner uint64) *coldPage {
	q := *p
	q.owner = owner
	q.capacity = append([]int64(nil), p.capacity...)
	return &q
}

func (p *hotPage) othersAt(i uint32) *TaskList {
	if p.others == nil {
		return nil
	}
	return p.others[i]
}

func (p *hotPage) setOthers(i uint32, l *TaskList) {
	var lists [pageRows]*TaskList
	if p.others != nil {
		lists = *p.others
	}
	if lists[i] = l; lists == ([pageRows]*TaskList{}) {
		p.others = nil
		return
	}
	p.others = &lists
}

// widen makes room for dimensions up to width, the new ones 0.
func (p *hotPage) widen(width int) {
	if width > p.width {
		p.allocated = append(p.allocated, make([]int64, (width-p.width)*pageRows)...)
		p.width = width
	}
}

func (p *coldPage) widen(width int) {
	if width > p.width {
		p.capacity = append(p.capacity, make([]int64, (width-p.width)*pageRows)...)
		p.width = width
	}
}

// restride makes room for more devices per row.
func (p *hotPage) restride(stride int) {
	if stride <= p.stride {
		return
	}
	free := make([]uint16, stride*pageRows)
	for i := range pageRows {
		copy(free[i*stride:], p.free[i*p.stride:(i+1)*p.stride])
	}
	p.free, p.stride = free, stride
}
