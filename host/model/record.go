package model

import (
	"fmt"
	"math"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/spectral"
)

// Record is a model as plain data. Restore makes it a Model again.
type Record struct {
	Settings  Settings
	Build     uint64  // 1 for the first model, and one more for each that follows
	Step      float64 // width of a cell in octaves
	Groups    []Group // sorted
	Cells     []Cell  // sorted by group and place
	Points    []Point // what was clustered: all cells, or landmarks among them
	Classes   []Class // sorted by ID
	NextClass ClassID // the id that the next new class gets
	// K is the number of classes found, those pinned not counted.
	K int
	// Eigenvalues are the smallest of the Laplacian, ascending: those of the K
	// classes and up to 16 more.
	Eigenvalues []float64
}

// ModelBuild is the number of the build. With it, a Record is what the event
// poise.ModelBuilt carries.
func (r *Record) ModelBuild() uint64 { return r.Build }

// Point is one clustered point.
type Point struct {
	Group int       // index into Record.Groups
	At    []float64 // per feature, in octaves
	Nodes int       // nodes of all cells that it stands for, 1 or more
	Class int       // index into Record.Classes
}

// Model is a finished set of classes. It is immutable and safe to read from any
// goroutine.
type Model struct {
	Record
	features []feature
	groups   map[Group]int
	cells    map[string]int // index into Classes, by cell key
	byGroup  [][]int        // points, by group
	pinned   []int          // index into Classes, by pin
}

// Restore makes a model of what Build recorded. It is an error, which names the
// field, if an index in it points nowhere.
func Restore(r Record) (*Model, error) {
	if err := r.Settings.Validate(); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("model record of build %d", r.Build), Err: err}
	}
	m := &Model{
		Record: r, features: featuresOf(r.Settings.Features), groups: indexOf(r.Groups),
		cells: make(map[string]int, len(r.Cells)), byGroup: make([][]int, len(r.Groups)), pinned: make([]int, len(r.Settings.Pinned)),
	}
	var buf [maxKey]byte
	for i := range r.Cells {
		c := &r.Cells[i]
		m.cells[string(c.keyOf(buf[:0]))] = r.Points[c.Point].Class
	}
	for i := range r.Points {
		m.byGroup[r.Points[i].Group] = append(m.byGroup[r.Points[i].Group], i)
	}
	for i := range m.pinned {
		m.pinned[i] = r.pinnedClass(r.Settings.Pinned[i].Name)
		if m.pinned[i] < 0 {
			return nil, invalid("pinned: class %q, expected it among the classes", r.Settings.Pinned[i].Name)
		}
	}
	return m, nil
}

func (r *Record) check() error {
	dims := len(r.Settings.Features)
	if !(r.Step > 0 && r.Step <= r.Settings.Resolution) {
		return fmt.Errorf("step: %v, expected more than 0 and at most the resolution of %v octaves", r.Step, r.Settings.Resolution)
	}
	for i, c := range r.Cells {
		switch {
		case c.Group < 0 || c.Group >= len(r.Groups):
			return fmt.Errorf("cells[%d]: group %d, expected one of %d", i, c.Group, len(r.Groups))
		case len(c.At) != dims:
			return fmt.Errorf("cells[%d]: %d coordinates, expected %d", i, len(c.At), dims)
		case c.Point < 0 || c.Point >= len(r.Points):
			return fmt.Errorf("cells[%d]: point %d, expected one of %d", i, c.Point, len(r.Points))
		}
	}
	for i, p := range r.Points {
		switch {
		case p.Group < 0 || p.Group >= len(r.Groups):
			return fmt.Errorf("points[%d]: group %d, expected one of %d", i, p.Group, len(r.Groups))
		case len(p.At) != dims:
			return fmt.Errorf("points[%d]: %d coordinates, expected %d", i, len(p.At), dims)
		case p.Class < 0 || p.Class >= len(r.Classes):
			return fmt.Errorf("points[%d]: class %d, expected one of %d", i, p.Class, len(r.Classes))
		}
	}
	for i := range r.Classes {
		if id := r.Classes[i].ID; id == 0 || id >= r.NextClass || i > 0 && id <= r.Classes[i-1].ID {
			return fmt.Errorf("classes[%d]: id %d, expected ids from 1, ascending, below %d", i, id, r.NextClass)
		}
	}
	return nil
}

func (r *Record) pinnedClass(name string) int {
	for i := range r.Classes {
		if r.Classes[i].Pinned && r.Classes[i].Name == name {
			return i
		}
	}
	return -1
}

// Spectral gives the points as they were clustered, so that a reader can have
// spectral.Cluster work out the matrices again. The weight of a point is the
// number of its nodes to the power of the weight exponent.
func (r *Record) Spectral() spectral.Points {
	var p spectral.Points
	for i := range r.Points {
		p.At = append(p.At, r.Points[i].At)
		p.Weight = append(p.Weight, math.Pow(float64(r.Points[i].Nodes), r.Settings.WeightExponent))
		p.Group = append(p.Group, r.Points[i].Group)
	}
	return p
}
