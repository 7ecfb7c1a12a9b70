package workload

import (
	"fmt"
	"math"

	"github.com/poise-sched/poise/host/poise"
)

// Spec is what a synthetic workload is made to.
type Spec struct {
	Seed    uint64
	Jobs    int        // 1 to 1,000,000, every member of an array, a chain or a gang counted
	Span    poise.Span // in which they come, 1 s to 10 years
	Tenants int        // 1 to 1000
	// Wave is how far the rate of arrivals swings around its mean over a day,
	// 0 = not at all to 1 = to nothing at its lowest.
	Wave float64
	// RunTime is the median run time, 1 s to 30 days. Deviation is that of its
	// natural logarithm, 0 to 4.
	RunTime   poise.Span
	Deviation float64
	// Over is how many times as long as it takes a job says, on average, that it
	// does: 1 to 100.
	Over float64
	// Undeclared is the part of the jobs that say nothing, 0 to 1.
	Undeclared float64
	// Arrays and Chains are the parts of the arrivals, 0 to 1 together, that
	// bring several jobs: equal ones at once, and each after the one before.
	Arrays, Chains float64
	// Gangs is the part of the arrivals that bring a gang of 2 to 32 jobs, with
	// arrays and chains at most 1.
	Gangs   float64
	Classes []Class
}

// Class is a size of job.
type Class struct {
	Share  float64 // of the arrivals, in proportion to the other classes
	CPU    int64   // whole cores, in milli-cores
	Memory int64   // bytes, a multiple of 1 KiB for each core
	GPUs   int32
}

const (
	second = poise.Span(1000)
	hour   = 3600 * second
	day    = 24 * hour
	gib    = 1 << 30
)

// Defaults are 10,000 jobs of 5 tenants within a day, of a median of 10 minutes,
// with estimates three times as long, a tenth of them without, small jobs by
// far the most, and some with GPUs.
func Defaults() Spec {
	return Spec{
		Seed: 1, Jobs: 10_000, Span: day, Tenants: 5, Wave: 0.6, RunTime: 600 * second, Deviation: 1.5,
		Over: 3, Undeclared: 0.1, Arrays: 0.05, Chains: 0.05,
		Classes: []Class{
			{Share: 50, CPU: 1000, Memory: 2 * gib},
			{Share: 30, CPU: 4000, Memory: 16 * gib},
			{Share: 10, CPU: 16_000, Memory: 64 * gib},
			{Share: 8, CPU: 8000, Memory: 32 * gib, GPUs: 1},
			{Share: 2, CPU: 32_000, Memory: 128 * gib, GPUs: 4},
		},
	}
}

// Limits of a Spec.
const (
	maxJobs    = 1_000_000
	maxTenants = 1000
	maxClasses = 100
)

// Validate names the first field that is out of its range.
func (s *Spec) Validate() error {
	within := func(field string, v, low, high float64) error {
		if !(v >= low && v <= high) {
			return invalid(fmt.Sprintf("%s: %v, expected %v to %v", field, v, low, high))
		}
		return nil
	}
	for _, err := range []error{
		within("jobs", float64(s.Jobs), 1, maxJobs),
		within("span (seconds)", s.Span.Seconds(), 1, (3650 * day).Seconds()),
		within("tenants", float64(s.Tenants), 1, maxTenants),
		within("wave", s.Wave, 0, 1),
		within("run time (seconds)", s.RunTime.Seconds(), 1, (30 * day).Seconds()),
		within("deviation", s.Deviation, 0, 4),
		within("over", s.Over, 1, 100),
		within("undeclared", s.Undeclared, 0, 1),
		within("arrays", s.Arrays, 0, 1),
		within("chains", s.Chains, 0, 1),
		within("gangs", s.Gangs, 0, 1),
		within("arrays, chains and gangs", s.Arrays+s.Chains+s.Gangs, 0, 1),
		within("number of classes", float64(len(s.Classes)), 1, maxClasses),
	} {
		if err != nil {
			return err
		}
	}
	for i := range s.Classes {
		c := &s.Classes[i]
		op := fmt.Sprintf("class %d: ", i+1)
		switch {
		case !(c.Share > 0 && c.Share <= 1e6):
			return invalid(op + fmt.Sprintf("share: %v, expected above 0 to 1e6", c.Share))
		case c.CPU <= 0 || c.CPU%1000 != 0 || c.CPU/1000 > maxValue:
			return invalid(op + fmt.Sprintf("cpu: %d milli-cores, expected whole cores, 1 or more", c.CPU))
		case c.Memory < 0 || c.Memory > math.MaxInt64/2 || c.Memory%(c.CPU/1000*1024) != 0:
			return invalid(op + fmt.Sprintf("memory: %d bytes, expected a multiple of 1 KiB for each core", c.Memory))
		case c.GPUs < 0 || c.GPUs > poise.MaxDevices:
			return invalid(op + fmt.Sprintf("gpu: %d, expected 0 to %d", c.GPUs, poise.MaxDevices))
		}
	}
	return nil
}

func invalid(detail string) error {
	return &poise.Error{Kind: poise.Invalid, Op: "generate workload", Detail: detail}
}
