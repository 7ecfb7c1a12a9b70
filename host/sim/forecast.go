package sim

import (
	"cmp"
	"math"
	"slices"

	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// Bounds of a forecast.
type Bounds struct {
	Horizon  poise.Span // how far it looks ahead, above 0
	Attempts int        // how many attempts to place a job it makes, above 0
	// Stop ends the forecast where it gives true, asked before every attempt; nil
	// for never. It is for who holds a clock.
	Stop func() bool
	// Explain says about which jobs decisions are made in full; nil for none.
	Explain func(*state.Job) bool
}

// Cut says what ended a forecast.
type Cut string

// What ends a forecast.
const (
	Done       Cut = ""         // nothing more would happen
	AtHorizon  Cut = "horizon"  // all that happens up to there is in it
	AtAttempts Cut = "attempts" // as many as were allowed
	AtStop     Cut = "stop"
)

// Expected is what a forecast says of a job that waits at its beginning.
type Expected struct {
	Job poise.JobID
	// Placed: it starts at Start, on Node with Devices. Else it does not within the
	// forecast.
	Placed  bool
	Start   poise.Time
	Node    string
	Devices []uint16
	// Preempts are the tasks that make room for it.
	Preempts []poise.JobID
	// Over: its deadline comes before it starts, at Start.
	Over bool
	// Decision is the latest in brief on the job, or else on one of its tenant that
	// asks for the same, as things stand at the end; nil where there is none: it is
	// held, or comes after one that does not end, or the forecast was cut short.
	Decision *poise.Decision
	First    *poise.Decision // the first one of these
}

// Forecast is how a fleet and what waits would go on if nothing came and every
// task ended when it says.
type Forecast struct {
	From, Until poise.Time // Until: up to when it holds
	Cut         Cut
	Jobs        []Expected // that start, in that order, then the others by arrival
	// Endless is how many tasks that run at the beginning do not say how long: they
	// hold their place to the end. Overdue is how many have run longer than they
	// said: they end at once here.
	Endless, Overdue int
}

// NewForecast runs the loop forward from a time on. The loop is of a copy of the
// state, its lanes are open and plan inline, and its queue is filled; it is used
// up. Equal states, policies, times and bounds give equal forecasts, but for Stop.
func NewForecast(l *loop.Loop, now poise.Time, b Bounds) (*Forecast, error) {
	f := &forecast{state: l.State(), waits: map[poise.JobID]*Expected{}, alike: map[alike]*poise.Decision{}, bounds: b}
	f.Forecast = &Forecast{From: now}
	f.course = newCourse(&World{config: &Config{Explain: b.Explain}, loop: l}, now, f)
	for _, j := range l.State().All() {
		if j.Waiting() {
			f.order = append(f.order, j.ID)
			f.waits[j.ID] = &Expected{Job: j.ID}
			continue
		}
		f.running(j)
	}
	if err := f.run(); err != nil {
		return nil, err
	}
	return f.result()
}

// forecast is a Forecast in the making.
type forecast struct {
	*course
	*Forecast
	state    *state.State
	bounds   Bounds
	attempts int
	order    []poise.JobID // of those that wait at the beginning, by arrival
	waits    map[poise.JobID]*Expected
	starts   []poise.JobID
	alike    map[alike]*poise.Decision // the latest that placed nothing
}

// alike is what jobs that wait for the same have in common.
type alike struct {
	tenant poise.TenantID
	shape  uint32
}

// running takes over a task that runs at the beginning.
func (f *forecast) running(j *state.Job) {
	t := f.tasks.start(j, j.Task().Placed, j.RunTime)
	switch {
	case !t.ends:
		f.Endless++
	case t.end < f.now:
		f.Overdue++
	}
	if j.Yielding() {
		f.tasks.yield(j, max(j.Yield.Until, f.now))
	}
}

func (f *forecast) run() error {
	end := later(f.From, f.bounds.Horizon)
	for {
		if err := f.finish(); err != nil {
			return err
		}
		if err := f.over(); err != nil {
			return err
		}
		if err := f.pass(f.more); err != nil {
			return err
		}
		if f.Until = f.now; f.Cut != Done {
			return nil
		}
		at, ok := f.next()
		switch {
		case !ok:
			return nil
		case at > end:
			f.Until, f.Cut = end, AtHorizon
			return nil
		}
		f.now = at
	}
}

// more says whether another attempt may be made.
func (f *forecast) more() bool {
	switch {
	case f.attempts == f.bounds.Attempts:
		f.Cut = AtAttempts
	case f.bounds.Stop != nil && f.bounds.Stop():
		f.Cut = AtStop
	}
	return f.Cut == Done
}

func (f *forecast) attempted(s *loop.Settled) {
	f.attempts++
	decisions := s.Members
	if decisions == nil {
		decisions = []poise.Decision{s.Decision}
	}
	for i := range decisions {
		if e := f.waits[decisions[i].Job]; e != nil && (e.Decision == nil || e.Decision.Verdict != poise.Placed) {
			e.Decision = &decisions[i]
			e.First = cmp.Or(e.First, e.Decision)
		}
	}
	if d := &s.Decision; d.Verdict != poise.Placed {
		if j := f.state.Job(d.Job); j != nil {
			f.alike[alike{j.Tenant, j.Shape.ID}] = d
		}
	}
}

func (f *forecast) started(j *state.Job, t *task) {
	e := f.waits[j.ID]
	if e == nil || e.Placed {
		return
	}
	row, _ := j.Task().Row(f.state.View())
	e.Placed, e.Start, e.Node, e.Devices = true, t.at, f.state.View().Name(row), j.Task().Devices
	f.starts = append(f.starts, j.ID)
}

func (f *forecast) happened(ev poise.Event) {
	b, ok := ev.Body.(poise.JobPreempted)
	if e := f.waits[b.By]; ok && e != nil && !e.Placed {
		e.Preempts = append(e.Preempts, b.Job)
	}
}

func (f *forecast) stopped(poise.JobID, *task, bool) {}
func (f *forecast) ended(*state.Job, ending)         {}
func (f *forecast) eligible(*state.Job)              {}

func (f *forecast) missed(j *state.Job) {
	if e := f.waits[j.ID]; e != nil && !e.Placed {
		e.Over, e.Start = true, f.now
	}
}

func (f *forecast) result() (*Forecast, error) {
	rest := slices.DeleteFunc(f.order, func(id poise.JobID) bool { return f.waits[id].Placed })
	for _, id := range slices.Concat(f.starts, rest) {
		e := f.waits[id]
		if j := f.state.Job(id); e.Decision == nil && j != nil && !j.Blocked() {
			var err error
			if e.Decision, err = f.why(j); err != nil {
				return nil, err
			}
			e.First = e.Decision
		}
		f.Jobs = append(f.Jobs, *e)
	}
	return f.Forecast, nil
}

// why gives a decision on what a job asks for that waits, and was not tried here: as it
// was tried before, nothing that could help it happens here. It is nil where no more
// attempts may be made.
func (f *forecast) why(j *state.Job) (*poise.Decision, error) {
	kind := alike{j.Tenant, j.Shape.ID}
	if d := f.alike[kind]; d != nil {
		return d, nil
	}
	if f.attempts == f.bounds.Attempts || f.bounds.Stop != nil && f.bounds.Stop() {
		return nil, nil
	}
	var d poise.Decision
	var err error
	switch g := f.state.GangOf(j); {
	case f.state.Alone(j):
		d, err = f.loop.Try(j, f.now, sched.Brief)
	case !g.Ready():
		return nil, nil
	default:
		var plan sched.GangPlan
		plan, err = f.loop.TryGang(g.Members(), f.now, sched.Brief)
		d = plan.Decision
	}
	f.attempts++
	f.alike[kind] = &d
	return &d, err
}

// later adds a span to a time; at the end of time it stays there.
func later(t poise.Time, s poise.Span) poise.Time {
	if at := t + poise.Time(s); at >= t {
		return at
	}
	return math.MaxInt64
}
