package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"pgregory.net/rapid"
)

// machine drives a state and the model with the same events.
type machine struct {
	*driver
	m        *model
	kept     []keptSnapshot
	versions []uint64 // per row, at the last check
	nextJob  int
	moment   *Moment // taken with the latest snapshot
	image    string  // that it gave then
}

// keptSnapshot is a snapshot with what it said when it was taken.
type keptSnapshot struct {
	snap  *Snapshot
	text  string
	ranks []uint64
}

func keep(s *Snapshot) keptSnapshot { return keptSnapshot{s, dump(s), rankNumbers(s)} }

func (k *keptSnapshot) check(t fataler) {
	t.Helper()
	if text := dump(k.snap); text != k.text || !slices.Equal(k.ranks, rankNumbers(k.snap)) {
		t.Fatalf("a snapshot changed under its reader from\n%s\nto\n%s", k.text, text)
	}
}

func rankNumbers(s *Snapshot) []uint64 {
	var ranks []uint64
	for row := range uint32(s.Rows()) {
		ranks = append(ranks, s.Rank(row))
	}
	return ranks
}

// apply gives an event to both sides and checks that they agree on whether it
// applies; a refused one leaves all as it was.
func (c *machine) apply(t *rapid.T, body poise.Body) {
	kind, ok := c.m.apply(body, c.now+1)
	before := ""
	if !ok {
		before = dumpState(c.State)
	}
	err := c.try(body)
	if (err == nil) != ok || err != nil && poise.KindOf(err) != kind {
		t.Fatalf("%+v: %v, expected ok %v or %s", body, err, ok, kind)
	}
	if err == nil {
		return
	}
	if after := dumpState(c.State); after != before {
		t.Fatalf("%+v was refused (%v) and changed the state from\n%s\nto\n%s", body, err, before, after)
	}
}

var (
	someNodes = rapid.SampledFrom([]string{"a", "ab", "b", "n-10", "n-9", "n-9/0", "ä", "z"})
	wanted    = rapid.OneOf(rapid.Int64Range(0, 4), rapid.Int64Range(0, 4), rapid.SampledFrom([]int64{1 << 20, 1<<20 + 1, math.MaxInt64}))
	offered   = rapid.OneOf(rapid.Int64Range(0, 20), rapid.SampledFrom([]int64{1 << 21, math.MaxInt64 - 1, math.MaxInt64}))
	someModel = rapid.SampledFrom([]string{"", "A100", "H100"})
)

// rarely is true once in so many times; a shrunk case says no.
func rarely(t *rapid.T, label string, times int) bool {
	return rapid.IntRange(1, times).Draw(t, label) == times
}

// someAmounts draws amounts of some of the names, now and then an invalid one.
func someAmounts(t *rapid.T, values *rapid.Generator[int64], odds int, names ...string) resource.List {
	var l resource.List
	for _, name := range names {
		if !rarely(t, "without "+name, odds) {
			l = append(l, resource.Amount{Name: name, Value: values.Draw(t, name)})
		}
	}
	if len(l) > 0 && rarely(t, "invalid amount", 30) {
		l[0].Value = -1
	}
	return l
}

func someNode(t *rapid.T) poise.Node {
	n := poise.Node{
		Name:     someNodes.Draw(t, "node"),
		Cluster:  rapid.SampledFrom([]string{"", "east"}).Draw(t, "cluster"),
		Capacity: someAmounts(t, offered, 4, "cpu", "fpga", "memory", "storage"),
		NotReady: rapid.Bool().Draw(t, "not ready"), Drained: rapid.Bool().Draw(t, "drained"),
	}
	if count := rapid.Int32Range(0, 4).Draw(t, "devices"); count > 0 {
		n.Devices = poise.Devices{
			Kind: rapid.SampledFrom([]string{"gpu", "gpu", "gpu", "npu"}).Draw(t, "kind"), Model: someModel.Draw(t, "model"),
			Count: count, Exclusive: rapid.Bool().Draw(t, "exclusive"),
		}
	}
	if rapid.Bool().Draw(t, "labelled") {
		n.Labels = []poise.Label{{Key: "zone", Value: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "zone")}}
		if rapid.Bool().Draw(t, "classed") {
			n.Labels = []poise.Label{{Key: poise.ClassLabel, Value: rapid.SampledFrom([]string{"big", "small"}).Draw(t, "class")}, n.Labels[0]}
		}
		n.Taints = []poise.Taint{{Key: "gpu", Effect: poise.NoSchedule}}
	}
	return n
}

func (c *machine) someJob(t *rapid.T) poise.Job {
	id := c.nextJob
	if id > 0 && rarely(t, "id used before", 8) {
		id = rapid.IntRange(0, c.nextJob-1).Draw(t, "job")
	} else {
		c.nextJob++
	}
	r := poise.Request{Amounts: someAmounts(t, wanted, 2, "cpu", "memory", "storage")}
	if rarely(t, "wants what nobody declares", 20) {
		r.Amounts = resource.List{{Name: "qat", Value: wanted.Draw(t, "qat")}}
	}
	j := job(fmt.Sprint("j", id), r)
	j.Tenant = rapid.SampledFrom(someTenants[:2]).Draw(t, "tenant")
	if rarely(t, "comes after another", 6) {
		j.After = []poise.JobID{c.someJobID(t, false)}
	}
	j.Priority = rapid.Int32Range(-1, 1).Draw(t, "priority")
	if rarely(t, "has a life", 3) {
		j.StartBy, j.FinishBy = poise.Time(rapid.IntRange(0, 4).Draw(t, "start by")), poise.Time(rapid.IntRange(0, 9).Draw(t, "finish by"))
		j.RunTime = poise.Span(rapid.IntRange(0, 3).Draw(t, "run time"))
		j.Held = rapid.SampledFrom([]string{"", "bob"}).Draw(t, "held")
		j.Labels = []poise.Label{{Key: "team", Value: "a"}}
		j.Retry = &poise.Retry{Limit: 2, Backoff: 1, MaxBackoff: 4}
	}
	if rapid.Bool().Draw(t, "wants device") {
		d := poise.DeviceRequest{Kind: rapid.SampledFrom([]string{"gpu", "gpu", "gpu", "npu"}).Draw(t, "kind"), Count: 1}
		if d.Milli = rapid.SampledFrom([]int32{1, 111, 500, 1000}).Draw(t, "milli"); d.Milli == 1000 {
			d.Count = rapid.Int32Range(1, 4).Draw(t, "count")
		}
		if rarely(t, "model asked", 5) {
			d.Models = []string{"H100"}
		}
		j.Request.Device = d
	}
	switch rapid.IntRange(0, 5).Draw(t, "pod") {
	case 1:
		j.Pod = somePod(t)
	case 2:
		j.Selectors = []poise.Selector{{Key: poise.ClusterLabel, Op: poise.Exists}}
	}
	if rarely(t, "selects", 5) {
		j.Selectors = []poise.Selector{{Key: "zone", Op: poise.In, Values: []string{"x"}}}
		j.Tolerations = []poise.Toleration{{Key: "gpu", Exists: true}}
	}
	return j
}

// someJobID gives the id of a job that waits or runs, rarely of any other.
func (c *machine) someJobID(t *rapid.T, waiting bool) poise.JobID {
	var ids []poise.JobID
	for id, j := range c.m.jobs {
		if (j.on == nil) == waiting {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || rarely(t, "any job", 8) {
		return poise.JobID(fmt.Sprint("j", rapid.IntRange(0, c.nextJob).Draw(t, "job")))
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "job")
}

// nodeName gives the name of a node that is there, rarely of any other.
func (c *machine) nodeName(t *rapid.T) string {
	if len(c.m.nodes) == 0 || rarely(t, "any node", 8) {
		return someNodes.Draw(t, "node")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(c.m.nodes))).Draw(t, "node")
}

func (c *machine) join(t *rapid.T) {
	for range rapid.IntRange(1, 3).Draw(t, "nodes") {
		c.apply(t, poise.NodeJoined{Node: someNode(t)})
	}
}

func (c *machine) change(t *rapid.T) {
	n := someNode(t)
	n.Name = c.nodeName(t)
	c.apply(t, poise.NodeChanged{Node: n})
}

func (c *machine) leave(t *rapid.T) { c.apply(t, poise.NodeLeft{Name: c.nodeName(t)}) }

func (c *machine) mark(t *rapid.T) {
	c.apply(t, poise.NodeMarked{Name: c.nodeName(t), NotReady: rapid.Bool().Draw(t, "not ready"), Drained: rapid.Bool().Draw(t, "drained")})
}

func (c *machine) submit(t *rapid.T) {
	for range rapid.IntRange(1, 4).Draw(t, "jobs") {
		c.apply(t, poise.JobSubmitted{Job: c.someJob(t)})
	}
}

// place tries jobs on nodes, most of the time where the model says that they
// fit, rarely with devices drawn at random.
func (c *machine) place(t *rapid.T) {
	for range rapid.IntRange(1, 6).Draw(t, "tries") {
		p := poise.Placement{Job: c.someJobID(t, true), Node: c.nodeName(t)}
		j := c.m.jobs[p.Job]
		if j != nil && !rarely(t, "wild node", 4) {
			for _, name := range slices.Sorted(maps.Keys(c.m.nodes)) {
				if n := c.m.nodes[name]; c.m.fits(j, n, c.m.devices(j, n)) {
					p.Node = name
				}
			}
		}
		if n := c.m.nodes[p.Node]; j != nil && n != nil && !rarely(t, "wild devices", 8) {
			p.Devices = c.m.devices(j, n)
		} else {
			p.Devices = rapid.SliceOfN(rapid.Uint16Range(0, 5), 0, 3).Draw(t, "devices")
		}
		c.apply(t, poise.JobPlaced{Placement: p})
	}
}

func (c *machine) finish(t *rapid.T)   { c.apply(t, poise.JobFinished{Job: c.someJobID(t, false)}) }
func (c *machine) hold(t *rapid.T)     { c.apply(t, poise.JobHeld{Job: c.someJobID(t, true), By: "ann"}) }
func (c *machine) release(t *rapid.T)  { c.apply(t, poise.JobReleased{Job: c.someJobID(t, true)}) }
func (c *machine) withdraw(t *rapid.T) { c.apply(t, poise.JobWithdrawn{Job: c.someJobID(t, true)}) }

func (c *machine) requeue(t *rapid.T) {
	c.apply(t, poise.JobRequeued{
		Job: c.someJobID(t, false), Failed: rapid.Bool().Draw(t, "failed"), NotBefore: poise.Time(rapid.IntRange(0, 3).Draw(t, "not before")),
	})
}

func (c *machine) prioritise(t *rapid.T) {
	c.apply(t, poise.JobPrioritySet{Job: c.someJobID(t, rapid.Bool().Draw(t, "waiting")), Priority: rapid.Int32().Draw(t, "priority"), By: "ann"})
}

func (c *machine) profile(t *rapid.T) {
	c.apply(t, poise.ProfileBuilt{Profiles: []*poise.Profile{{Kind: "gpu", Epoch: c.m.epoch + 1}, {Kind: "npu", Epoch: c.m.epoch + 1}}})
}

func (c *machine) snapshot(t *rapid.T) {
	c.moment, c.image = c.Moment(), imageText(t, c.State)
	c.kept = append(c.kept, keep(c.Snapshot()))
	if len(c.kept) > 4 {
		c.kept = slices.Delete(c.kept, 1, 2) // the first stays to the end
	}
}

// flap marks one node so often that the change log is cut.
func (c *machine) flap(t *rapid.T) {
	if len(c.m.nodes) == 0 || !rarely(t, "flap", 8) {
		t.Skip("no node flaps")
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(c.m.nodes))).Draw(t, "node")
	for i := range rapid.IntRange(1000, 5000).Draw(t, "times") {
		b := poise.NodeMarked{Name: name, NotReady: i%2 == 0}
		c.do(t, b)
		c.m.apply(b, c.now)
	}
}

// replayed applies the events that applied to a new state.
func (c *machine) replayed(t *rapid.T) {
	again := newDriver(t, c.m.halfLife)
	for _, ev := range c.log {
		if err := again.Apply(ev); err != nil {
			t.Fatalf("event %d applied the first time: %v", ev.Index, err)
		}
	}
	if got, want := dumpState(again.State), dumpState(c.State); got != want {
		t.Fatalf("a replay gives\n%s\nexpected\n%s", got, want)
	}
}

// lasted checks that what happened since did not change the moment taken last.
func (c *machine) lasted(t *rapid.T) {
	text, err := json.Marshal(c.moment.Image())
	if err != nil || string(text) != c.image {
		t.Fatalf("a moment gives %v\n%s\nat the time it was\n%s", err, text, c.image)
	}
}

// drain ends all jobs: nothing stays allocated and no shape is in use.
func (c *machine) drain(t *rapid.T) {
	for _, id := range slices.Sorted(maps.Keys(c.m.jobs)) {
		body := poise.Body(poise.JobWithdrawn{Job: id})
		if c.m.jobs[id].on != nil {
			body = poise.JobFinished{Job: id}
		}
		c.apply(t, body)
	}
	for _, id := range slices.Sorted(maps.Keys(c.m.occupants)) {
		c.apply(t, poise.NodeVacated{ID: id})
	}
	c.check(t)
	if n := len(c.podKinds.byKey); n != 0 {
		t.Fatalf("%d kinds of pods left", n)
	}
	s := c.View()
	for row := range uint32(s.Rows()) {
		for d := range s.Dims() {
			if s.Present(row) && s.Allocated(row, d) != 0 {
				t.Fatalf("%s: %d of %s allocated by no job", s.Name(row), s.Allocated(row, d), s.Dims()[d])
			}
		}
	}
	if c.Shapes() != 0 || c.Jobs() != 0 {
		t.Fatalf("%d jobs of %d shapes left", c.Jobs(), c.Shapes())
	}
}

// Invariant 1 of the field cases (B4, B7, B44, B45): whatever happens, in
// whatever order, the state says what adding up the live tasks says. Beside it:
// a refused event changes nothing, a snapshot never changes, versions and the
// change log tell every change, ranks order as names do, and a replay gives the
// same state.
// rested cuts the log anywhere, writes the State of that moment down, reads it
// again, and goes on with the rest of the log: it must end as the one that was
// never written down.
func (c *machine) rested(t *rapid.T) {
	cut := rapid.IntRange(0, len(c.log)).Draw(t, "cut")
	s, err := New(Settings{DemandHalfLife: c.m.halfLife})
	if err != nil {
		t.Fatal(err)
	}
	for i, ev := range c.log {
		if i == cut {
			s = writtenDown(t, s, c.m.halfLife)
		}
		if err := s.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := content(s.View()), content(c.View()); got != want {
		t.Fatalf("written down after %d events the nodes are\n%s\nexpected\n%s", cut, got, want)
	}
	if got, want := imageText(t, s), imageText(t, c.State); got != want {
		t.Fatalf("written down after %d events the image is\n%s\nexpected\n%s", cut, got, want)
	}
}

func imageText(t fataler, s *State) string {
	text, err := json.Marshal(s.Image())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writtenDown(t fataler, s *State, halfLife float64) *State {
	im := &Image{}
	if err := json.Unmarshal([]byte(imageText(t, s)), im); err != nil {
		t.Fatal(err)
	}
	im.Classes = s.View().Classes()
	again, err := FromImage(im, Settings{DemandHalfLife: halfLife})
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestStateIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		halfLife := rapid.SampledFrom([]float64{0, 0, 3, 50}).Draw(t, "half-life")
		c := &machine{driver: newDriver(t, halfLife), m: newModel(halfLife)}
		c.m.declared = c.declared
		c.join(t)
		c.submit(t)
		c.snapshot(t)
		actions := map[string]func(*rapid.T){
			"join": c.join, "change": c.change, "mark": c.mark, "leave": c.leave, "submit": c.submit, "submit2": c.submit,
			"place": c.place, "place2": c.place, "place3": c.place, "finish": c.finish, "requeue": c.requeue,
			"withdraw": c.withdraw, "hold": c.hold, "release": c.release, "prioritise": c.prioritise, "profile": c.profile, "adopt": c.adoptJob, "snapshot": c.snapshot, "flap": c.flap,
			"enlist": c.enlist, "place gang": c.placeGang, "enlist2": c.enlist, "preempt": c.preempt, "spare": c.spare, "reserve": c.reserve,
			"end reservation": c.endReservation, "set tenant": c.setTenant, "remove tenant": c.removeTenant,
			"occupy": c.occupy, "occupy2": c.occupy, "vacate": c.vacate, "set space": c.setSpace, "ending": c.ending, "": c.check,
		}
		for range 2 { // a Repeat is some thirty actions long
			t.Repeat(actions)
		}
		c.replayed(t)
		c.rested(t)
		c.lasted(t)
		c.drain(t)
		c.lasted(t)
	})
}
