package manifest

import "github.com/poise-sched/poise/host/poise"

// ready makes the jobs of a file what a run takes: with those that each comes after by
// their ids, and who holds it. The name of a gang or an array is all of its jobs.
func (d *jobs) ready() {
	known, groups := make(map[string]bool, len(d.list)), map[string][]poise.JobID{}
	for i := range d.list {
		j := &d.list[i]
		known[j.Name] = true
		group := j.Group
		if j.Gang != nil {
			group = j.Gang.ID
		}
		if group != "" {
			groups[group] = append(groups[group], j.ID)
		}
	}
	find := func(name string) []poise.JobID {
		if all := groups[name]; all != nil && !known[name] {
			return all
		}
		return []poise.JobID{poise.JobID(name)}
	}
	for i := range d.list {
		j := &d.list[i]
		if j.Hold {
			j.Held = string(j.Tenant)
		}
		if j.Task.follows() {
			d.follow(j, find)
		}
	}
}

// follow takes down the ids of what a job comes after, up to one more than it may:
// that one is refused where the job is.
func (d *jobs) follow(j *Job, find func(name string) []poise.JobID) {
	in := map[poise.JobID]string{}
	for _, list := range []struct {
		field string
		names []string
		also  *[]poise.JobID
	}{{"after", j.Task.After, nil}, {"after_any", j.Task.AfterAny, &j.Any}, {"after_failure", j.Task.AfterFailure, &j.Failed}} {
		for _, name := range list.names {
			for _, id := range find(name) {
				switch field := in[id]; {
				case len(in) > poise.MaxAfter, field == list.field:
					continue
				case field != "":
					d.problems.add(d.names.line[j.Name], list.field, quote(name)+" is in "+field+" too", "each job in one of them")
					continue
				}
				in[id] = list.field
				j.After = append(j.After, id)
				if list.also != nil {
					*list.also = append(*list.also, id)
				}
			}
		}
	}
}

// follows says whether the job comes after others.
func (t *Task) follows() bool { return len(t.After)+len(t.AfterAny)+len(t.AfterFailure) > 0 }
