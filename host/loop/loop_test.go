package loop

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// fataler is a test or a property.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// driver drives a loop: it applies events and carries work out when told.
type driver struct {
	t     fataler
	loop  *Loop
	index uint64
	now   poise.Time
	jobs  int
	nodes int
	away  []*Work // planned or not, and not settled
	again int     // decisions that were overtaken
	owned bool    // the tenant "own" has a lane of its own

	seen    func(poise.Body)      // told of every event, may be nil
	placing func(poise.Placement) // what to check before each placement, may be nil
}

func spread(t fataler) *balance.Spread {
	t.Helper()
	s, err := balance.NewSpread(nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newDriver opens a lane here and one away.
func newDriver(t fataler) *driver {
	t.Helper()
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{t: t}
	l, err := New(s, Settings{
		Queue: queue.Defaults(), Params: balance.Defaults(), LaneOf: func(tenant poise.TenantID) string { return d.laneOf(string(tenant)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Open("here", sched.Policy{Name: "here", Scorer: spread(t)}, false)
	l.Open("away", sched.Policy{Name: "away", Scorer: spread(t), OnFailure: sched.Reject}, true)
	d.loop = l
	return d
}

// laneOf is the lane of a tenant: its own, where it is open.
func (d *driver) laneOf(tenant string) string {
	if tenant == "own" && !d.owned {
		return "here"
	}
	return tenant
}

func (d *driver) apply(body poise.Body) {
	d.t.Helper()
	d.index++
	if err := d.loop.Apply(poise.Event{Index: d.index, At: d.now, Body: body}); err != nil {
		d.t.Fatal(err)
	}
	if d.seen != nil {
		d.seen(body)
	}
}

func (d *driver) join(cpu int64) string {
	d.nodes++
	name := fmt.Sprint("n", d.nodes)
	d.apply(poise.NodeJoined{Node: poise.Node{Name: name, Capacity: resource.List{{Name: "cpu", Value: cpu}}}})
	return name
}

func (d *driver) submit(tenant string, cpu int64) poise.JobID {
	d.jobs++
	id := poise.JobID(fmt.Sprint("j", d.jobs))
	d.apply(poise.JobSubmitted{Job: poise.Job{
		ID: id, Name: "j", Tenant: poise.TenantID(tenant), Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: cpu}}},
	}})
	return id
}

// next takes work; what may be away is kept, the other settled at once.
func (d *driver) next() bool {
	d.t.Helper()
	w := d.loop.Next(d.now)
	if w == nil {
		return false
	}
	w.Plan(sched.Brief)
	if w.Away {
		d.away = append(d.away, w)
		return true
	}
	d.settle(w)
	return true
}

func (d *driver) settle(w *Work) {
	d.t.Helper()
	s, err := d.loop.Settle(w, d.now, sched.Brief)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, body := range s.Events {
		d.apply(body)
	}
	switch {
	case s.Again != nil:
		d.again++
		s.Again.Plan(sched.Brief)
		d.away = append(d.away, s.Again)
	case s.Dropped:
	case s.Members != nil:
		var b poise.GangPlaced
		for _, m := range s.Members {
			b.Placements = append(b.Placements, poise.Placement{Job: m.Job, Node: m.Node, Devices: m.Devices})
		}
		d.apply(b)
	case s.Decision.Verdict == poise.Placed:
		if miss := d.loop.state.OverQuota(d.loop.state.Job(s.Decision.Job)); miss != nil {
			d.t.Fatalf("job %s is placed and over quota: %+v", s.Decision.Job, miss)
		}
		p := poise.Placement{Job: s.Decision.Job, Node: s.Decision.Node, Devices: s.Decision.Devices}
		if d.placing != nil {
			d.placing(p)
		}
		d.apply(poise.JobPlaced{Placement: p})
	}
}

// land settles the work that is away.
func (d *driver) land() {
	for len(d.away) > 0 {
		w := d.away[0]
		d.away = d.away[1:]
		d.settle(w)
	}
}

// own gives the tenant "own" a lane, or takes it away.
func (d *driver) own(on bool) {
	if d.owned = on; on {
		d.loop.Open("own", sched.Policy{Name: "own", Scorer: spread(d.t)}, true)
	} else {
		d.loop.Close("own")
	}
}

// A lane that rests plans nothing before its time, and says when that is.
func TestRest(t *testing.T) {
	d := newDriver(t)
	d.join(4000)
	id := d.submit("here", 1000)
	d.loop.Rest("here", d.now+50)
	if at, ok := d.loop.NextWake(d.now); d.next() || at != d.now+50 || !ok {
		t.Errorf("wakes at %d %v, expected %d and nothing planned before", at, ok, d.now+50)
	}
	d.now += 50
	d.quiet()
	if d.loop.State().Job(id).Waiting() {
		t.Error("waits, expected to be placed after the rest")
	}
	// The clock is set back by an hour meanwhile, and to before 1970.
	for _, back := range []poise.Time{d.now, 1_000_000} {
		id = d.submit("here", 1000)
		d.loop.Rest("here", d.now+50)
		d.now -= back + 3_600_000
		if !d.next() || d.loop.State().Job(id).Waiting() {
			t.Errorf("at %d: waits, expected the rest to be over", d.now)
		}
	}
}

// A job that comes after others is not tried before both have ended, however they
// do.
func TestAfter(t *testing.T) {
	d := newDriver(t)
	d.join(4000)
	first, second := d.submit("here", 1000), d.submit("away", 5000)
	d.apply(poise.JobSubmitted{Job: poise.Job{ID: "last", Name: "last", Tenant: "here", Tasks: 1, After: []poise.JobID{first, second}}})
	waits := func(want bool) {
		t.Helper()
		d.quiet()
		if got := d.loop.State().Job("last").Waiting(); got != want {
			t.Errorf("waits: %v, expected %v", got, want)
		}
	}
	waits(true)
	d.apply(poise.JobFinished{Job: first})
	waits(true)
	d.apply(poise.JobWithdrawn{Job: second})
	waits(false)
}

// quiet lets everything happen that can.
func (d *driver) quiet() {
	for _, lane := range d.loop.lanes {
		if lane.until {
			d.now = max(d.now, lane.rest)
		}
	}
	for d.next() || len(d.away) > 0 {
		d.land()
	}
}

// A lane that is away holds nobody up, and plans one job at a time.
func TestLanes(t *testing.T) {
	d := newDriver(t)
	d.join(4000)
	first, second, other := d.submit("away", 1000), d.submit("away", 1000), d.submit("here", 1000)
	for d.next() {
	}
	if len(d.away) != 1 || d.loop.State().Job(other).Waiting() {
		t.Fatalf("%d pieces of work away, the other lane's job waits: %v, expected 1 and no", len(d.away), d.loop.State().Job(other).Waiting())
	}
	d.quiet()
	for _, id := range []poise.JobID{first, second} {
		if d.loop.State().Job(id).Waiting() {
			t.Errorf("job %s waits", id)
		}
	}
	if d.again != 1 {
		t.Errorf("%d decisions were made again, expected the one that the other job overtook", d.again)
	}
}

// A node that changes each time is asked about three times; then the failure
// rule decides, and the job waits for the next event.
func TestOvertaken(t *testing.T) {
	d := newDriver(t)
	node := d.join(4000)
	id := d.submit("away", 1000)
	d.next()
	for i := range 3 {
		d.apply(poise.NodeMarked{Name: node, NotReady: false})
		w := d.away[0]
		d.away = nil
		d.settle(w)
		if want := i < 2; (len(d.away) == 1) != want {
			t.Fatalf("round %d: planned again: %v, expected %v", i, !want, want)
		}
	}
	if !d.loop.State().Job(id).Waiting() {
		t.Fatal("placed, expected to wait for its policy")
	}
	d.apply(poise.NodeMarked{Name: node})
	d.quiet()
	if d.loop.State().Job(id).Waiting() {
		t.Error("waits, expected to be placed once the node stands still")
	}
}

// costly is a scorer that has used fuel each time.
type costly struct{ *balance.Spread }

func (costly) Use() poise.PluginUse { return poise.PluginUse{Name: "costly", Fuel: 7} }

// What was planned in vain has cost its fuel all the same, each attempt once.
func TestOvertakenIsCharged(t *testing.T) {
	d := newDriver(t)
	d.loop.Open("away", sched.Policy{Name: "away", Scorer: costly{spread(t)}, OnFailure: sched.Reject}, true)
	node := d.join(4000)
	d.submit("away", 1000)
	w := d.loop.Next(d.now)
	spent := int64(0)
	for w != nil {
		w.Plan(sched.Brief)
		d.apply(poise.NodeMarked{Name: node})
		s, err := d.loop.Settle(w, d.now, sched.Brief)
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range append(s.Voided, s.Decision.Plugins...) {
			spent += use.Fuel
		}
		w = s.Again
	}
	if spent != 3*7 {
		t.Errorf("%d units, expected those of three attempts", spent)
	}
}

// What a lane planned under its old policy is dropped and planned again.
func TestNewPolicy(t *testing.T) {
	d := newDriver(t)
	d.join(4000)
	id := d.submit("away", 1000)
	d.next()
	d.loop.Open("away", sched.Policy{Name: "other", Scorer: spread(t)}, true)
	d.land()
	if !d.loop.State().Job(id).Waiting() {
		t.Fatal("a decision of the old policy was committed")
	}
	d.quiet()
	if d.loop.State().Job(id).Waiting() {
		t.Error("the job waits, expected the new policy to place it")
	}
}

// However events and answers fall, every job is somewhere, nothing is refused,
// and at rest no job waits that could be placed.
func TestLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t)
		d.join(4000)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			d.now += poise.Time(rapid.IntRange(0, 20_000).Draw(t, "passes"))
			switch rapid.IntRange(0, 12).Draw(t, "step") {
			case 0:
				d.join(rapid.Int64Range(0, 4000).Draw(t, "cpu"))
			case 1:
				name := fmt.Sprint("n", rapid.IntRange(1, d.nodes).Draw(t, "marked"))
				if _, ok := d.loop.State().Row(name); ok {
					d.apply(poise.NodeMarked{Name: name, Drained: rapid.Bool().Draw(t, "drained")})
				}
			case 2:
				name := fmt.Sprint("n", rapid.IntRange(1, d.nodes).Draw(t, "leaves"))
				if _, ok := d.loop.State().Row(name); ok {
					d.apply(poise.NodeLeft{Name: name})
				}
			case 3, 4:
				id := poise.JobID(fmt.Sprint("j", rapid.IntRange(1, max(d.jobs, 1)).Draw(t, "job")))
				switch j := d.loop.State().Job(id); {
				case j == nil:
				case j.Waiting():
					d.apply(poise.JobWithdrawn{Job: id})
				case rapid.Bool().Draw(t, "requeued"):
					d.apply(poise.JobRequeued{Job: id})
				default:
					d.apply(poise.JobFinished{Job: id})
				}
			case 5, 6:
				d.submit(rapid.SampledFrom([]string{"here", "away", "own"}).Draw(t, "tenant"), rapid.Int64Range(0, 5000).Draw(t, "asks"))
			case 7:
				d.land()
			case 8:
				d.own(!d.owned)
			case 9:
				d.loop.Rest(rapid.SampledFrom([]string{"here", "away", "own"}).Draw(t, "lane"), d.now+rapid.SampledFrom([]poise.Time{0, 1, 100}).Draw(t, "rest"))
			default:
				d.next()
			}
			d.checkPlaces(t)
		}
		d.quiet()
		d.checkPlaces(t)
		for _, j := range d.loop.State().Waiting() {
			lane := d.loop.lanes[d.laneOf(string(j.Tenant))]
			decision, err := lane.pipeline.Plan(d.loop.State().View(), j, sched.Pass{Detail: sched.Brief})
			if err != nil || decision.Verdict == poise.Placed {
				t.Fatalf("job %s waits and fits on %s (%v)", j.ID, decision.Node, err)
			}
		}
	})
}

// checkPlaces checks that each waiting job is in one queue or away, once.
func (d *driver) checkPlaces(t *rapid.T) {
	places := map[poise.JobID]int{}
	for _, item := range d.loop.Queued() {
		places[item.Job]++
	}
	for _, w := range d.away {
		places[w.Job.ID]++
	}
	for _, j := range d.loop.State().Waiting() {
		if places[j.ID] != 1 {
			t.Fatalf("job %s waits in %d places, expected one", j.ID, places[j.ID])
		}
	}
}
