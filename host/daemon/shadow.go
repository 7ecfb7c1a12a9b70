package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	compare "github.com/poise-sched/poise/host/shadow"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/store"
)

// shadowQueue is how many decisions wait for a shadow at most. Each keeps the
// pages of the fleet that changed since.
const shadowQueue = 64

// shadow is a plugin that runs beside the policy in force for a tenant's jobs,
// or, for "", for those of the tenants that have no policy of their own. It
// decides nothing: the loop leaves decisions in its queue, and goes on where that
// is full.
type shadow struct {
	tools   *shadowTools
	queue   chan shown
	dropped atomic.Int64
	ctx     context.Context
	stop    context.CancelFunc // ends ctx
	gone    sync.WaitGroup
	fuel    sharedBucket

	mu    sync.Mutex
	kept  keptShadow  // guarded by mu
	dirty bool        // kept is not in the store; guarded by mu
	fleet *redecision // the latest, nil = none; guarded by mu
	// policies are those of the latest decision, nil before the first; guarded
	// by mu.
	policies *state.Policies
}

// shadowTools are what all shadows share.
type shadowTools struct {
	build func(ctx context.Context, p *state.Policies, a *poise.Activation) (*stack.Stack, error)   // with a on top
	live  func(ctx context.Context, p *state.Policies, tenant poise.TenantID) (*stack.Stack, error) // as it is in force
	rate  func() int64                                                                              // fuel per second and shadow
	slots chan struct{}                                                                             // one token per shadow that plans now
	// reruns has one token: a rerun has the state twice in memory.
	reruns chan struct{}
	keep   func(ctx context.Context, r store.ShadowRow) error
	log    *slog.Logger
}

// keptShadow is what the store has of a shadow.
type keptShadow struct {
	Activation poise.Activation
	By         string
	Since      poise.Time
	From       uint64 // index of the last event when it began
	// Beside says what was in force: the figures are of one pair of policies.
	Beside string
	Budget int64 // fuel of one decision, of the last one
	Tally  compare.Tally
}

// shown is a live decision as a shadow gets to see it. Nothing in it changes.
type shown struct {
	basis    *loop.Basis
	at       poise.Time
	made     *sched.GangPlan // without Members for a single job
	policies *state.Policies
}

// show leaves a decision to the shadows that it concerns, before anything that comes
// of it is in the state. It takes no guest call and waits for nothing; a snapshot is
// taken only where a shadow has room. A job that is over a quota before any node is
// looked at is so under every policy.
func (c *core) show(w *loop.Work, made *loop.Settled) {
	d := &made.Decision
	if len(c.shadows) == 0 || d.Verdict == poise.OverQuota && len(d.Reasons) == 0 {
		return
	}
	concerned := []*shadow{c.shadows[w.Job.Tenant], nil}
	if c.laneOf(w.Job.Tenant) == "" {
		concerned[1] = c.shadows[""]
	}
	var s shown
	for _, sh := range concerned {
		if sh == nil {
			continue
		}
		if len(sh.queue) == cap(sh.queue) { // nobody else adds to it
			sh.dropped.Add(1)
			continue
		}
		if s.basis == nil {
			s = shown{basis: c.loop.Basis(w, d), at: c.now(), made: &sched.GangPlan{Decision: *d, Members: made.Members}, policies: c.loop.State().Policies()}
		}
		sh.queue <- s
	}
}

// newShadow makes a shadow that goes on from what is kept.
func newShadow(t *shadowTools, kept keptShadow) *shadow {
	return &shadow{tools: t, queue: make(chan shown, shadowQueue), kept: kept}
}

// begin has it work until end.
func (sh *shadow) begin(ctx context.Context) {
	sh.ctx, sh.stop = context.WithCancel(context.WithoutCancel(ctx))
	sh.gone.Go(func() { sh.work(sh.ctx) })
}

// end waits until it does nothing any more.
func (sh *shadow) end() {
	sh.stop()
	sh.gone.Wait()
}

// now gives a copy of what it has shown so far.
func (sh *shadow) now() keptShadow {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	k := sh.kept
	k.Tally = *sh.kept.Tally.Clone()
	k.Tally.Dropped += sh.dropped.Load()
	return k
}

// save puts what it has shown into the store.
func (sh *shadow) save(ctx context.Context) {
	k := sh.now()
	sh.mu.Lock()
	dirty := sh.dirty
	sh.dirty = false
	sh.mu.Unlock()
	if !dirty {
		return
	}
	if err := sh.put(ctx, &k); err != nil {
		sh.tools.log.Warn("the report of a shadow is not kept", "tenant", string(k.Activation.Tenant), "error", err)
		sh.mu.Lock()
		sh.dirty = true
		sh.mu.Unlock()
	}
}

func (sh *shadow) put(ctx context.Context, k *keptShadow) error {
	body, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("write the report of a shadow: %w", err)
	}
	return sh.tools.keep(ctx, store.ShadowRow{Tenant: string(k.Activation.Tenant), Body: body})
}

// besides names what is in force under and beside a tenant's shadow.
func besides(p *state.Policies, tenant poise.TenantID) string {
	text := ""
	if s := p.Scheduler(); s != nil {
		text = fmt.Sprintf("%+v", *s)
	}
	for _, id := range []poise.TenantID{"", tenant} {
		if a := p.Activation(id); a != nil {
			text += fmt.Sprintf(" %q %d %v", id, a.Index, a.Quarantined)
		}
	}
	return text
}

// sameShadow says whether an activation would put in force what the shadow ran.
func sameShadow(a, b *poise.Activation) bool {
	return a.Digest == b.Digest && maps.Equal(a.Params, b.Params) && a.Weight == b.Weight
}

// sharedBucket is a bucket that several goroutines take from.
type sharedBucket struct {
	mu sync.Mutex
	bucket
}

// take takes fuel out and gives how long to take no more.
func (b *sharedBucket) take(fuel, rate int64, now poise.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if until := b.bucket.take(fuel, rate, now); until > now {
		return time.Duration(until-now) * time.Millisecond
	}
	return 0
}
