package daemon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// gangDecision is the record of a decision that started a gang: one event, so one
// decision in the history, with those about the members behind the first.
type gangDecision struct {
	poise.Decision
	Members []poise.Decision `json:",omitempty"`
}

// decisionOn gives what a record of the history says of one job.
func decisionOn(body []byte, job string) (*poise.Decision, error) {
	var d gangDecision
	if err := json.Unmarshal(body, &d); err != nil {
		return nil, &poise.Error{Kind: poise.Internal, Op: "read a decision", Err: err}
	}
	if i := slices.IndexFunc(d.Members, func(m poise.Decision) bool { return string(m.Job) == job }); i >= 0 {
		return &d.Members[i], nil
	}
	return &d.Decision, nil
}

// placeGang commits the decision to start a gang.
func (c *core) placeGang(members []poise.Decision, snapshot uint64) error {
	body := poise.GangPlaced{Placements: make([]poise.Placement, len(members))}
	for i := range members {
		d := &members[i]
		body.Placements[i] = poise.Placement{Job: d.Job, Node: d.Node, Devices: d.Devices}
	}
	if err := c.event(body); err != nil {
		return fmt.Errorf("commit the decision about gang %q: %w", members[0].Gang.ID, err)
	}
	index, first := c.loop.State().Index(), c.jobs[members[0].Job]
	record, err := json.Marshal(gangDecision{members[0], members[1:]})
	if err != nil {
		return err
	}
	c.batch.Decisions = append(c.batch.Decisions, store.DecisionRow{
		Seq: index, Job: first.row.ID, Tenant: first.row.Tenant, Node: members[0].Node, Policy: members[0].Policy, At: int64(c.at),
		Snapshot: snapshot, Commit: index, Body: record,
	})
	for i := range members {
		live := c.jobs[members[i].Job]
		live.decision = &members[i]
		c.start(live, &members[i], c.placementID(fmt.Sprintf("p%d-%d", index, i), &live.spec), index)
	}
	return nil
}

// start takes note of a placement that is committed, and has its task bound.
func (c *core) start(live *liveJob, d *poise.Decision, placement string, index uint64) {
	live.place = store.PlacementRow{
		ID: placement, Job: live.row.ID, Node: d.Node, Devices: d.Devices, Placed: int64(c.at), State: stateStarting, Decision: index,
	}
	live.engine, live.over = c.engineOf(d.Node), new(atomic.Bool)
	live.class = c.classOf(d.Node)
	live.row.State, live.row.Node, live.row.Reason = stateStarting, d.Node, ""
	c.byPlace[live.place.ID] = d.Job
	delete(c.silent, d.Job)
	c.keep(live)
	c.batch.Placements = append(c.batch.Placements, live.place)
	c.bind(live)
}

// formGangs gives the gangs of a submission ids of their own, and refuses one that is
// not complete or contradicts itself.
func formGangs(specs []Spec, newID func() string) error {
	type known struct {
		id    string
		first *poise.Job
		seen  map[int32]bool
	}
	gangs, order := map[string]*known{}, []string{}
	for i := range specs {
		j := &specs[i].Job
		if j.Gang == nil {
			continue
		}
		given := j.Gang.ID
		k := gangs[given]
		if k == nil {
			k = &known{id: newID(), first: j, seen: map[int32]bool{}}
			gangs[given] = k
			order = append(order, given)
		}
		op := fmt.Sprintf("submit job %q", j.Name)
		first, own := *k.first.Gang, *j.Gang
		first.ID = given
		first.Name, own.Name = cmp.Or(first.Name, given), cmp.Or(own.Name, given)
		switch {
		case !first.Same(&own):
			return &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("gang %q: another size, min or topology than its other members have, expected the same", given)}
		case k.first.Priority != j.Priority:
			return &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("gang %q: priority: %d, expected %d as its other members have", given, j.Priority, k.first.Priority)}
		case k.seen[j.Gang.Index]:
			return &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("gang %q: index: %d a second time, expected each once", given, j.Gang.Index)}
		}
		k.seen[j.Gang.Index] = true
		own.ID = k.id
		j.Gang = &own
	}
	for _, given := range order {
		if k := gangs[given]; len(k.seen) != int(k.first.Gang.Size) {
			return &poise.Error{
				Kind: poise.Invalid, Op: fmt.Sprintf("submit gang %q", given),
				Detail: fmt.Sprintf("members: %d, expected all %d in one submission", len(k.seen), k.first.Gang.Size),
			}
		}
	}
	return nil
}

// beside gives the others of a gang that cannot start any more once one of them has
// ended: they end with it.
func (c *core) beside(live *liveJob) []*liveJob {
	j := c.loop.State().Job(live.spec.Job.ID)
	if j == nil {
		return nil
	}
	var others []*liveJob
	for _, m := range c.loop.EndWith(j) {
		others = append(others, c.jobs[m.ID])
	}
	return others
}

// whole gives what a group of jobs is as a whole: an array, or a gang in the form of
// one.
func (s *Spec) whole() *Array {
	if g := s.Job.Gang; g != nil {
		return &Array{ID: g.ID, Name: g.Name}
	}
	return s.Array
}

// decisionOn gives the latest decision on a job: that on its gang, where it waits with
// one.
func (c *core) decisionOn(live *liveJob) *poise.Decision {
	s := c.loop.State()
	if j := s.Job(live.spec.Job.ID); live.decision == nil && j != nil && !s.Alone(j) {
		return c.jobs[s.GangOf(j).Head().ID].decision
	}
	return live.decision
}
