package loop

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// plant runs jobs through a loop in virtual time: each ends when it has run for
// its true run time.
type plant struct {
	t       fataler
	loop    *Loop
	index   uint64
	now     poise.Time
	ends    []taskEnd
	lasts   map[poise.JobID]poise.Span
	started map[poise.JobID]poise.Time
	log     []string // what became of reservations
	made    int
	promise func(poise.ReservationMade)
}

type taskEnd struct {
	at  poise.Time
	job poise.JobID
}

// task is a job with the time that it comes at and that it runs for.
type task struct {
	job  poise.Job
	at   poise.Time
	runs poise.Span
}

func newPlant(t fataler, reservations int, nodes ...poise.Node) *plant {
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(s, Settings{Queue: queue.Defaults(), LaneOf: func(poise.TenantID) string { return "" }, Reservations: reservations})
	if err != nil {
		t.Fatal(err)
	}
	l.Open("", sched.Policy{Name: "spread", Scorer: spread(t)}, false)
	p := &plant{t: t, loop: l, lasts: map[poise.JobID]poise.Span{}, started: map[poise.JobID]poise.Time{}}
	for _, n := range nodes {
		p.apply(poise.NodeJoined{Node: n})
	}
	return p
}

func (p *plant) apply(body poise.Body) {
	p.t.Helper()
	p.index++
	if err := p.loop.Apply(poise.Event{Index: p.index, At: p.now, Body: body}); err != nil {
		p.t.Fatal(err)
	}
}

// pass decides until nothing may be tried.
func (p *plant) pass() {
	p.t.Helper()
	for tries := 0; ; tries++ {
		w := p.loop.Next(p.now)
		if w == nil {
			return
		}
		if tries > 100_000 {
			p.t.Fatal("a pass does not end")
		}
		w.Plan(sched.Brief)
		s, err := p.loop.Settle(w, p.now, sched.Brief)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, body := range s.Events {
			p.note(body)
			p.apply(body)
		}
		if d := &s.Decision; d.Verdict == poise.Placed {
			p.apply(poise.JobPlaced{Placement: poise.Placement{Job: d.Job, Node: d.Node, Devices: d.Devices}})
			p.started[d.Job] = p.now
			p.log = append(p.log, fmt.Sprintf("%d %s on %s", p.now, d.Job, d.Node))
			if runs := p.lasts[d.Job]; runs > 0 {
				p.ends = append(p.ends, taskEnd{p.now + poise.Time(runs), d.Job})
			}
		}
	}
}

func (p *plant) note(body poise.Body) {
	switch b := body.(type) {
	case poise.ReservationMade:
		p.made++
		p.log = append(p.log, fmt.Sprintf("%d %s has %s from %d", p.now, b.Job, b.Nodes[0], b.Start))
		if r := p.loop.State().View().Reservation(b.Job); r != nil && r.Start == b.Start && r.Holds[0].Node == b.Nodes[0] {
			p.t.Fatalf("%+v is written though nothing changed", b)
		}
		if p.promise != nil {
			p.promise(b)
		}
	case poise.ReservationEnded:
		p.log = append(p.log, fmt.Sprintf("%d %s has nothing", p.now, b.Job))
	}
}

// run takes in arrivals, in the order of their times, and goes on until then.
func (p *plant) run(arrivals []task, until poise.Time) {
	p.t.Helper()
	for {
		next := until
		if len(arrivals) > 0 {
			next = min(next, arrivals[0].at)
		}
		for _, e := range p.ends {
			next = min(next, e.at)
		}
		if at, ok := p.loop.NextDue(p.now); ok {
			next = min(next, max(at, p.now+1))
		}
		if next >= until {
			p.now = until
			return
		}
		p.now = next
		due := slices.DeleteFunc(slices.Clone(p.ends), func(e taskEnd) bool { return e.at > p.now })
		p.ends = slices.DeleteFunc(p.ends, func(e taskEnd) bool { return e.at <= p.now })
		slices.SortFunc(due, func(a, b taskEnd) int { return cmp.Compare(a.job, b.job) })
		for _, e := range due {
			p.apply(poise.JobFinished{Job: e.job})
		}
		for ; len(arrivals) > 0 && arrivals[0].at <= p.now; arrivals = arrivals[1:] {
			p.lasts[arrivals[0].job.ID] = arrivals[0].runs
			p.apply(poise.JobSubmitted{Job: arrivals[0].job})
		}
		p.pass()
	}
}

func cpuNode(name string, cores int64) poise.Node {
	return poise.Node{Name: name, Capacity: resource.List{{Name: "cpu", Value: cores * 1000}}}
}

func cpuTask(id string, at poise.Time, cores int64, declared, runs poise.Span) task {
	return task{at: at, runs: runs, job: poise.Job{
		ID: poise.JobID(id), Name: id, Tenant: "t", Tasks: 1, RunTime: declared,
		Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: cores * 1000}}},
	}}
}

func byTime(tasks []task) []task {
	slices.SortStableFunc(tasks, func(a, b task) int { return cmp.Compare(a.at, b.at) })
	return tasks
}

// B30: a stream of small jobs does not starve a large one, whether or not they say
// how long they run, and without reservations it does. One that ends in time goes
// before it.
func TestStreamStarvesNobody(t *testing.T) {
	const sec = 1000
	f := func(reservations int, declared poise.Span, want poise.Time) {
		t.Helper()
		p := newPlant(t, reservations, cpuNode("n", 8))
		var arrivals []task
		for i := range 100 {
			arrivals = append(arrivals, cpuTask(fmt.Sprint("s", i), poise.Time(i*sec), 1, declared, 10*sec))
		}
		big := cpuTask("big", 500, 8, 60*sec, 60*sec)
		big.job.Priority = 10
		p.run(byTime(append(arrivals, big)), 101*sec)
		if got, ok := p.started["big"]; got != want || ok != (want > 0) {
			t.Errorf("%d reservations, run time %d: started at %d, expected at %d", reservations, declared, got, want)
		}
	}
	f(0, 10*sec, 0)
	f(1, 10*sec, 10*sec) // s0 runs from 0 on, and nobody else started before
	f(1, 0, 10*sec)
}
