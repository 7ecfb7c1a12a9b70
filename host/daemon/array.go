package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// Array is what an element knows of the array that it belongs to.
type Array struct {
	ID       string // given with the jobs' ids
	Name     string
	Index    int32 // 0 to Count-1
	Count    int32
	Parallel int32 `json:",omitempty"` // how many at most run at a time, 0 = all
}

// elements gives the job, or its elements where it is an array. Of these, one comes
// after the end of the one that is as many before it as may run at a time: so many
// lines of elements, each one after the other.
func (s *Spec) elements(a *manifest.Array) []Spec {
	if a == nil {
		return []Spec{*s}
	}
	name, all := s.Job.Name, make([]Spec, a.Count)
	for i := range all {
		e := *s
		e.Job.Name = manifest.ElementName(name, i)
		e.Array = &Array{Name: name, Index: int32(i), Count: a.Count, Parallel: a.Parallel}
		if before := i - int(a.Parallel); a.Parallel > 0 && before >= 0 {
			e.AfterAny = append(e.AfterAny[:len(e.AfterAny):len(e.AfterAny)], manifest.ElementName(name, before))
		}
		all[i] = e
	}
	return all
}

// marks are what an element's task is told of it.
func (a *Array) marks() map[string]string {
	if a == nil {
		return nil
	}
	return map[string]string{
		"POISE_ARRAY_ID": a.ID, "POISE_ARRAY_INDEX": strconv.Itoa(int(a.Index)), "POISE_ARRAY_COUNT": strconv.Itoa(int(a.Count)),
	}
}

func (a *Array) view() *client.Array {
	if a == nil {
		return nil
	}
	return &client.Array{ID: a.ID, Name: a.Name, Index: &a.Index, Count: a.Count, Parallel: a.Parallel}
}

// target is what a name or an id means: a job, or all elements of an array by their
// index.
type target struct {
	rows  []store.JobRow
	whole bool
}

// target gives what a name or an id means. A name means the newest job or array of
// that name; tenant "" is all of them.
func (d *Daemon) target(ctx context.Context, tenant poise.TenantID, nameOrID string) (target, error) {
	rows, err := d.store.Group(ctx, nameOrID)
	if err != nil {
		return target{}, err
	}
	if len(rows) > 0 && (tenant == "" || rows[0].Tenant == string(tenant)) {
		return target{rows, true}, nil
	}
	row, err := d.find(ctx, tenant, nameOrID)
	if err != nil && poise.KindOf(err) != poise.NotFound {
		return target{}, err
	}
	last, err2 := d.newest(ctx, tenant, nameOrID, d.store.GroupByName)
	switch {
	case err2 != nil && poise.KindOf(err2) != poise.NotFound:
		return target{}, err2
	case err2 != nil || err == nil && (row.ID == nameOrID || row.Seq > last.Seq):
		return target{rows: []store.JobRow{row}}, err
	}
	rows, err = d.store.Group(ctx, last.Group)
	return target{rows, true}, err
}

// ids are those of the jobs that a target means.
func (t *target) ids() []poise.JobID {
	ids := make([]poise.JobID, len(t.rows))
	for i := range t.rows {
		ids[i] = poise.JobID(t.rows[i].ID)
	}
	return ids
}

// one gives the job of a target that cannot be an array or a gang.
func (t *target) one(op string) (store.JobRow, error) {
	if !t.whole {
		return t.rows[0], nil
	}
	return store.JobRow{}, &poise.Error{
		Kind: poise.Invalid, Op: fmt.Sprintf("%s of %q", op, t.rows[0].GroupName),
		Detail: fmt.Sprintf("it is %d jobs, expected one of them, such as %s", len(t.rows), t.rows[0].Name),
	}
}

// telling gives the job of a target that says most of why it waits: of an array the
// first that waits.
func (t *target) telling() store.JobRow {
	i := max(slices.IndexFunc(t.rows, func(r store.JobRow) bool { return r.State == stateWaiting }), 0)
	return t.rows[i]
}

// sum gives an array as a job.
func (d *Daemon) sum(t *target) (client.Job, error) {
	first := &t.rows[0]
	var spec Spec
	if err := json.Unmarshal(first.Body, &spec); err != nil {
		return client.Job{}, fmt.Errorf("job %q: %w", first.ID, err)
	}
	a := spec.whole()
	a.Count = int32(len(t.rows))
	j := client.Job{ID: first.Group, Name: first.GroupName, Tenant: first.Tenant, Spec: spec.view(), Submitted: client.At(poise.Time(first.Submitted)), Array: a.view()}
	if j.Spec.Name = j.Name; spec.Array != nil {
		j.Spec.Array = &client.ArraySpec{Count: a.Count, Parallel: a.Parallel}
	}
	j.Array.Gang = spec.Job.Gang != nil
	j.Array.Index, j.Array.States = nil, map[client.JobState]int{}
	for i := range t.rows {
		row := &t.rows[i]
		j.Array.States[client.JobState(row.State)]++
		j.Attempts += int(row.Attempts)
		if client.JobState(row.State) == client.Waiting && j.Reason == "" {
			j.Reason = row.Reason
		}
	}
	for _, s := range []client.JobState{client.Running, client.Starting, client.Waiting, client.Failed, client.Lost, client.Withdrawn, client.Succeeded} {
		if j.Array.States[s] > 0 {
			j.State = s
			break
		}
	}
	if j.State.Ended() {
		for i := range t.rows {
			if at := client.At(poise.Time(t.rows[i].Changed)); at.After(j.Ended) {
				j.Ended = at
			}
		}
	}
	return j, nil
}
