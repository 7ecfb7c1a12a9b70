package loop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

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
	told    map[poise.JobID]poise.Time // the earliest start that a reserved job was told
	passed  func()                     // is called after each pass; nil = nothing is
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
	p := &plant{t: t, loop: l, lasts: map[poise.JobID]poise.Span{}, started: map[poise.JobID]poise.Time{}, told: map[poise.JobID]poise.Time{}}
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
		switch b := s.Commit().(type) {
		case poise.JobPlaced:
			p.apply(b)
			p.begun(b.Placement)
		case poise.GangPlaced:
			p.apply(b)
			for _, each := range b.Placements {
				p.begun(each)
			}
		}
	}
}

func (p *plant) begun(at poise.Placement) {
	p.started[at.Job] = p.now
	p.log = append(p.log, fmt.Sprintf("%d %s on %s", p.now, at.Job, at.Node))
	if runs := p.lasts[at.Job]; runs > 0 {
		p.ends = append(p.ends, taskEnd{p.now + poise.Time(runs), at.Job})
	}
}

func (p *plant) note(body poise.Body) {
	switch b := body.(type) {
	case poise.ReservationMade:
		p.made++
		p.log = append(p.log, fmt.Sprintf("%d %s has %s from %d", p.now, b.Job, strings.Join(b.Nodes, " "), b.Start))
		if r := p.loop.State().View().Reservation(b.Job); r != nil && r.Start == b.Start && p.loop.keeps(r, b.Nodes) {
			p.t.Fatalf("%+v is written though nothing changed", b)
		}
		if told, ok := p.told[b.Job]; !ok || orNever(b.Start) < told {
			p.told[b.Job] = orNever(b.Start)
		}
	case poise.ReservationEnded:
		p.log = append(p.log, fmt.Sprintf("%d %s has nothing", p.now, b.Job))
		delete(p.told, b.Job) // it is behind others
	}
}

// orNever gives a start, never for one that is not known.
func orNever(at poise.Time) poise.Time {
	if at == 0 {
		return never
	}
	return at
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
		if p.pass(); p.passed != nil {
			p.passed()
		}
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

// drawTask draws a job that fits on some node of the fleet: of cpu, of gpus, or of
// both.
func drawTask(t *rapid.T, id string, at poise.Time, declares, gpus bool) task {
	runs := poise.Span(rapid.IntRange(1, 40).Draw(t, "run time")) * 1000
	j := cpuTask(id, at, rapid.SampledFrom([]int64{1, 1, 2, 3, 8}).Draw(t, "cpu"), runs, runs)
	j.job.Tenant = rapid.SampledFrom([]poise.TenantID{"t", "u"}).Draw(t, "tenant")
	if gpus && rapid.Bool().Draw(t, "gpu") {
		count := rapid.SampledFrom([]int32{1, 1, 2, 4}).Draw(t, "gpus")
		j.job.Request.Device = poise.DeviceRequest{Kind: "gpu", Count: count, Milli: poise.WholeDevice}
	}
	if !declares && rapid.Bool().Draw(t, "declares nothing") {
		j.job.RunTime = 0
	}
	return j
}

// drawFleet draws nodes, at least one of which holds every job that drawTask draws.
func drawFleet(t *rapid.T) []poise.Node {
	nodes := []poise.Node{cpuNode("a", 8)}
	nodes[0].Devices = poise.Devices{Kind: "gpu", Count: 4}
	for i := range rapid.IntRange(0, 3).Draw(t, "nodes") {
		n := cpuNode(fmt.Sprint("b", i), rapid.SampledFrom([]int64{2, 4, 8}).Draw(t, "cores"))
		if rapid.Bool().Draw(t, "with gpus") {
			n.Devices = poise.Devices{Kind: "gpu", Count: 2}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// With exact run times and nothing lost, no job starts later than it was ever told
// while something was kept for it, however many reservations there are.
func TestPromisesAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlant(t, rapid.IntRange(1, 6).Draw(t, "reservations"), drawFleet(t)...)
		var arrivals []task
		at := poise.Time(0)
		for i := range rapid.IntRange(1, 40).Draw(t, "jobs") {
			at += poise.Time(rapid.IntRange(0, 6000).Draw(t, "gap"))
			arrivals = append(arrivals, drawTask(t, fmt.Sprint("j", i), at, true, true))
		}
		p.run(slices.Clone(arrivals), 1<<40)
		for id, told := range p.told {
			if started, ok := p.started[id]; !ok || started > told {
				t.Fatalf("%s started at %d (%v), told %d\n%v", id, started, ok, told, p.log)
			}
		}
	})
}

// Every job that fits somewhere starts, while others keep arriving and keep the
// fleet full, whatever they declare: within the time in which, for each job before
// it and itself, everything that runs ends once. Before it are those that wait as
// long, and who has the other reservations, which a tenant with less may have had
// first.
func TestWaitsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reservations := rapid.IntRange(1, 4).Draw(t, "reservations")
		p := newPlant(t, reservations, drawFleet(t)...)
		var arrivals []task
		for i := range 600 { // small ones, without end
			at := poise.Time(i) * 500
			small := cpuTask(fmt.Sprint("s", i), at, 1, 0, 20_000)
			if rapid.IntRange(0, 9).Draw(t, "declares") > 4 {
				small.job.RunTime = 20_000
			}
			small.job.Tenant = rapid.SampledFrom([]poise.TenantID{"t", "u"}).Draw(t, "tenant")
			arrivals = append(arrivals, small)
		}
		var watched []poise.JobID
		for i := range rapid.IntRange(1, 3).Draw(t, "watched") {
			id := fmt.Sprint("w", i)
			arrivals = append(arrivals, drawTask(t, id, 10_000, false, true))
			watched = append(watched, poise.JobID(id))
		}
		p.run(byTime(arrivals), 300_000)
		for _, id := range watched {
			started, ok := p.started[id]
			if limit := poise.Time(10_000 + (len(watched)+reservations-1)*2*41_000); !ok || started > limit {
				t.Fatalf("%s started at %d (%v), expected by %d\n%v", id, started, ok, limit, p.log)
			}
		}
	})
}

// B24 and B36: jobs that no node can take, or that only a drained one could, have
// nothing kept for them however many they are, and hold up nobody: those that fit
// start in the same pass, and what waits for room has its node.
func TestHopelessJobsKeepNothing(t *testing.T) {
	drained := cpuNode("drained", 8)
	drained.Labels = []poise.Label{{Key: "pool", Value: "old"}}
	drained.Drained = true
	p := newPlant(t, 1, cpuNode("n", 8), drained)
	var arrivals []task
	for i := range 200 {
		j := cpuTask(fmt.Sprint("drained", i), 0, 1, 1000, 1000)
		j.job.Selectors = []poise.Selector{{Key: "pool", Op: poise.In, Values: []string{"old"}}}
		j.job.Priority = 9
		never := cpuTask(fmt.Sprint("never", i), 0, 99, 1000, 1000)
		never.job.Priority = 9
		arrivals = append(arrivals, j, never)
	}
	arrivals = append(arrivals, cpuTask("one", 0, 1, 5000, 5000), cpuTask("other", 0, 1, 5000, 5000), cpuTask("all", 0, 8, 5000, 5000))
	arrivals[len(arrivals)-1].job.Priority = -1
	p.run(arrivals, 4000)
	for _, id := range []poise.JobID{"one", "other"} {
		if at, ok := p.started[id]; !ok || at != 0 {
			t.Errorf("%s started at %d (%v), expected at once", id, at, ok)
		}
	}
	if all := p.loop.State().View().Reservations(); len(all) != 1 || all[0].Job != "all" || all[0].Start != 5000 {
		t.Errorf("reserved: %v, expected for the job that waits for room alone\n%v", all, p.log)
	}
}

// B29: a job that waits for gpus is in the way of nobody who wants cpu, not on
// another node and not on its own as long as that has enough of both.
func TestOnlyWhatIsReservedIsKept(t *testing.T) {
	g := cpuNode("g", 16)
	g.Devices = poise.Devices{Kind: "gpu", Count: 8}
	p := newPlant(t, 1, g, cpuNode("n", 4))
	gpus := func(id string, at poise.Time, cores int64, count int32) task {
		j := cpuTask(id, at, cores, 0, 100_000)
		j.job.Request.Device = poise.DeviceRequest{Kind: "gpu", Count: count, Milli: poise.WholeDevice}
		return j
	}
	p.run([]task{gpus("first", 0, 2, 1), gpus("a", 1, 4, 8), cpuTask("b", 2, 4, 0, 1000), cpuTask("c", 3, 10, 0, 1000), cpuTask("d", 4, 1, 0, 1000), gpus("e", 5, 0, 1)}, 500)
	for id, want := range map[poise.JobID]bool{"first": true, "a": false, "b": true, "c": true, "d": false, "e": false} {
		if _, ok := p.started[id]; ok != want {
			t.Errorf("%s started: %v, expected %v\n%v", id, ok, want, p.log)
		}
	}
}
