package shadow

import (
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
)

// Bounds of what a Tally keeps.
const (
	MaxLatest  = 50
	MaxLargest = 50
	maxCases   = 40 // of each kind
	maxShapes  = 256
)

// Compared is one live decision, about a job or about a gang that is to start, and
// what the shadow made of it.
type Compared struct {
	Index       uint64 // of the last event that both had seen
	At          poise.Time
	Name        string
	Shape       uint64           // a hash of the job's request
	Live, Would *sched.GangPlan  // without Members for a single job
	Faults      map[string]int64 // of the shadow's plugin in it, by code
	Fuel        int64            // that the shadow's plugin used, in weighted units
	Rows        int64            // that it was asked about
}

// Tally is what is kept of the decisions that were compared. The zero Tally has
// seen none.
type Tally struct {
	Decisions   int64
	Dropped     int64 // live decisions that the shadow was too busy for
	Agreed      int64 // same node and devices
	SameVerdict int64
	Faulted     int64            // decisions with a fault of the shadow's plugin
	Faults      map[string]int64 // by code
	Fuel        int64            // weighted units, of all decisions
	MostFuel    int64            // of one decision
	Rows        int64
	Cost, Gain  Spread       // see Difference
	Latest      []Difference // the newest last
	Largest     []Difference // the largest first
	Cases       []Case       // worth a test, the newest last
	Shapes      []uint64     // of which a case was kept
}

// Add takes in one comparison.
func (t *Tally) Add(c *Compared) {
	t.Decisions++
	t.Fuel += c.Fuel
	t.MostFuel = max(t.MostFuel, c.Fuel)
	t.Rows += c.Rows
	if c.Live.Decision.Verdict == c.Would.Decision.Verdict {
		t.SameVerdict++
	}
	if len(c.Faults) > 0 {
		t.Faulted++
	}
	for code, n := range c.Faults {
		if t.Faults == nil {
			t.Faults = map[string]int64{}
		}
		t.Faults[code] += n
	}
	same := Same(c.Live, c.Would)
	if same {
		t.Agreed++
	} else {
		t.differ(c)
	}
	t.consider(c, same)
}

func (t *Tally) differ(c *Compared) {
	d := NewDifference(c.Index, c.At, c.Name, c.Live, c.Would)
	if cost, known := d.Cost(); known {
		t.Cost.Add(cost)
	}
	if gain, known := d.Gain(); known {
		t.Gain.Add(gain)
	}
	t.Latest = append(t.Latest, d)
	t.Latest = t.Latest[max(0, len(t.Latest)-MaxLatest):]
	// The earlier of two that weigh the same stays in front.
	i, _ := slices.BinarySearchFunc(t.Largest, d.weight(), func(e Difference, w float64) int {
		if e.weight() >= w {
			return -1
		}
		return 1
	})
	if i < MaxLargest {
		t.Largest = slices.Insert(t.Largest, i, d)
		t.Largest = t.Largest[:min(len(t.Largest), MaxLargest)]
	}
}

// Agreement is the part of the decisions on which both chose the same node and
// devices; 0 before the first.
func (t *Tally) Agreement() float64 { return part(t.Agreed, t.Decisions) }

// VerdictAgreement is the part of the decisions with the same verdict.
func (t *Tally) VerdictAgreement() float64 { return part(t.SameVerdict, t.Decisions) }

func part(n, of int64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Clone gives a copy that Add on the first does not change.
func (t *Tally) Clone() *Tally {
	c := *t
	c.Faults = make(map[string]int64, len(t.Faults))
	for code, n := range t.Faults {
		c.Faults[code] = n
	}
	c.Latest, c.Largest, c.Cases, c.Shapes = slices.Clone(t.Latest), slices.Clone(t.Largest), slices.Clone(t.Cases), slices.Clone(t.Shapes)
	return &c
}

// Spread is how numbers that are 0 or more are spread over powers of ten.
type Spread struct {
	Count int64
	Sum   float64
	Most  float64
	Bands [len(bandEnds) + 1]int64 // Bands[i] counts up to BandEnds()[i], the last one those beyond
}

var bandEnds = [...]float64{0, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10}

// BandEnds gives the upper ends of the bands of a Spread but for the last, which
// has none.
func BandEnds() []float64 { return slices.Clone(bandEnds[:]) }

// Add counts a number. One below 0 counts as 0: a tie may be broken against it.
func (s *Spread) Add(x float64) {
	if math.IsNaN(x) {
		return
	}
	x = max(x, 0)
	s.Count++
	s.Sum = min(s.Sum+x, math.MaxFloat64)
	s.Most = max(s.Most, x)
	i, _ := slices.BinarySearch(bandEnds[:], x)
	s.Bands[i]++
}
