package poise

import "unsafe"

// Symbol stands for a text: two are equal if and only if the texts are. The
// number says nothing else.
type Symbol uint32

// NoSymbol is the absent or empty text.
const NoSymbol Symbol = 0

// FilterFunc writes a reason for each row. They are all Keep to begin with.
type FilterFunc func(c *Call, reasons []Reason)

// ScoreFunc writes a finite loss for each row, smaller is better. They are all 0
// to begin with.
type ScoreFunc func(c *Call, losses []float64)

// Call is one call of the host: a table of rows, a job, and where the answers
// go. It and all views of it are good until the function returns.
type Call struct {
	base    unsafe.Pointer // what offsets of the blocks count from
	table   unsafe.Pointer
	job     unsafe.Pointer
	out     unsafe.Pointer
	columns unsafe.Pointer // descriptors
	params  unsafe.Pointer
	rows    int
}

// Offsets of the table header.
const (
	tableRows    = 8
	tableBits    = 24
	tableParams  = 28
	tableFleet   = 32
	tableDomains = 36
	tableProfile = 40
	tableDevices = 44
	tableColumns = 48
)

// Open points the call at the three arguments of the host, which are offsets
// from base: nil in a guest, the arena in a test.
func (c *Call) Open(base unsafe.Pointer, table, job, out uint32) {
	c.base = base
	c.table, c.job, c.out = unsafe.Add(base, table), unsafe.Add(base, job), unsafe.Add(base, out)
	c.rows = int(*c.word(c.table, tableRows))
	c.columns = c.follow(c.table, tableColumns)
	c.params = c.follow(c.table, tableParams)
}

// Filter runs f on the call.
func (c *Call) Filter(f FilterFunc) {
	reasons := unsafe.Slice((*Reason)(c.follow(c.out, 0)), c.rows)
	clear(reasons)
	f(c, reasons)
}

// Score runs f on the call.
func (c *Call) Score(f ScoreFunc) {
	losses := unsafe.Slice((*float64)(c.follow(c.out, 0)), c.rows)
	clear(losses)
	clear(c.Masks())
	f(c, losses)
}

// Rows is the number of rows.
func (c *Call) Rows() int { return c.rows }

// Masks are the devices that each row would use, bit d for device d; 0 leaves
// the choice to the host. It is nil where the plugin does not choose devices.
func (c *Call) Masks() []uint32 {
	if *c.word(c.out, 4) == 0 {
		return nil
	}
	return unsafe.Slice((*uint32)(c.follow(c.out, 4)), c.rows)
}

// Candidate says whether the host reads the answer for the row. The others may
// be skipped where an answer is costly.
func (c *Call) Candidate(row int) bool {
	return *c.word64(c.follow(c.table, tableBits), row/64*8)>>(row%64)&1 != 0
}

func (c *Call) word(p unsafe.Pointer, offset int) *uint32 {
	return (*uint32)(unsafe.Add(p, offset))
}

func (c *Call) word64(p unsafe.Pointer, offset int) *uint64 {
	return (*uint64)(unsafe.Add(p, offset))
}

func (c *Call) double(p unsafe.Pointer, offset int) *float64 {
	return (*float64)(unsafe.Add(p, offset))
}

// follow gives what the pointer at p + offset points to.
func (c *Call) follow(p unsafe.Pointer, offset int) unsafe.Pointer {
	return unsafe.Add(c.base, *c.word(p, offset))
}
