package main

import (
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

const (
	gib     = 1 << 30
	nodes   = 200
	tenants = 100
	shapes  = 64

	nodeCPU, nodeMemory = 64_000, 256 * gib
)

// fleet is a loop over a full fleet with a queue.
type fleet struct {
	loop    *loop.Loop
	now     poise.Time
	jobs    int
	random  *rand.Rand
	running []poise.JobID
	passes  int
	started int
}

// newFleet fills a fleet and has n jobs wait. With reservations nodes are kept for as
// many: the first job that waits asks for more than soon becomes free, so that it
// stays in front of all passes.
func newFleet(n, reservations int) (*fleet, error) {
	s, err := state.New(state.Settings{})
	if err != nil {
		return nil, err
	}
	l, err := loop.New(s, loop.Settings{
		Queue: queue.Defaults(), Params: balance.Defaults(), LaneOf: func(poise.TenantID) string { return "" }, Reservations: reservations,
	})
	if err != nil {
		return nil, err
	}
	spread, err := balance.NewSpread(nil)
	if err != nil {
		return nil, err
	}
	l.Open("", sched.Policy{Name: "spread", Scorer: spread}, false)
	f := &fleet{loop: l, random: rand.New(rand.NewSource(1))}
	for i := range nodes {
		if err := f.apply(poise.NodeJoined{Node: poise.Node{
			Name: fmt.Sprintf("node-%04d", i), Capacity: resource.List{{Name: "cpu", Value: nodeCPU}, {Name: "memory", Value: nodeMemory}},
		}}); err != nil {
			return nil, err
		}
	}
	waiting := 0
	for waiting < n {
		if err := f.submit(); err != nil {
			return nil, err
		}
		if waiting == 0 { // until the fleet is full
			if err := f.decide(); err != nil {
				return nil, err
			}
			if len(f.running) == f.jobs {
				continue
			}
			if reservations > 0 {
				if err := f.block(); err != nil {
					return nil, err
				}
				waiting++
			}
		}
		waiting++
	}
	// Every shape is tried once more, so that the passes find the queue at rest.
	return f, f.decide()
}

// submit has the next job come: names and ids are as long as those of the daemon.
func (f *fleet) submit() error {
	i := f.jobs
	f.jobs++
	f.now++ // a millisecond after the one before
	shape := f.random.Intn(shapes)
	id := poise.JobID(fmt.Sprintf("01a22a6e-0884-70c1-aea5-%012d", i))
	return f.apply(poise.JobSubmitted{Job: poise.Job{
		ID: id, Name: "train-" + strconv.Itoa(i), Tenant: poise.TenantID(fmt.Sprintf("tenant-%02d", f.random.Intn(tenants))), Tasks: 1,
		RunTime: 3_600_000,
		Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: int64(1000 * (2 + shape%8))}, {Name: "memory", Value: int64(1+shape/8) * 2 * gib}}},
	}})
}

// block has a job come that asks for a whole node, of a tenant of its own, whose turn is
// first.
func (f *fleet) block() error {
	f.jobs++
	if err := f.apply(poise.JobSubmitted{Job: poise.Job{
		ID: blocked, Name: blocked, Tenant: "blocked", Tasks: 1, RunTime: 3_600_000,
		Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: nodeCPU}, {Name: "memory", Value: nodeMemory}}},
	}}); err != nil {
		return err
	}
	return f.decide()
}

const blocked = "blocked"

func (f *fleet) apply(body poise.Body) error {
	return f.loop.Apply(poise.Event{Index: f.loop.State().Index() + 1, At: f.now, Body: body})
}

// pass ends a task and lets the loop decide until it has nothing to do; a job comes
// for each that starts, so the queue stays as long as it is.
func (f *fleet) pass() error {
	f.passes++
	f.now += 10
	i := f.random.Intn(len(f.running))
	id := f.running[i]
	f.running[i] = f.running[len(f.running)-1]
	f.running = f.running[:len(f.running)-1]
	if err := f.apply(poise.JobFinished{Job: id}); err != nil {
		return err
	}
	return f.decide()
}

func (f *fleet) decide() error {
	for {
		for _, due := range f.loop.Due(f.now) {
			if err := f.apply(due); err != nil {
				return err
			}
		}
		w := f.loop.Next(f.now)
		if w == nil {
			return nil
		}
		w.Plan(sched.Brief)
		s, err := f.loop.Settle(w, f.now, sched.Brief)
		if err != nil {
			return err
		}
		for _, body := range s.Events {
			if err := f.apply(body); err != nil {
				return err
			}
		}
		if s.Decision.Verdict != poise.Placed {
			continue
		}
		f.started++
		f.running = append(f.running, s.Decision.Job)
		if err := f.apply(poise.JobPlaced{Placement: poise.Placement{Job: s.Decision.Job, Node: s.Decision.Node, Devices: s.Decision.Devices}}); err != nil {
			return err
		}
	}
}

// check refuses a measurement of something else.
func (f *fleet) check(n, reservations int) error {
	if got := len(f.loop.State().View().Reservations()); got != reservations {
		return fmt.Errorf("%d reservations at the end, expected %d", got, reservations)
	}
	waiting := f.jobs - f.started
	if waiting > n || waiting < n/2 || len(f.running) == 0 {
		return fmt.Errorf("%d jobs wait and %d run, expected about %d to wait", waiting, len(f.running), n)
	}
	return nil
}

// heap is the live heap in MB.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}

// resident is the resident memory of this process in MB, 0 where the system does
// not say.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kb * 1024 / 1e6
		}
	}
	return 0
}
