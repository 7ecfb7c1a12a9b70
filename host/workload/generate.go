package workload

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Job is a job of a workload.
type Job struct {
	poise.Job            // RunTime is what it declares
	At        poise.Time // since the start
	Took      poise.Span // how long it runs in truth
	Preceding string     // name of the job that it comes after, "" = of none
}

// Workload is what Generate makes.
type Workload struct {
	Tenants []poise.Tenant // by load, the heaviest first
	Jobs    []Job          // in the order of their arrival
}

// Bounds of what is drawn.
const (
	maxRun     = 7 * day
	maxMembers = 50 // of an array; a chain has a fifth of it
)

// guesses are the run times that people declare (Mu'alem and Feitelson,
// Utilization, Predictability, Workloads, and User Runtime Estimates, IEEE TPDS
// 2001): round ones, and few of them.
var guesses = []poise.Span{
	60 * second, 300 * second, 600 * second, 1200 * second, 1800 * second,
	hour, 2 * hour, 4 * hour, 8 * hour, 12 * hour, day, 2 * day, 4 * day, 7 * day, 14 * day, 30 * day,
}

// Generate makes the workload. Arrivals are a Poisson process whose rate follows
// the hours of the day; given how many there are, their times are independent
// draws from the rate, each made by thinning a uniform one (Lewis and Shedler,
// Simulation of Nonhomogeneous Poisson Processes by Thinning, 1979). Run times are
// log-normal. All times are whole seconds, as the Standard Workload Format has
// no others. The i-th tenant has a part in proportion to 1/i of the arrivals, and
// a weight of 1, 2 or 4.
func Generate(s Spec) (*Workload, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	w := &Workload{Tenants: tenants(s.Tenants)}
	tenant := newWheel(s.Tenants, func(i int) float64 { return 1 / float64(i+1) })
	class := newWheel(len(s.Classes), func(i int) float64 { return s.Classes[i].Share })
	r := newRandom(s.Seed, 0)
	arrivals := 0
	for len(w.Jobs) < s.Jobs {
		first := len(w.Jobs)
		members, kind := s.members(r)
		job := Job{Job: poise.Job{
			Tenant: w.Tenants[tenant.pick(r)].ID, Tasks: 1, Request: s.Classes[class.pick(r)].request(),
		}}
		job.At = poise.Time(arrivals) // which of the times, until they are known
		if arrivals++; kind == together {
			s.addGang(w, r, job)
			continue
		}
		for range min(members, s.Jobs-first) {
			job.Took = s.took(r)
			job.RunTime = s.declared(r, job.Took)
			job.Name = jobName(len(w.Jobs))
			job.ID = poise.JobID(job.Name)
			w.Jobs = append(w.Jobs, job)
			if job.Preceding = ""; kind == chained {
				job.Preceding = job.Name
			}
		}
	}
	times := s.times(arrivals)
	for i := range w.Jobs {
		w.Jobs[i].At = times[w.Jobs[i].At]
	}
	return w, nil
}

// kind is how the jobs of an arrival belong together.
type kind int

const (
	apart kind = iota
	chained
	together
)

// members draws how many jobs an arrival brings, and how they belong together; of
// gangs addGang draws how many.
func (s *Spec) members(r random) (n int, how kind) {
	switch part := r.unit(); {
	case part < s.Arrays:
		return 2 + r.below(maxMembers-1), apart
	case part < s.Arrays+s.Chains:
		return 2 + r.below(maxMembers/5-1), chained
	case part < s.Arrays+s.Chains+s.Gangs:
		return 0, together
	}
	return 1, apart
}

// jobName names a job that comes behind so many.
func jobName(behind int) string { return "job-" + strconv.Itoa(behind+1) }

// took draws a run time.
func (s *Spec) took(r random) poise.Span {
	seconds := s.RunTime.Seconds() * exp(float64(s.Deviation*r.normal()))
	return poise.Span(min(max(math.Floor(seconds), 1), maxRun.Seconds())) * second
}

// declared draws what a job of a run time says of it: 0 for nothing, else never
// less.
func (s *Spec) declared(r random, took poise.Span) poise.Span {
	if r.unit() < s.Undeclared {
		return 0
	}
	if s.Over == 1 {
		return took
	}
	at := poise.Span(float64(took) * (1 + float64((s.Over-1)*r.exponential())))
	i, _ := slices.BinarySearch(guesses, at)
	return max(took, guesses[min(i, len(guesses)-1)])
}

// times draws so many times of arrival, in order.
func (s *Spec) times(n int) []poise.Time {
	r := newRandom(s.Seed, 1)
	span := math.Floor(s.Span.Seconds())
	times := make([]poise.Time, n)
	for i := range times {
		at := math.Floor(r.unit() * span)
		for r.unit()*(1+s.Wave) >= 1+float64(s.Wave*wave(at)) {
			at = math.Floor(r.unit() * span)
		}
		times[i] = poise.Time(at) * poise.Time(second)
	}
	slices.Sort(times)
	return times
}

// wave is 1 at two in the afternoon and -1 at two in the night, with a mean of 0:
// two parabolas, which stay within 0.06 of a sine and need no function of
// package math.
func wave(seconds float64) float64 {
	days := seconds/day.Seconds() - 8.0/24
	p := days - math.Floor(days)
	if p < 0.5 {
		return 16 * p * (0.5 - p)
	}
	return -16 * (p - 0.5) * (1 - p)
}

func (c *Class) request() poise.Request {
	r := poise.Request{Amounts: resource.List{{Name: "cpu", Value: c.CPU}}}
	if c.Memory > 0 {
		r.Amounts = append(r.Amounts, resource.Amount{Name: "memory", Value: c.Memory})
	}
	if c.GPUs > 0 {
		r.Device = poise.DeviceRequest{Kind: "gpu", Count: c.GPUs, Milli: poise.WholeDevice}
	}
	return r
}

func tenants(n int) []poise.Tenant {
	list := make([]poise.Tenant, n)
	for i := range list {
		list[i] = poise.Tenant{ID: poise.TenantID(fmt.Sprintf("%s%d", tenantPrefix, i+1)), Weight: float64(int(1) << (i % 3))}
	}
	return list
}

// wheel draws numbers in proportion to their weights.
type wheel []float64 // sums of the weights

func newWheel(n int, weight func(int) float64) wheel {
	w := make(wheel, n)
	sum := 0.0
	for i := range w {
		sum += weight(i)
		w[i] = sum
	}
	return w
}

func (w wheel) pick(r random) int {
	i, _ := slices.BinarySearch(w, r.unit()*w[len(w)-1])
	return min(i, len(w)-1)
}
