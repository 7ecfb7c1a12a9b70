package daemon

import (
	"context"
	"crypto/x509"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/local"
	"github.com/poise-sched/poise/host/engine/sim"
	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/node"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/registry"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/store"
	"github.com/poise-sched/poise/host/telemetry"
)

// Options are what a Daemon is made of beside its configuration.
type Options struct {
	Config  *config.Live
	Log     *slog.Logger
	Level   *slog.LevelVar // of Log, where the configuration is to change it
	Shim    []string       // command of a task's shim
	Compile []string       // command of the compile child
	Conform []string       // command of the child that checks a plugin against the contract
	Version string
	// Secured, where set, is told the certificate that the address is served with,
	// if any, just before Serve is ready.
	Secured func(*x509.Certificate)
	// Written, where set, is told of each durable transaction, before what waits
	// for it goes on: how a benchmark learns what the store had to take.
	Written func(group []store.Batch)
}

// Daemon is a running scheduler on one machine.
type Daemon struct {
	options  Options
	log      *slog.Logger
	store    *store.Store
	core     *core
	board    *board
	hands    *hands
	builder  *stack.Builder
	outlooks outlooks
	local    *local.Engine // nil where engine.kind is sim
	sim      *sim.Engine
	outside  *external
	began    time.Time
	ready    atomic.Bool
	follows  follows
	kubes    kubes
	home     *home // nil: there is no other replica
	tenants  tenants
	changing sync.Mutex // of what is in force
	saving   sync.Mutex // of snapshot files
	advising sync.Mutex // on the fleet
	dry      dryRuns
	shading  sync.Mutex // of what runs as a shadow
	shades   *shadowTools
	probes   probes
	gate     *registry.Gate // of pushes
	metrics  *telemetry.Metrics

	registry *prometheus.Registry
}

// now is the daemon's clock.
func now() poise.Time { return poise.Time(time.Now().UnixMilli()) }

// Open recovers a daemon from its data directory, which is made where it is
// missing. Nothing runs before Run.
func Open(ctx context.Context, o Options) (*Daemon, error) { return openWith(ctx, o, nil) }

func openWith(ctx context.Context, o Options, h *home) (*Daemon, error) {
	c := &o.Config.Current().Config
	if err := makeDataDir(c.DataDir); err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	metrics, err := telemetry.New(registry, o.Version)
	if err != nil {
		return nil, err
	}
	metrics.ConfigReload(time.Now(), true, 0)
	s, err := openStore(ctx, c.DataDir, h, store.Options{
		Now: func() int64 { return int64(now()) },
		Observe: func(group []store.Batch, took time.Duration) {
			records := 0
			for i := range group {
				records += len(group[i].Records)
			}
			metrics.Commit(took, records)
			if o.Written != nil {
				o.Written(group)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	d := &Daemon{
		options: o, log: o.Log, store: s, board: newBoard(), hands: newHands(engineHands), outside: newExternal(), began: time.Now(), follows: newFollows(), kubes: newKubes(), probes: newProbes(), home: h,
		gate:    newGate(),
		builder: builder(c, o.Compile, s), outlooks: outlooks{turn: make(chan struct{}, 1)}, registry: registry, metrics: metrics,
	}
	if err := d.recover(ctx, c); err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

func (d *Daemon) recover(ctx context.Context, c *config.Config) error {
	r, err := restore(ctx, d.store, state.Settings{}, d.log)
	if err != nil {
		return err
	}
	if d.core, err = newCore(r, c); err != nil {
		return err
	}
	d.core.store, d.core.lookup, d.core.log, d.core.now, d.core.board, d.core.hands, d.core.engines = d.store, d.store, d.log, now, d.board, d.hands, d.engineOf
	d.core.metrics = d.metrics
	records, err := d.takeOver(ctx)
	if err != nil {
		return err
	}
	d.core.tenantFuel = func() int64 { return d.options.Config.Current().Config.Policy.Limits.TenantFuel }
	d.core.faulted = func(a poise.Activation) {
		go func() {
			if err := d.quarantine(context.WithoutCancel(ctx), a, true); err != nil {
				d.log.Error("a plugin is not put into quarantine", "tenant", string(a.Tenant), "plugin", a.Plugin, "error", err)
			}
		}()
	}
	d.core.after = func(wait time.Duration, f func()) { time.AfterFunc(wait, f) }
	if err := d.openEngines(c); err != nil {
		return err
	}
	if err := d.openLanes(ctx, c); err != nil {
		return err
	}
	if err := d.takeUpKubes(ctx); err != nil {
		return err
	}
	if err := d.joinInCluster(ctx, c); err != nil {
		return err
	}
	if err := d.core.resume(); err != nil {
		return err
	}
	if err := d.goOn(ctx, records); err != nil {
		return err
	}
	d.tenants.know(d.core)
	if err := d.openShadows(ctx); err != nil {
		return err
	}
	if err := d.takeUpFollows(ctx); err != nil {
		return err
	}
	if err := d.joinOwn(ctx, c); err != nil {
		return err
	}
	d.core.publish()
	if d.home == nil {
		return nil
	}
	return d.core.landAll(ctx) // who asks from now on is told of what was taken over
}

// openLanes puts in force what is recorded and what the configuration says.
func (d *Daemon) openLanes(ctx context.Context, c *config.Config) error {
	now := d.core.loop.State().Policies()
	bodies, err := d.configured(ctx, c, now)
	if err != nil {
		return err
	}
	s, err := d.prepare(ctx, now, bodies, true)
	if err != nil {
		return err
	}
	for _, l := range s.open {
		if err := l.stack.Fault(); err != nil {
			d.log.Error("a plugin is not in force, its failure rule decides", "tenant", string(l.tenant), "error", err)
		}
	}
	if r := d.core.classes; r != nil {
		d.core.loop.UseModel(r)
	}
	return d.core.swap(s)
}

// newCore makes a loop that goes on from a recovered state. What it works with is
// its owner's to add.
func newCore(r *recovered, c *config.Config) (*core, error) {
	made := &core{}
	ends := preemption(c)
	l, err := loop.New(r.state, loop.Settings{
		Preempt: &ends,
		Queue: queue.Settings{
			Step: span(c.Queue.Step), Sweep: span(c.Queue.Sweep), RetryBase: span(c.Queue.RetryBase), RetryMax: span(c.Queue.RetryMax),
		},
		Params: balance.Defaults(), LaneOf: func(tenant poise.TenantID) string { return made.laneOf(tenant) },
		Reservations: int(c.Queue.Reservations), Patience: span(c.Queue.Patience),
	})
	*made = core{
		lanes: map[poise.TenantID]*lane{}, fuel: map[poise.TenantID]*bucket{}, shadows: map[poise.TenantID]*shadow{}, slots: make(chan struct{}, planners()),
		newID: newID, loop: l, commands: make(chan func(*core), turnCommands), planned: make(chan planned),
		landed: make(chan struct{}, 1), stopped: make(chan struct{}), flights: newFlights(),
		adopting: newAdopting(), cancelled: map[poise.JobID]bool{},
		jobs: r.jobs, byPlace: r.byPlace, keys: newKeys(), classes: r.classes,
		retryBase: c.Queue.RetryBase, retryMax: c.Queue.RetryMax,
		snapshotEvery: uint64(c.Store.SnapshotEvery), snapshotAt: r.snapshot,
	}
	return made, err
}

// newID gives an id that nobody else has; later ones are larger.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// openEngines makes the engines of the configured kind.
func (d *Daemon) openEngines(c *config.Config) error {
	s, err := sim.New(sim.Options{Scale: c.Engine.SimScale, Default: sim.DefaultRunTime})
	if err != nil {
		return err
	}
	d.sim = s
	if c.Engine.Kind == "sim" {
		return nil
	}
	e, err := local.New(local.Options{Dir: filepath.Join(c.DataDir, "tasks"), Shim: d.options.Shim, Now: now, LogLimit: int64(c.Engine.LogLimit), Isolate: d.isolates})
	d.local = e
	return err
}

// joinOwn joins this machine and the nodes of the configured inventory.
func (d *Daemon) joinOwn(ctx context.Context, c *config.Config) error {
	if d.local != nil {
		machine, err := node.Machine(ctx, node.Settings{Cluster: c.Cluster.Name, DataDir: c.DataDir, ReserveMemory: int64(c.Engine.ReserveMemory)})
		if err != nil {
			return err
		}
		// Alone: one under an earlier name of this machine is not there any more.
		if err := d.core.joinAll(c.Cluster.Name, []poise.Node{machine.Node}); err != nil {
			return err
		}
	}
	if c.Cluster.Inventory != "" {
		nodes, err := manifest.ReadNodes(c.Cluster.Inventory)
		if err != nil {
			return err
		}
		if err := d.core.joinAll(simCluster(c), nodes); err != nil {
			return err
		}
	}
	return d.core.classify(modelSettings(c), false)
}

// simCluster is the cluster that the configured inventory's nodes join.
func simCluster(c *config.Config) string {
	if c.Engine.Kind == "sim" {
		return c.Cluster.Name
	}
	return "inventory"
}

func modelSettings(c *config.Config) model.Settings {
	s := model.Defaults()
	s.Resolution, s.WeightExponent = c.Model.Resolution, c.Model.WeightExponent
	if len(c.Model.Features) > 0 {
		s.Features = c.Model.Features
	}
	return s
}

func span(d time.Duration) poise.Span { return poise.Span(d.Milliseconds()) }

// engineOf gives the engine that runs the tasks of a cluster's nodes.
func (d *Daemon) engineOf(cluster string) binder {
	switch {
	case cluster == externalCluster:
		return d.outside
	case d.own(cluster):
		return d.local
	}
	if k := d.kube(cluster); k != nil {
		return k
	}
	return d.sim
}

// Run decides until ctx ends. The API may be asked from the beginning.
func (d *Daemon) Run(ctx context.Context) error {
	defer d.hands.close()
	makeRoom()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.core.run(ctx) })
	g.Go(func() error { return d.core.land(ctx) })
	engines := []interface {
		engine.Engine
		binder
	}{d.sim, d.outside}
	if d.local != nil {
		engines = append(engines, d.local)
	}
	for _, e := range engines {
		g.Go(func() error {
			err := e.Watch(ctx, func(s engine.Status) { d.core.tell(func(c *core) { c.status(e, s) }) })
			if ctx.Err() != nil {
				return nil
			}
			return err
		})
	}
	g.Go(func() error { return d.watchNodes(ctx) })
	g.Go(func() error { return d.runKubes(ctx) })
	g.Go(func() error { return d.meter(ctx) })
	g.Go(func() error { return d.retain(ctx) })
	g.Go(func() error { return d.probe(ctx) })
	d.ready.Store(true)
	defer d.ready.Store(false)
	return g.Wait()
}

// do runs f in the loop and gives its error. What it appended may not be durable
// yet. Once do has returned f does not run any more, so it may write to variables
// of its caller.
func (d *Daemon) do(ctx context.Context, f func(*core) error) error {
	if ctx.Err() != nil {
		return unavailable(ctx)
	}
	done := make(chan error, 1)
	var taken atomic.Bool // by the loop, or by a caller that has given up
	run := func(c *core) {
		if taken.CompareAndSwap(false, true) {
			done <- f(c)
		}
	}
	select {
	case d.core.commands <- run:
	case <-d.core.stopped:
		return stopping()
	case <-ctx.Done():
		return unavailable(ctx)
	}
	var gaveUp error
	select {
	case err := <-done:
		return err
	case <-d.core.stopped:
		gaveUp = stopping()
	case <-ctx.Done():
		gaveUp = unavailable(ctx)
	}
	if taken.CompareAndSwap(false, true) {
		return gaveUp
	}
	return <-done // it runs now
}

// durably runs f in the loop and returns when what it appended is durable.
func (d *Daemon) durably(ctx context.Context, f func(*core) error) error {
	done := make(chan error, 2)
	err := d.do(ctx, func(c *core) error {
		if err := c.store.Stalled(); err != nil {
			return err
		}
		if err := f(c); err != nil {
			return err
		}
		c.then(func() { done <- nil }, func(err error) { done <- err })
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-d.core.stopped:
		return stopping()
	case <-ctx.Done():
		return unavailable(ctx)
	}
}

func stopping() error {
	return &poise.Error{Kind: poise.Unavailable, Op: "ask the scheduler", Detail: "it is stopping"}
}

func unavailable(ctx context.Context) error {
	return &poise.Error{Kind: poise.Unavailable, Op: "ask the scheduler", Detail: "no answer in time", Err: ctx.Err()}
}

// Close ends what Open began. Tasks go on.
func (d *Daemon) Close() error {
	d.closeShadows()
	if d.local != nil {
		_ = d.local.Close()
	}
	if d.sim != nil {
		_ = d.sim.Close()
	}
	d.dry.close()
	d.builder.Close(context.Background())
	return d.store.Close()
}
