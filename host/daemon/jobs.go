package daemon

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/poise-sched/poise/host/loop"
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
	Image   string            `json:",omitempty"`
	After   []string          `json:",omitempty"` // as given; Job.After are those that have not ended

	AfterAny     []string `json:",omitempty"` // as given
	AfterFailure []string `json:",omitempty"` // as given
	loop.Needs            // how it comes after those of Job.After
	// StartIn and FinishIn are as given; Job has the times that they came to.
	StartIn, FinishIn poise.Span `json:",omitempty"`
	Array             *Array     `json:",omitempty"`

	needs []need // what all of them mean, until they are resolved
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

// cancelled is the reason in the row of a job that was told to end. It is there
// before the engine is told, so that no restart forgets it.
const cancelled = "cancelled"

// submit makes jobs known, all or none. It answers once they are durable.
func (c *core) submit(specs []Spec, tenant poise.TenantID, key string, hash []byte, answer func([]store.JobRow, error)) {
	if err := c.store.Stalled(); err != nil {
		answer(nil, err)
		return
	}
	if key != "" {
		if known, rows := c.keys.get(keyOf(tenant, key)); rows != nil {
			if !bytes.Equal(known, hash) {
				answer(nil, keyConflict(key))
				return
			}
			c.then(func() { answer(rows, nil) }, func(err error) { answer(nil, err) })
			return
		}
	}
	if err := formGangs(specs, c.newID); err != nil {
		answer(nil, err)
		return
	}
	now, array := c.now(), ""
	for i := range specs {
		if a := specs[i].Array; a != nil {
			if a.Index == 0 {
				array = c.newID()
			}
			a.ID = array
		}
		j := &specs[i].Job
		j.ID = poise.JobID(c.newID())
		j.Tenant = tenant
		if j.Name == "" {
			j.Name = string(j.ID)
		}
		if err := specs[i].resolve(now); err != nil {
			answer(nil, err)
			return
		}
		if err := j.Validate(); err != nil {
			answer(nil, err)
			return
		}
	}
	turns, err := turns(specs)
	if err == nil {
		err = c.order(specs)
	}
	if err != nil {
		answer(nil, err)
		return
	}
	unfit, err := c.unfit(specs)
	if err != nil {
		answer(nil, err)
		return
	}
	rows := make([]store.JobRow, len(specs))
	for _, i := range turns {
		row, err := c.accept(&specs[i], unfit[i], 0)
		if err != nil { // Validate has passed: only a fault of ours can stand in the way
			panic(fmt.Sprintf("BUG: a valid job is refused: %v", err))
		}
		rows[i] = row
	}
	if key != "" {
		name := keyOf(tenant, key)
		c.keys.put(name, hash, rows)
		c.then(func() { c.keys.land(name) }, nil)
		for i := range rows {
			c.batch.Keys = append(c.batch.Keys, store.KeyRow{
				Key: jobKey(key, i), Tenant: string(tenant), Job: rows[i].ID, Hash: hash, At: int64(c.now()),
			})
		}
	}
	c.then(func() { answer(rows, nil) }, func(err error) { answer(nil, err) })
}

// accept applies the events of one job, which has waited since a time that is 0 for
// now. What it waits for already is its reason.
func (c *core) accept(s *Spec, reason string, since poise.Time) (store.JobRow, error) {
	var comes poise.Body = poise.JobSubmitted{Job: s.Job}
	if since > 0 {
		comes = poise.JobAdopted{Job: s.Job, Since: since}
	}
	if err := c.event(comes); err != nil {
		return store.JobRow{}, err
	}
	arrived, at := c.loop.State().Index(), c.loop.State().Job(s.Job.ID).Submitted
	if err := c.due(); err != nil {
		return store.JobRow{}, err
	}
	body, err := json.Marshal(s)
	if err != nil {
		return store.JobRow{}, err
	}
	live := &liveJob{spec: *s, row: store.JobRow{
		ID: string(s.Job.ID), Name: s.Job.Name, Tenant: string(s.Job.Tenant), State: stateWaiting, Reason: reason,
		Seq: int64(arrived), Submitted: int64(at), Body: body,
	}}
	if s.Array != nil {
		live.row.Group, live.row.GroupName = s.Array.ID, s.Array.Name
	}
	if g := s.Job.Gang; g != nil {
		live.row.Group, live.row.GroupName = g.ID, g.Name
		if g.Index > 0 {
			live.row.Reason = fmt.Sprintf("starts with gang %s; why that waits is with its task 0", g.Name)
		}
	}
	c.jobs[s.Job.ID] = live
	if why := c.waitsFor(live); why != "" {
		live.row.Reason = why
	}
	c.keep(live)
	c.metrics.JobSubmitted(live.row.Tenant)
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

func keyConflict(key string) error {
	return &poise.Error{Kind: poise.Conflict, Op: "submit", Detail: fmt.Sprintf("idempotency key %q: used before for another submission, expected a new key", key)}
}
