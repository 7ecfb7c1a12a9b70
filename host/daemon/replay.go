package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/store"
)

// ReplayOptions say which decisions are made again.
type ReplayOptions struct {
	From, To    uint64 // indexes of the events that committed them; To 0 = up to the last
	RerunGuests bool   // run plugins too; else what they answered is taken from the records
	Compile     []string
}

// Replayed is the outcome of a replay.
type Replayed struct {
	Decisions int    // made again and equal
	Recorded  int    // of these, with the answers of plugins taken from the records
	Snapshots int    // that the events led to again
	Index     uint64 // of the first difference, 0 = none
	Job       string // whose decision differs, "" = it is no decision
	Field     string // what differs: where an input does, that
	Was, Is   string
}

// Replay makes recorded decisions again from the latest snapshot before them and
// stops at the first difference. It opens the store of the data directory, which
// no daemon may be using.
func Replay(ctx context.Context, c *config.Config, o ReplayOptions) (*Replayed, error) {
	s, err := store.Open(ctx, store.Options{Dir: storeDir(c.DataDir), Now: func() int64 { return int64(now()) }})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	return replayStore(ctx, s, c, o)
}

func replayStore(ctx context.Context, s *store.Store, c *config.Config, o ReplayOptions) (*Replayed, error) {
	if last := s.Last(); o.To == 0 || o.To > last {
		o.To = last
	}
	if o.From == 0 || o.From > o.To {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "replay", Detail: fmt.Sprintf("from: %d, expected 1 to %d", o.From, o.To)}
	}
	r := &replay{
		options: o, out: &Replayed{}, store: s, bySnapshot: map[uint64][]*made{}, byCommit: map[uint64]*made{}, snapshots: map[uint64]bool{},
		pipelines: map[poise.TenantID]*plans{}, builder: builder(c, o.Compile, s),
	}
	defer r.builder.Close(ctx)
	defer r.forget()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	if err := r.check(ctx); err != nil { // what was decided on the state to begin with
		return nil, err
	}
	err := forward(ctx, s, r.state, o.To, func(ev poise.Event) error { return r.event(ctx, ev) })
	if err == errStop {
		err = nil
	}
	return r.out, err
}

// made is a decision that was made, as it is recorded.
type made struct {
	gangDecision
	commit uint64
	at     uint64 // index of the last event that it had seen
}

// overtaken says whether the policy in force had an answer each time, and a change
// was faster.
func (d *made) overtaken() bool { return strings.HasPrefix(d.Fault, loop.Overtaken) }

// replay is a replay under way.
type replay struct {
	options    ReplayOptions
	out        *Replayed
	store      *store.Store
	state      *state.State
	policies   *state.Policies // that the pipelines are of
	builder    *stack.Builder
	pipelines  map[poise.TenantID]*plans // by the tenant whose activation is on top
	bySnapshot map[uint64][]*made
	byCommit   map[uint64]*made
	snapshots  map[uint64]bool // to be met on the way
}

// plans are the policy of a tenant, and its pipelines.
type plans struct {
	stack    *stack.Stack
	pipeline *sched.Pipeline
	rungs    []*rung // see rungs
}

// open reads the decisions and the state to begin with.
func (r *replay) open(ctx context.Context) error {
	earliest := r.options.From - 1
	for q := (store.DecisionQuery{From: r.options.From, To: r.options.To, Limit: 1000}); q.From <= q.To; {
		rows, err := r.store.Decisions(ctx, q)
		if err != nil {
			return err
		}
		for i := range rows {
			d := &made{commit: rows[i].Seq, at: rows[i].Snapshot}
			if err := json.Unmarshal(rows[i].Body, &d.gangDecision); err != nil {
				return fmt.Errorf("decision %d: %w", rows[i].Seq, err)
			}
			if d.overtaken() { // decided where it was committed
				d.at = d.commit - 1
			}
			r.bySnapshot[d.at] = append(r.bySnapshot[d.at], d)
			r.byCommit[d.commit] = d
			earliest = min(earliest, d.at)
			q.From = rows[i].Seq + 1
		}
		if len(rows) < q.Limit {
			break
		}
	}
	infos, err := r.store.Snapshots(ctx)
	if err != nil {
		return err
	}
	for _, i := range infos {
		r.snapshots[i.Seq] = true
	}
	r.state, err = baseAt(ctx, r.store, earliest)
	return err
}

// event checks what an event led to.
func (r *replay) event(ctx context.Context, ev poise.Event) error {
	if d := r.byCommit[ev.Index]; d != nil {
		var was, is string
		for _, m := range d.all() {
			was += placedText(&poise.Placement{Job: m.Job, Node: m.Node, Devices: m.Devices})
		}
		switch b := ev.Body.(type) {
		case poise.JobPlaced:
			is = placedText(&b.Placement)
		case poise.GangPlaced:
			for i := range b.Placements {
				is += placedText(&b.Placements[i])
			}
		}
		if was != is {
			return r.differs(d, "event that commits it", was, is)
		}
	}
	if r.snapshots[ev.Index] {
		if err := r.meet(ctx, ev.Index); err != nil {
			return err
		}
	}
	return r.check(ctx)
}

func placedText(p *poise.Placement) string {
	return fmt.Sprintf("job %s on %q, devices %v; ", p.Job, p.Node, p.Devices)
}

// meet compares the state to the one that was written down at this index.
func (r *replay) meet(ctx context.Context, index uint64) error {
	was, err := r.store.Snapshot(ctx, index)
	if err != nil {
		return err
	}
	is, err := journal.EncodeState(r.state)
	if err != nil {
		return err
	}
	field, a, b, err := firstDifference(was, is)
	if err != nil {
		return fmt.Errorf("snapshot %d: %w", index, err)
	}
	if field != "" {
		r.out.Index, r.out.Field, r.out.Was, r.out.Is = index, "snapshot: "+field, a, b
		return errStop
	}
	r.out.Snapshots++
	return nil
}

// check makes the decisions again that were made on the state as it is now.
func (r *replay) check(ctx context.Context) error {
	for _, was := range r.bySnapshot[r.state.Index()] {
		if err := r.again(ctx, was); err != nil {
			return err
		}
	}
	return nil
}

// again makes one decision again. errStop ends the replay.
func (r *replay) again(ctx context.Context, was *made) error {
	job := r.state.Job(was.Job)
	if job == nil || !job.Waiting() {
		return r.differs(was, "job", "waiting", "not waiting")
	}
	if err := r.submitted(ctx, was, job); err != nil {
		return err
	}
	p, err := r.plans(ctx, job.Tenant)
	if err != nil {
		return err
	}
	for _, d := range was.all() {
		if n, want := len(d.Ranked), min(d.Fitting, sched.ShortList); n != want {
			return r.differs(was, "ranking", fmt.Sprintf("%d nodes", n), fmt.Sprintf("%d of %d that fit", want, d.Fitting))
		}
	}
	for i := range p.stack.Layers {
		if err := r.intact(ctx, was, p.stack.Layers[i].Activation); err != nil {
			return err
		}
	}
	var is poise.Decision
	pass := sched.Pass{Now: was.Now, Detail: sched.Full, Bars: loop.Bars(r.state, r.state.View(), job, was.Now)}
	recorded := len(was.Plugins) > 0 && !r.options.RerunGuests
	if !r.state.Alone(job) {
		return r.againGang(p, was, job, pass, recorded)
	}
	switch {
	case recorded:
		var field string
		if is, field, err = r.fromRecord(p, &was.Decision, r.state.View(), job, pass); err == nil && field != "" {
			return r.differs(was, field, fmt.Sprintf("%s, fault %q", was.Policy, was.Fault), is.Policy)
		}
	case was.overtaken():
		is, err = p.pipeline.Fail(r.state.View(), job, pass, loop.Overtaken)
	default:
		is, err = p.pipeline.Plan(r.state.View(), job, pass)
	}
	if err != nil {
		return err
	}
	if field, a, b := difference(&was.Decision, &is); field != "" {
		return r.differs(was, field, a, b)
	}
	r.same(recorded)
	return nil
}

// same counts a decision that was made again and is equal.
func (r *replay) same(recorded bool) {
	if r.out.Decisions++; recorded {
		r.out.Recorded++
	}
}

// forget drops the pipelines: other policies are in force.
func (r *replay) forget() {
	for _, p := range r.pipelines {
		p.stack.Close()
	}
	clear(r.pipelines)
}

// plans gives the policy that planned a tenant's jobs at this moment.
func (r *replay) plans(ctx context.Context, tenant poise.TenantID) (*plans, error) {
	if now := r.state.Policies(); now != r.policies {
		r.forget()
		r.policies = now
	}
	if r.policies.Activation(tenant) == nil {
		tenant = ""
	}
	if p := r.pipelines[tenant]; p != nil {
		return p, nil
	}
	st, err := r.builder.Build(ctx, r.policies, tenant)
	if err != nil {
		return nil, err
	}
	p := &plans{stack: st, pipeline: sched.NewPipeline(st.Policy), rungs: rungs(st)}
	r.pipelines[tenant] = p
	return p, nil
}

// differs takes down the first difference, and ends the replay.
func (r *replay) differs(was *made, field, a, b string) error {
	r.out.Index, r.out.Job, r.out.Field, r.out.Was, r.out.Is = was.commit, string(was.Job), field, a, b
	return errStop
}
