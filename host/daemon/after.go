package daemon

import (
	"context"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// How a job comes after another: once that has succeeded, ended, or ended
// otherwise than well.
const (
	afterWell    = "after"
	afterEnd     = "after_any"
	afterFailure = "after_failure"
)

// need is what a job comes after, as it was given and what that means: jobs of the
// same submission by their place, or what the history has of others.
type need struct {
	field, text string
	inside      []int
	outside     []store.JobRow
}

// refuse says what is wrong with what a job comes after.
func (n *need) refuse(kind poise.Kind, job, detail string) error {
	return &poise.Error{Kind: kind, Op: fmt.Sprintf("submit job %q", job), Detail: fmt.Sprintf("%s: job %q %s", n.field, n.text, detail)}
}

// needsOf gives what a job comes after, as it was given.
func (s *Spec) needsOf() []need {
	var all []need
	for _, list := range []struct {
		field string
		names []string
	}{{afterWell, s.After}, {afterEnd, s.AfterAny}, {afterFailure, s.AfterFailure}} {
		for _, text := range list.names {
			all = append(all, need{field: list.field, text: text})
		}
	}
	return all
}

// unmet says why a job can not run any more now that one of this name that it comes
// after has ended in this state, "" where it can.
func (s *Spec) unmet(id poise.JobID, name, state string) string {
	switch {
	case s.Met(id, state == stateSucceeded):
		return ""
	case state == stateSucceeded:
		return fmt.Sprintf("it comes after the failure of job %s (id %s), which has succeeded", name, id)
	}
	return fmt.Sprintf("it comes after job %s (id %s), which is %s", name, id, state)
}

// named are the jobs of a submission by name; an array is all its elements.
type named map[string][]int

func namesOf(specs []Spec) named {
	n := named{}
	for i := range specs {
		n[specs[i].Job.Name] = append(n[specs[i].Job.Name], i)
	}
	return n
}

// find gives what a name means to the job at a place: the last one before it of
// that name, else the first one behind it.
func (n named) find(i int, name string) []int {
	all := n[name]
	before, _ := slices.BinarySearch(all, i)
	switch {
	case before > 0:
		return all[before-1 : before]
	case before < len(all) && all[before] != i:
		return all[before : before+1]
	case before+1 < len(all):
		return all[before+1 : before+2]
	}
	return nil
}

// groupsOf gives the elements of the arrays and the members of the gangs of a
// submission, by its name; of several of one name the last.
func groupsOf(specs []Spec) named {
	n := named{}
	for i := range specs {
		if a := specs[i].Array; a != nil {
			if a.Index == 0 {
				n[a.Name] = nil
			}
			n[a.Name] = append(n[a.Name], i)
		}
		if g := specs[i].Job.Gang; g != nil {
			if g.Index == 0 {
				n[g.ID] = nil
			}
			n[g.ID] = append(n[g.ID], i)
		}
	}
	return n
}

// own says whether a text names the array or the gang that the job is of.
func (s *Spec) own(text string) bool {
	return s.Array != nil && s.Array.Name == text || s.Job.Gang != nil && s.Job.Gang.ID == text
}

// findAfter looks up what the jobs of a submission come after, by the names or ids
// that were given: jobs of the same submission first, then the newest of the
// tenant. It refuses what is unknown, and jobs that come after each other in turn.
func (d *Daemon) findAfter(ctx context.Context, tenant poise.TenantID, specs []Spec) error {
	jobs, groups := namesOf(specs), groupsOf(specs)
	for i := range specs {
		s := &specs[i]
		s.needs = s.needsOf()
		for k := range s.needs {
			n := &s.needs[k]
			if n.inside = jobs.find(i, n.text); n.inside == nil && !s.own(n.text) {
				n.inside = groups[n.text]
			}
			if n.inside != nil {
				continue
			}
			t, err := d.target(ctx, tenant, n.text)
			if poise.KindOf(err) == poise.NotFound && (n.text == s.Job.Name || s.own(n.text)) {
				return n.refuse(poise.NotFound, s.Job.Name, "is the job itself, expected another one")
			}
			if err != nil {
				return fmt.Errorf("submit job %q: %s: %w", s.Job.Name, n.field, err)
			}
			n.outside = t.rows
		}
	}
	_, err := turns(specs)
	return err
}

// turns gives the order in which the jobs of a submission are made known: each
// behind those that it comes after, and else as they were given. Jobs that come
// after each other in turn are refused.
func turns(specs []Spec) ([]int, error) {
	const (
		open = 1 + iota // what it comes after is being put in order
		done
	)
	type step struct{ at, need, next int }
	order, state := make([]int, 0, len(specs)), make([]uint8, len(specs))
	for first := range specs {
		if state[first] != 0 {
			continue
		}
		state[first] = open
		for path := []step{{at: first}}; len(path) > 0; {
			top := &path[len(path)-1]
			s := &specs[top.at]
			if top.need == len(s.needs) {
				state[top.at] = done
				order = append(order, top.at)
				path = path[:len(path)-1]
				continue
			}
			n := &s.needs[top.need]
			if top.next == len(n.inside) {
				top.need, top.next = top.need+1, 0
				continue
			}
			next := n.inside[top.next]
			top.next++
			switch state[next] {
			case 0:
				state[next] = open
				path = append(path, step{at: next})
			case open:
				return nil, n.refuse(poise.Invalid, s.Job.Name, fmt.Sprintf("comes after job %q in turn, expected no circle", s.Job.Name))
			}
		}
	}
	return order, nil
}

// order gives jobs that have their ids the ids of those that they come after and
// that have not ended. One that ended already in a way that does not do is refused.
func (c *core) order(specs []Spec) error {
	for i := range specs {
		s := &specs[i]
		how := map[poise.JobID]string{}
		for k := range s.needs {
			n := &s.needs[k]
			ids, err := c.resolve(specs, n, s.Job.Name)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if field, twice := how[id]; twice {
					if field != n.field {
						return n.refuse(poise.Invalid, s.Job.Name, "is in "+field+" too, expected each job in one of them")
					}
					continue
				}
				how[id] = n.field
				s.Job.After = append(s.Job.After, id)
				switch n.field {
				case afterEnd:
					s.Any = append(s.Any, id)
				case afterFailure:
					s.Failed = append(s.Failed, id)
				}
			}
		}
		if err := s.Job.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// resolve gives the ids behind a need of those that have not ended.
func (c *core) resolve(specs []Spec, n *need, job string) ([]poise.JobID, error) {
	var ids []poise.JobID
	for _, k := range n.inside {
		ids = append(ids, specs[k].Job.ID)
	}
	for i := range n.outside {
		row := &n.outside[i]
		live := c.jobs[poise.JobID(row.ID)]
		well := row.State == stateSucceeded
		switch {
		case live != nil:
			ids = append(ids, live.spec.Job.ID)
		case row.State != stateSucceeded && row.State != stateFailed && row.State != stateLost && row.State != stateWithdrawn:
			return nil, n.refuse(poise.Conflict, job, "has just ended, expected this to be submitted again")
		case n.field == afterWell && !well:
			return nil, n.refuse(poise.Conflict, job, "is "+row.State+", expected one that can succeed")
		case n.field == afterFailure && well:
			return nil, n.refuse(poise.Conflict, job, "has succeeded, expected one that can fail")
		}
	}
	return ids, nil
}

// comesAfter is the reason of a job that waits for another one to end.
func (c *core) comesAfter(id poise.JobID) string {
	name := "that is gone"
	if j := c.jobs[id]; j != nil {
		name = j.row.Name
	}
	return fmt.Sprintf("comes after job %s (id %s)", name, id)
}
