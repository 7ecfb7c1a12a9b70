package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/journal"
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
	Recorded  int    // of plugins, checked against their recorded answers only
	Index     uint64 // of the first difference, 0 = none
	Job       string
	Field     string // what differs
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
	if last := s.Last(); o.To == 0 || o.To > last {
		o.To = last
	}
	if o.From == 0 || o.From > o.To {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "replay", Detail: fmt.Sprintf("from: %d, expected 1 to %d", o.From, o.To)}
	}
	r := &replay{options: o, out: &Replayed{}, bySnapshot: map[uint64][]*poise.Decision{}, commits: map[poise.JobID]uint64{}, pipelines: map[poise.TenantID]*sched.Pipeline{}}
	r.builder = builder(c, o.Compile, s)
	defer r.builder.Close(ctx)
	defer r.forget()
	if err := r.open(ctx, s); err != nil {
		return nil, err
	}
	return r.out, r.run(ctx, s)
}

// forget drops the pipelines: other policies are in force.
func (r *replay) forget() {
	for _, st := range r.stacks {
		st.Close()
	}
	r.stacks, r.pipelines = nil, map[poise.TenantID]*sched.Pipeline{}
}

// pipeline gives the policy that planned a tenant's jobs at this moment.
func (r *replay) pipeline(ctx context.Context, tenant poise.TenantID) (*sched.Pipeline, error) {
	if r.state.Policies().Activation(tenant) == nil {
		tenant = ""
	}
	if p := r.pipelines[tenant]; p != nil {
		return p, nil
	}
	st, err := r.builder.Build(ctx, r.state.Policies(), tenant)
	if err != nil {
		return nil, err
	}
	p := sched.NewPipeline(st.Policy)
	r.stacks, r.pipelines[tenant] = append(r.stacks, st), p
	return p, nil
}

// replay is a replay under way.
type replay struct {
	options    ReplayOptions
	out        *Replayed
	state      *state.State
	builder    *stack.Builder
	pipelines  map[poise.TenantID]*sched.Pipeline // by the tenant whose activation is on top
	stacks     []*stack.Stack                     // of the pipelines
	bySnapshot map[uint64][]*poise.Decision       // by the last event that the snapshot had seen
	commits    map[poise.JobID]uint64
	done       bool
}

// open reads the decisions and the state to begin with.
func (r *replay) open(ctx context.Context, s *store.Store) error {
	earliest := r.options.From - 1
	for q := (store.DecisionQuery{From: r.options.From, To: r.options.To, Limit: 1000}); q.From <= q.To; {
		rows, err := s.Decisions(ctx, q)
		if err != nil {
			return err
		}
		for i := range rows {
			d := &poise.Decision{}
			if err := json.Unmarshal(rows[i].Body, d); err != nil {
				return fmt.Errorf("decision %d: %w", rows[i].Seq, err)
			}
			r.bySnapshot[rows[i].Snapshot] = append(r.bySnapshot[rows[i].Snapshot], d)
			r.commits[d.Job] = rows[i].Seq
			earliest = min(earliest, rows[i].Snapshot)
			q.From = rows[i].Seq + 1
		}
		if len(rows) < q.Limit {
			break
		}
	}
	settings := state.Settings{}
	infos, err := s.Snapshots(ctx)
	if err != nil {
		return err
	}
	infos = slices.DeleteFunc(infos, func(i store.SnapshotInfo) bool { return i.Seq > earliest })
	if r.state, err = state.New(settings); err != nil {
		return err
	}
	if n := len(infos); n > 0 {
		body, err := s.Snapshot(ctx, infos[n-1].Seq)
		if err != nil {
			return err
		}
		if r.state, err = journal.DecodeState(body, settings); err != nil {
			return err
		}
	}
	return nil
}

// run applies the events and decides wherever a decision was made.
func (r *replay) run(ctx context.Context, s *store.Store) error {
	if err := r.decide(ctx); err != nil {
		return err
	}
	next := r.state.Index() + 1
	err := s.Read(ctx, next, func(rec store.Record) error {
		if rec.Seq != next {
			return &poise.Error{Kind: poise.NotFound, Op: "replay", Detail: fmt.Sprintf("event %d: retention has cut it, expected an unbroken log from %d on", next, next)}
		}
		next++
		if r.done || rec.Seq > r.options.To {
			return errStop
		}
		ev, err := journal.Decode(journal.Entry{Index: rec.Seq, At: poise.Time(rec.At), Kind: rec.Kind, Schema: rec.Schema, Body: rec.Body})
		if err != nil {
			return err
		}
		before := r.state.Policies()
		if err := r.state.Apply(ev); err != nil {
			return err
		}
		if r.state.Policies() != before {
			r.forget()
		}
		return r.decide(ctx)
	})
	if err == errStop {
		return nil
	}
	return err
}

// errStop ends a reading that has seen enough.
var errStop = fmt.Errorf("enough")

// decide makes the decisions again that were made on the state as it is now.
func (r *replay) decide(ctx context.Context) error {
	for _, was := range r.bySnapshot[r.state.Index()] {
		if len(was.Plugins) > 0 && !r.options.RerunGuests {
			if len(was.Ranked) > 0 && was.Ranked[0].Node != was.Node {
				r.differs(was, "ranked", was.Node, was.Ranked[0].Node)
				return nil
			}
			r.out.Recorded++
			continue
		}
		job := r.state.Job(was.Job)
		if job == nil || !job.Waiting() {
			r.differs(was, "job", "waiting", "not waiting")
			return nil
		}
		pipeline, err := r.pipeline(ctx, job.Tenant)
		if err != nil {
			return err
		}
		is, err := pipeline.Plan(r.state.View(), job, sched.Full)
		if err != nil {
			return err
		}
		if field, a, b := difference(was, &is); field != "" {
			r.differs(was, field, a, b)
			return nil
		}
		r.out.Decisions++
	}
	return nil
}

func (r *replay) differs(was *poise.Decision, field, a, b string) {
	r.done = true
	r.out.Index, r.out.Job, r.out.Field, r.out.Was, r.out.Is = r.commits[was.Job], string(was.Job), field, a, b
}

// difference names the first input, then the first outcome, in which two
// decisions differ. How many rows had to be looked at depends on what was known
// before and is none.
func difference(was, is *poise.Decision) (field, a, b string) {
	losses := func(d *poise.Decision) string {
		text := ""
		for i := range d.Ranked {
			text += fmt.Sprintf("%s %d %x, ", d.Ranked[i].Node, d.Ranked[i].Tier, d.Ranked[i].Loss)
		}
		return text
	}
	for _, f := range []struct{ name, a, b string }{
		{"policy", was.Policy, is.Policy},
		{"tie rule", was.Ties, is.Ties},
		{"seed", fmt.Sprint(was.Seed), fmt.Sprint(is.Seed)},
		{"snapshot version", fmt.Sprint(was.Version), fmt.Sprint(is.Version)},
		{"demand profile", fmt.Sprint(was.Epoch), fmt.Sprint(is.Epoch)},
		{"nodes", fmt.Sprint(was.Nodes), fmt.Sprint(is.Nodes)},
		{"verdict", was.Verdict.String(), is.Verdict.String()},
		{"fitting nodes", fmt.Sprint(was.Fitting), fmt.Sprint(is.Fitting)},
		{"ranking", losses(was), losses(is)},
		{"node", was.Node, is.Node},
		{"devices", fmt.Sprint(was.Devices), fmt.Sprint(is.Devices)},
		{"fault", was.Fault, is.Fault},
	} {
		if f.a != f.b {
			return f.name, f.a, f.b
		}
	}
	return "", "", ""
}
