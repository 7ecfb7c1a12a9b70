package policy

import (
	"sync"
	"time"

	"github.com/poise-sched/poise/abi"
)

// Counters are what a plugin has done and how it failed. They are safe to read
// while it runs.
type Counters struct {
	mu sync.Mutex
	c  Counts
}

// Counts is a copy of Counters.
type Counts struct {
	Calls   int64
	Rows    int64
	Fuel    int64         // weighted units
	Took    time.Duration // of calls on few rows an estimate, see timer
	Audited int64         // rows asked about again
	Impure  int64         // times that an audit found another answer
	Faults  map[abi.Code]int64
}

// NewCounters gives counters at 0.
func NewCounters() *Counters { return &Counters{c: Counts{Faults: map[abi.Code]int64{}}} }

// Read gives the counts of now.
func (c *Counters) Read() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.c
	out.Faults = make(map[abi.Code]int64, len(c.c.Faults))
	for code, n := range c.c.Faults {
		out.Faults[code] = n
	}
	return out
}

func (c *Counters) call(rows int, fuel int64, took time.Duration) {
	c.mu.Lock()
	c.c.Calls++
	c.c.Rows += int64(rows)
	c.c.Fuel += fuel
	c.c.Took += took
	c.mu.Unlock()
}

func (c *Counters) audited(rows int) {
	c.mu.Lock()
	c.c.Audited += int64(rows)
	c.mu.Unlock()
}

func (c *Counters) impure() {
	c.mu.Lock()
	c.c.Impure++
	c.mu.Unlock()
}

func (c *Counters) fault(code abi.Code) {
	c.mu.Lock()
	c.c.Faults[code]++
	c.mu.Unlock()
}
