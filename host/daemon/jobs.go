package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// Spec is a job as it was submitted: what the core decides about, and what only
// an engine needs.
type Spec struct {
	Job     poise.Job
	Command []string          `json:",omitempty"`
	Env     map[string]string `json:",omitempty"`
	Dir     string            `json:",omitempty"`
}

// States of a job in the history.
const (
	stateWaiting   = "waiting"
	stateStarting  = "starting"
	stateRunning   = "running"
	stateSucceeded = "succeeded"
	stateFailed    = "failed"
	stateLost      = "lost"
	stateWithdrawn = "withdrawn"
)

// grace is what a task has between TERM and KILL.
const grace poise.Span = 10_000

// keyed is a submission under an idempotency key.
type keyed struct {
	hash []byte
	rows []store.JobRow
}

// binder starts and ends tasks on a node.
type binder interface {
	Bind(ctx context.Context, b engine.Binding) error
	Evict(ctx context.Context, placement string, grace poise.Span) error
	Forget(ctx context.Context, placement string) error
}

// submit makes jobs known, all or none. It answers once they are durable.
func (c *core) submit(specs []Spec, tenant poise.TenantID, key string, hash []byte, answer func([]store.JobRow, error)) {
	if err := c.store.Stalled(); err != nil {
		answer(nil, err)
		return
	}
	if known, ok := c.keys[keyOf(tenant, key)]; ok && key != "" {
		if !bytes.Equal(known.hash, hash) {
			answer(nil, keyConflict(key))
			return
		}
		c.then(func() { answer(known.rows, nil) }, func(err error) { answer(nil, err) })
		return
	}
	for i := range specs {
		j := &specs[i].Job
		j.ID = poise.JobID(uuid.Must(uuid.NewV7()).String())
		j.Tenant = tenant
		if j.Name == "" {
			j.Name = string(j.ID)
		}
		if err := j.Validate(); err != nil {
			answer(nil, err)
			return
		}
	}
	rows := make([]store.JobRow, len(specs))
	for i := range specs {
		row, err := c.accept(&specs[i])
		if err != nil { // Validate has passed: only a fault of ours can stand in the way
			panic(fmt.Sprintf("BUG: a valid job is refused: %v", err))
		}
		rows[i] = row
	}
	if key != "" {
		name := keyOf(tenant, key)
		c.keys[name] = keyed{hash, rows}
		c.then(func() { c.commands <- func(c *core) { delete(c.keys, name) } }, nil)
		for i := range rows {
			c.batch.Keys = append(c.batch.Keys, store.KeyRow{
				Key: jobKey(key, i), Tenant: string(tenant), Job: rows[i].ID, Hash: hash, At: int64(c.now()),
			})
		}
	}
	c.then(func() { answer(rows, nil) }, func(err error) { answer(nil, err) })
}

// accept applies the events of one job.
func (c *core) accept(s *Spec) (store.JobRow, error) {
	if err := c.event(poise.JobSubmitted{Job: s.Job}); err != nil {
		return store.JobRow{}, err
	}
	if due := c.loop.Due(); due != nil {
		if err := c.event(due); err != nil {
			return store.JobRow{}, err
		}
	}
	body, err := json.Marshal(s)
	if err != nil {
		return store.JobRow{}, err
	}
	live := &liveJob{spec: *s, row: store.JobRow{
		ID: string(s.Job.ID), Name: s.Job.Name, Tenant: string(s.Job.Tenant), State: stateWaiting,
		Seq: int64(c.loop.State().Index()), Submitted: int64(c.now()), Body: body,
	}}
	c.jobs[s.Job.ID] = live
	c.keep(live)
	return live.row, nil
}

func specsHash(specs []Spec) []byte {
	h := sha256.New()
	for i := range specs {
		// A Spec is plain data: it cannot fail.
		body, _ := json.Marshal(specs[i])
		h.Write(body)
	}
	return h.Sum(nil)
}

// jobKey is the key in the history of the i-th job of a submission.
func jobKey(key string, i int) string { return fmt.Sprintf("%s/%d", key, i) }

func keyOf(tenant poise.TenantID, key string) string { return string(tenant) + "\x00" + key }

func keyConflict(key string) error {
	return &poise.Error{Kind: poise.Conflict, Op: "submit", Detail: fmt.Sprintf("idempotency key %q: used before for another submission, expected a new key", key)}
}

// place commits a decision.
func (c *core) place(live *liveJob, d *poise.Decision, snapshot uint64) error {
	err := c.event(poise.JobPlaced{Placement: poise.Placement{Job: d.Job, Node: d.Node, Devices: d.Devices}})
	if err != nil {
		return fmt.Errorf("commit the decision about job %q: %w", d.Job, err)
	}
	index := c.loop.State().Index()
	live.placement = fmt.Sprintf("p%d", index)
	live.row.State, live.row.Node, live.row.Reason = stateStarting, d.Node, ""
	c.byPlace[live.placement] = d.Job
	c.keep(live)
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	c.batch.Placements = append(c.batch.Placements, store.PlacementRow{
		ID: live.placement, Job: live.row.ID, Node: d.Node, Devices: d.Devices, Placed: int64(c.now()), State: stateStarting, Decision: index,
	})
	c.batch.Decisions = append(c.batch.Decisions, store.DecisionRow{
		Seq: index, Job: live.row.ID, Node: d.Node, Policy: d.Policy, At: int64(c.now()), Snapshot: snapshot, Commit: index, Body: body,
	})
	binding := live.binding(d.Node, d.Devices)
	c.then(func() { c.bind(binding) }, nil)
	return nil
}

// binding is what an engine gets to know of a placed job.
func (j *liveJob) binding(node string, devices []uint16) engine.Binding {
	job := &j.spec.Job
	return engine.Binding{
		Placement: j.placement, Job: job.ID, Name: job.Name, Tenant: job.Tenant, Node: node, Devices: devices,
		DeviceKind: job.Request.Device.Kind, Command: j.spec.Command, Env: j.spec.Env, Dir: j.spec.Dir,
		Amounts: job.Request.Amounts, RunTime: job.RunTime, Grace: grace,
	}
}

// bind has a task started; it runs beside the loop.
func (c *core) bind(b engine.Binding) {
	if err := c.engines(b.Node).Bind(context.Background(), b); err != nil {
		c.log.Warn("bind", "placement", b.Placement, "job", b.Job, "node", b.Node, "error", err)
		c.commands <- func(c *core) { c.unbound(b.Placement, err) }
	}
}

// unbound makes a job wait again whose task could not be started.
func (c *core) unbound(placement string, cause error) {
	live := c.jobs[c.byPlace[placement]]
	if live == nil || live.placement != placement {
		return
	}
	delete(c.byPlace, placement)
	if poise.KindOf(cause) == poise.Invalid {
		c.end(live, stateFailed, nil, cause.Error())
		return
	}
	live.placement, live.row.State, live.row.Node, live.row.Reason = "", stateWaiting, "", cause.Error()
	if err := c.event(poise.JobRequeued{Job: live.spec.Job.ID}); err != nil {
		c.log.Error("requeue", "job", live.row.ID, "error", err)
	}
	c.keep(live)
}

// status takes in what an engine says of a task.
func (c *core) status(s engine.Status) {
	live := c.jobs[c.byPlace[s.Placement]]
	if live == nil || live.placement != s.Placement {
		if s.State.Ended() {
			c.forget(s.Placement, "")
		}
		return
	}
	row := store.PlacementRow{ID: s.Placement, Job: live.row.ID, Node: live.row.Node, Started: int64(s.Started), Ended: int64(s.Ended), State: s.State.String()}
	if task := c.loop.State().Job(live.spec.Job.ID).Task(); task != nil {
		row.Devices, row.Placed = task.Devices, int64(task.Placed)
	}
	if s.State == engine.Running && live.row.State == stateStarting {
		live.row.State = stateRunning
		c.keep(live)
	}
	if s.State != engine.Starting {
		c.batch.Placements = append(c.batch.Placements, row)
	}
	if !s.State.Ended() {
		return
	}
	state, code := stateFailed, s.ExitCode
	switch {
	case s.State == engine.Succeeded:
		state = stateSucceeded
	case s.State == engine.Lost:
		state = stateLost
	}
	node, detail := live.row.Node, s.Detail
	if live.cancelled && detail == "" {
		detail = "cancelled"
	}
	c.end(live, state, &code, detail)
	c.forget(s.Placement, node)
}

// end finishes a job for good.
func (c *core) end(live *liveJob, state string, code *int32, reason string) {
	id := live.spec.Job.ID
	var body poise.Body = poise.JobFinished{Job: id}
	if c.loop.State().Job(id).Waiting() {
		body = poise.JobWithdrawn{Job: id}
	}
	if err := c.event(body); err != nil {
		c.log.Error("end", "job", id, "error", err)
		return
	}
	live.row.State, live.row.ExitCode, live.row.Reason = state, code, reason
	c.keep(live)
	delete(c.jobs, id)
	delete(c.byPlace, live.placement)
}

// forget lets an engine drop a task whose end is durable.
func (c *core) forget(placement, node string) {
	c.then(func() {
		if err := c.engines(node).Forget(context.Background(), placement); err != nil {
			c.log.Warn("forget", "placement", placement, "error", err)
		}
	}, nil)
}

// cancel withdraws a job that waits and stops one that runs.
func (c *core) cancel(id poise.JobID, answer func(store.JobRow, error)) {
	if err := c.store.Stalled(); err != nil {
		answer(store.JobRow{}, err)
		return
	}
	live := c.jobs[id]
	if live == nil {
		answer(store.JobRow{}, &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("cancel job %q", id), Detail: "it has ended, expected a job that waits or runs"})
		return
	}
	if live.placement == "" {
		c.end(live, stateWithdrawn, nil, "cancelled")
		row := live.row
		c.then(func() { answer(row, nil) }, func(err error) { answer(store.JobRow{}, err) })
		return
	}
	live.cancelled = true
	node, placement, row := live.row.Node, live.placement, live.row
	go func() { // an engine may take its time
		if err := c.engines(node).Evict(context.Background(), placement, grace); err != nil {
			answer(row, err)
			return
		}
		answer(row, nil)
	}()
}
