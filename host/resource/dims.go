package resource

// The dimensions that every Dims begins with.
const (
	CPU = iota
	Memory
)

// Dims numbers the dimension names in the order in which they came. Names are
// only ever added, so an index stays valid for good. One writer may use it at
// a time; what Names gave out may be read meanwhile.
type Dims struct {
	names []string
	index map[string]int
}

// NewDims gives a table with cpu at 0 and memory at 1.
func NewDims() *Dims {
	d := &Dims{index: make(map[string]int)}
	d.Intern("cpu")
	d.Intern("memory")
	return d
}

// Index gives a name's index, and whether the table has the name.
func (d *Dims) Index(name string) (int, bool) {
	i, ok := d.index[name]
	return i, ok
}

// Intern gives a name's index and adds the name where it is new.
func (d *Dims) Intern(name string) int {
	i, ok := d.index[name]
	if !ok {
		i = len(d.names)
		d.index[name] = i
		d.names = append(d.names, name)
	}
	return i
}

// Names gives the names known now, by index. The slice never changes, however
// many names come later; it must not be written to.
func (d *Dims) Names() []string { return d.names[:len(d.names):len(d.names)] }
