package state

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

var someTenants = []poise.TenantID{"t", "u", "v"}

// enlist has jobs come that are members of one gang, rarely not all of them, or one
// that contradicts the others, and then what may become of such.
func (c *machine) enlist(t *rapid.T) {
	gang := poise.Gang{ID: fmt.Sprint("g", rapid.IntRange(0, 3).Draw(t, "gang")), Size: rapid.Int32Range(2, 4).Draw(t, "size")}
	gang.Min = rapid.Int32Range(0, gang.Size).Draw(t, "min")
	like := c.someJob(t)
	if rapid.Bool().Draw(t, "small") { // it may fit
		like = job("", poise.Request{Amounts: amounts("cpu", rapid.IntRange(0, 1).Draw(t, "cpu"))})
	}
	for i := range gang.Size {
		member := gang
		member.Index = i
		switch rapid.IntRange(0, 20).Draw(t, "odd") {
		case 0:
			member.Index = 0
		case 1:
			member.Size++
		case 2:
			continue
		}
		j := like
		j.ID, j.Gang, j.Tasks = poise.JobID(fmt.Sprint("j", c.nextJob)), &member, member.Size
		c.nextJob++
		c.apply(t, poise.JobSubmitted{Job: j})
	}
	c.placeGang(t)
	for range rapid.IntRange(0, 6).Draw(t, "events") {
		rapid.SampledFrom([]func(*rapid.T){c.preempt, c.preempt, c.spare, c.requeue, c.requeue, c.place, c.finish, c.reserve}).Draw(t, "event")(t)
	}
}

// placeGang places a gang that may be ready, member by member where the model says
// that they fit; rarely one too few, or in another order.
func (c *machine) placeGang(t *rapid.T) {
	var gangs []*modelJob
	for _, id := range slices.Sorted(maps.Keys(c.m.jobs)) {
		if j := c.m.jobs[id]; j.Gang != nil && (c.m.gangReady(j) || rarely(t, "not ready", 20)) {
			gangs = append(gangs, j)
		}
	}
	if len(gangs) == 0 {
		return
	}
	of := rapid.SampledFrom(gangs).Draw(t, "gang")
	var placements []poise.Placement
	var tried []*modelJob
	for _, j := range c.m.members(of) {
		if j.Gang.Extra() && rapid.Bool().Draw(t, "later") {
			continue
		}
		p := poise.Placement{Job: j.ID, Node: c.nodeName(t)}
		for _, name := range slices.Sorted(maps.Keys(c.m.nodes)) {
			if n := c.m.nodes[name]; j.on == nil && c.m.fits(j, n, c.m.devices(j, n)) {
				p.Node, p.Devices = name, c.m.devices(j, n)
				// The next member finds less.
				j.on = &modelTask{node: name, incarnation: n.incarnation, devices: p.Devices}
				tried = append(tried, j)
				break
			}
		}
		placements = append(placements, p)
	}
	for _, j := range tried {
		j.on = nil
	}
	switch rapid.IntRange(0, 15).Draw(t, "odd") {
	case 0:
		placements = placements[min(1, len(placements)):]
	case 1:
		slices.Reverse(placements)
	case 2:
		placements = append(placements, placements[:min(1, len(placements))]...)
	}
	c.apply(t, poise.GangPlaced{Placements: placements})
}

func (c *machine) preempt(t *rapid.T) {
	c.apply(t, poise.JobPreempted{Job: c.someJobID(t, false), By: c.someJobID(t, true), Until: poise.Time(rapid.IntRange(0, 5).Draw(t, "until"))})
}

func (c *machine) spare(t *rapid.T) {
	c.apply(t, poise.JobSpared{Job: c.someJobID(t, false), Until: poise.Time(rapid.IntRange(0, 5).Draw(t, "until"))})
}

func (c *machine) reserve(t *rapid.T) {
	made := poise.ReservationMade{Job: c.someJobID(t, true), Start: poise.Time(rapid.IntRange(0, 5).Draw(t, "start"))}
	if rarely(t, "wrong start", 20) {
		made.Start = -1
	}
	for range rapid.IntRange(0, 3).Draw(t, "nodes") {
		made.Nodes = append(made.Nodes, c.nodeName(t))
	}
	c.apply(t, made)
}

func (c *machine) endReservation(t *rapid.T) {
	id := c.someJobID(t, true)
	if len(c.m.reserved) > 0 && !rarely(t, "any job", 4) {
		id = rapid.SampledFrom(c.m.reserved).Draw(t, "reservation").job
	}
	c.apply(t, poise.ReservationEnded{Job: id})
}

func (c *machine) setTenant(t *rapid.T) {
	set := poise.Tenant{
		ID:     rapid.SampledFrom(someTenants).Draw(t, "tenant"),
		Parent: rapid.SampledFrom(append([]poise.TenantID{"", ""}, someTenants...)).Draw(t, "parent"),
	}
	for _, name := range poolNames {
		if rapid.Bool().Draw(t, name) {
			set.Quotas = append(set.Quotas, poise.Quota{Resource: name, Guaranteed: 1, Limit: 5})
		}
	}
	c.apply(t, poise.TenantSet{Tenant: set})
}

func (c *machine) removeTenant(t *rapid.T) {
	c.apply(t, poise.TenantRemoved{Tenant: rapid.SampledFrom(someTenants).Draw(t, "tenant")})
}

// checkGangs compares gangs, who makes room for whom, what is kept, and the pools.
func (c *machine) checkGangs(t *rapid.T) {
	extras := 0
	yielding := map[poise.JobID]int{}
	for id, want := range c.m.jobs {
		j := c.Job(id)
		if got, want := c.GangOf(j).modelText(), c.m.group(want); got != want {
			t.Fatalf("job %s: %s, expected %s", id, got, want)
		}
		if got, want := fmt.Sprintf("%+v", j.Yield), fmt.Sprintf("%+v", want.yield); got != want {
			t.Fatalf("job %s: %s, expected %s", id, got, want)
		}
		if want.on != nil && want.Gang != nil && want.Gang.Extra() {
			extras++
		}
		if by := want.yield.By; by != "" {
			yielding[by]++
		}
	}
	for by, n := range yielding {
		if got := len(c.Yielding(by)); got != n {
			t.Fatalf("%d make room for %s, expected %d", got, by, n)
		}
	}
	if c.Extras() != extras || len(c.yields) != len(yielding) {
		t.Fatalf("%d extra members run, %d are made room for, expected %d and %d", c.Extras(), len(c.yields), extras, len(yielding))
	}
	reserved := ""
	for _, r := range c.View().Reservations() {
		reserved += r.modelText()
	}
	if want := c.m.reservations(); reserved != want {
		t.Fatalf("reserved:\n%sexpected:\n%s", reserved, want)
	}
	if got, want := c.poolText(someTenants), c.m.pools(someTenants); got != want {
		t.Fatalf("pools:\n%sexpected:\n%s", got, want)
	}
	if !nothingMore.zero() {
		t.Fatalf("what jobs share was written: %+v", *nothingMore)
	}
}
