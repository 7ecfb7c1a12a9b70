package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	compare "github.com/poise-sched/poise/host/shadow"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/store"
)

// RecordedCases implements api.Shadows.
func (d *Daemon) RecordedCases(ctx context.Context, tenant poise.TenantID, f client.CaseFilter) (client.RecordedCases, error) {
	if f.Last > 0 {
		return d.lastCases(ctx, tenant, f.Last)
	}
	sh, err := d.running(ctx, tenant)
	if err != nil {
		return client.RecordedCases{}, err
	}
	k := sh.now()
	list := casesOf(&k.Activation)
	for i := range slices.Backward(k.Tally.Cases) {
		c := &k.Tally.Cases[i]
		if f.Differ && c.Why != compare.Differs {
			continue
		}
		list.Cases = append(list.Cases, client.RecordedCase{Why: c.Why, Index: c.Index, Job: string(c.Job), Name: c.Name, Choice: choiceView(c.Would), Fault: c.Fault})
	}
	return list, nil
}

func casesOf(a *poise.Activation) client.RecordedCases {
	return client.RecordedCases{Plugin: a.Plugin, Version: a.Version, Digest: a.Digest, Params: a.Params, Weight: a.Weight, Cases: []client.RecordedCase{}}
}

// lastCases gives the latest placements by the policy that is in force, without those
// of gangs: a test case has one job.
func (d *Daemon) lastCases(ctx context.Context, tenant poise.TenantID, last int) (client.RecordedCases, error) {
	now, err := d.inForce(ctx)
	if err != nil {
		return client.RecordedCases{}, err
	}
	a := now.Activation(tenant)
	if a == nil {
		return client.RecordedCases{}, &poise.Error{Kind: poise.NotFound, Op: "list cases", Detail: "no plugin is in force, expected one, or a shadow and its cases"}
	}
	list := casesOf(a)
	for to := d.store.Last(); to > a.Index && len(list.Cases) < last; {
		from := max(a.Index, to-min(to, 1000)) + 1
		rows, err := d.store.Decisions(ctx, store.DecisionQuery{Tenant: string(tenant), From: from, To: to, Limit: 1000})
		if err != nil {
			return list, err
		}
		for i := range slices.Backward(rows) {
			row := &rows[i]
			var made poise.Decision
			if err := json.Unmarshal(row.Body, &made); err != nil {
				return list, fmt.Errorf("decision %d: %w", row.Seq, err)
			}
			if len(list.Cases) == last || made.Gang != nil || row.Snapshot < a.Index || !slices.ContainsFunc(made.Plugins, func(u poise.PluginUse) bool { return u.Digest == a.Digest }) {
				continue
			}
			job, err := d.store.Job(ctx, row.Job)
			if err != nil {
				continue // retention has cut it
			}
			list.Cases = append(list.Cases, client.RecordedCase{
				Why: "latest", Index: row.Snapshot, Job: row.Job, Name: job.Name, Choice: choiceView(compare.ChoiceOf(&made)), Fault: made.Fault != "",
			})
		}
		to = from - 1
	}
	return list, nil
}

// Scene implements api.Shadows.
func (d *Daemon) Scene(ctx context.Context, tenant poise.TenantID, index uint64, job string) (client.Scene, error) {
	none := &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("case %d", index), Detail: fmt.Sprintf("job %q: it did not wait then, expected what the list of cases gave", job)}
	if index == 0 || index > d.store.Last() {
		return client.Scene{}, none
	}
	d.saving.Lock() // a state takes memory: one at a time
	defer d.saving.Unlock()
	st, err := stateAt(ctx, d.store, index)
	if err != nil {
		return client.Scene{}, err
	}
	j := st.Job(poise.JobID(job))
	if j == nil || !j.Waiting() || tenant != "" && j.Tenant != tenant {
		return client.Scene{}, none
	}
	return sceneOf(st.View(), j), nil
}

// others owns the tasks of other tenants in a scene.
const others poise.TenantID = "others"

// sceneOf gives what a plugin gets to see of a job. The tasks of other tenants
// are there as one that holds the amounts, and one for each shared device.
func sceneOf(snap *state.Snapshot, j *state.Job) client.Scene {
	job := j.Spec()
	s := client.Scene{Nodes: []client.NodeSpec{}, Running: []client.SceneTask{}, Job: client.NewJobSpec(&job)}
	other := others
	if j.Tenant == other {
		other = "other"
	}
	var rows []uint32
	for row := range uint32(snap.Rows()) {
		if snap.Present(row) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b uint32) int { return cmp.Compare(snap.Rank(a), snap.Rank(b)) })
	names := 0
	add := func(job poise.Job, row uint32, held []uint16) {
		names++
		job.Name = fmt.Sprintf("running-%d", names)
		s.Running = append(s.Running, client.SceneTask{JobSpec: client.NewJobSpec(&job), Node: snap.Name(row), Held: held})
	}
	for _, row := range rows {
		node := snap.NodeOf(row)
		s.Nodes = append(s.Nodes, client.NewNodeSpec(&node))
		sum := map[string]int64{}
		devices := map[uint16]int32{}
		for l := snap.Tasks(row); l != nil; l = l.Next {
			t := l.Task
			if t.Tenant == j.Tenant {
				add(poise.Job{Tenant: t.Tenant, Tasks: 1, Request: t.Shape.Request}, row, slices.Clone(t.Devices))
				continue
			}
			for _, a := range t.Shape.Request.Amounts {
				sum[a.Name] += a.Value
			}
			for _, i := range t.Devices {
				devices[i] += t.Shape.Request.Device.Milli
			}
		}
		for _, task := range othersOn(sum, devices, node.Devices.Kind) {
			add(poise.Job{Tenant: other, Tasks: 1, Request: task.request}, row, task.held)
		}
	}
	for i := range s.Running {
		if s.Running[i].Name == s.Job.Name {
			s.Job.Name = "job"
		}
	}
	return s
}

// portion is a part of what others hold on a node.
type portion struct {
	request poise.Request
	held    []uint16
}

// othersOn parts what others hold into requests that a task can have: the
// amounts with the whole devices, then each shared device.
func othersOn(sum map[string]int64, devices map[uint16]int32, kind string) []portion {
	var first portion
	var list []portion
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		if sum[name] > 0 {
			first.request.Amounts = append(first.request.Amounts, resource.Amount{Name: name, Value: sum[name]})
		}
	}
	for _, d := range slices.Sorted(maps.Keys(devices)) {
		if devices[d] == poise.WholeDevice {
			first.held = append(first.held, d)
			continue
		}
		list = append(list, portion{request: poise.Request{Device: poise.DeviceRequest{Kind: kind, Count: 1, Milli: devices[d]}}, held: []uint16{d}})
	}
	if n := len(first.held); n > 0 {
		first.request.Device = poise.DeviceRequest{Kind: kind, Count: int32(n), Milli: poise.WholeDevice}
	}
	if len(first.request.Amounts)+len(first.held) > 0 {
		list = append([]portion{first}, list...)
	}
	return list
}
