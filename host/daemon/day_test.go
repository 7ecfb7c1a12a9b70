package daemon

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/store"
	"github.com/poise-sched/poise/host/telemetry"
)

var (
	dayNodes  = flag.Int("day.nodes", 600, "nodes of TestDay; the whole day has 10000")
	daySpan   = flag.Duration("day.span", 10*time.Minute, "virtual time of TestDay; the whole day has 1h")
	dayBuilds = flag.Bool("day.builds", false, "TestDay replays with binaries for GOAMD64=v1 and v3 too")
	dayDir    = flag.String("day.dir", "", "data directory that TestDay leaves behind; default none")
)

// day is a daemon's core in virtual time over a store on the disk: tasks take
// their run time, nodes come and go, policies change, and what is planned
// elsewhere is settled a second later.
type day struct {
	*Daemon
	t       *testing.T
	r       *rand.Rand
	clock   poise.Time
	engine  dayEngine
	ends    map[poise.Time][]string // placements
	air     []planned
	names   []string // of the nodes
	made    int
	jobs    int
	at      time.Duration
	settled int
}

// dayEngine takes every task, which then runs.
type dayEngine struct{ bound []engine.Binding }

func (e *dayEngine) Bind(_ context.Context, b engine.Binding) error {
	e.bound = append(e.bound, b)
	return nil
}
func (e *dayEngine) Evict(context.Context, string, poise.Span) error { return nil }
func (e *dayEngine) Forget(context.Context, string) error            { return nil }

// atOnce does what is to be done when it is told.
type atOnce struct{}

func (atOnce) do(_ string, f func()) { f() }

// newDay begins a day on a data directory.
func newDay(t *testing.T, dir string, c *config.Config) *day {
	t.Helper()
	d := &day{t: t, r: rand.New(rand.NewSource(1)), clock: 1_800_000_000_000, ends: map[poise.Time][]string{}}
	s, err := store.Open(t.Context(), store.Options{Dir: storeDir(dir), Now: func() int64 { return int64(d.clock) }})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := telemetry.New(prometheus.NewRegistry(), "day")
	if err != nil {
		t.Fatal(err)
	}
	r, err := restore(t.Context(), s, state.Settings{}, log)
	if err != nil {
		t.Fatal(err)
	}
	core, err := newCore(r, c)
	if err != nil {
		t.Fatal(err)
	}
	core.store, core.log, core.board, core.hands, core.metrics = s, log, newBoard(), atOnce{}, metrics
	core.now = func() poise.Time { return d.clock }
	core.after = func(time.Duration, func()) { panic("BUG: no bind fails here") }
	core.engines = func(string) binder { return &d.engine }
	d.Daemon = &Daemon{store: s, core: core, log: log, builder: builder(c, []string{self, "plugin-compile"}, s)}
	return d
}

func (d *day) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// put puts events about policies in force.
func (d *day) put(bodies ...poise.Body) {
	d.t.Helper()
	s, err := d.prepare(d.t.Context(), d.core.loop.State().Policies(), bodies, false)
	d.must(err)
	d.must(d.core.swap(s))
}

func (d *day) activate(tenant poise.TenantID, plugin string, params map[string]string) {
	d.t.Helper()
	bin, _ := wasm(d.t, plugin)
	a := poise.Activation{Tenant: tenant, Params: params, By: "day"}
	d.must(d.admit(d.t.Context(), d.core.loop.State().Policies().Scheduler(), bin, &a))
	d.put(poise.PolicySet{Activation: a})
}

// join joins a node of one of a few kinds.
func (d *day) join() {
	d.t.Helper()
	d.made++
	n := poise.Node{Name: fmt.Sprintf("n%05d", d.made), Cluster: "day", Labels: []poise.Label{{Key: "zone", Value: fmt.Sprint("z", d.made%5)}}}
	cpu, memory := int64(8<<d.r.Intn(4)), int64(4)
	switch d.made % 6 {
	case 0:
		n.Devices = poise.Devices{Kind: "gpu", Model: "L4", Count: 4}
	case 1:
		n.Devices = poise.Devices{Kind: "gpu", Model: "A100", Count: 8}
	case 2:
		memory = 16
	}
	n.Capacity = resource.List{{Name: "cpu", Value: cpu * 1000}, {Name: "memory", Value: cpu * memory << 30}}
	d.must(d.core.join(n))
	d.names = append(d.names, n.Name)
}

// leave lets a node go, with what runs on it.
func (d *day) leave() {
	d.t.Helper()
	i := d.r.Intn(len(d.names))
	d.must(d.core.leave(d.names[i]))
	d.names[i] = d.names[len(d.names)-1]
	d.names = d.names[:len(d.names)-1]
}

// submit submits a job of one of a few shapes.
func (d *day) submit() {
	d.jobs++
	j := poise.Job{
		ID: "later", Name: fmt.Sprint("j", d.jobs), Tasks: 1, Priority: int32(d.r.Intn(3)), RunTime: poise.Span(60_000 * (1 + d.r.Intn(30))),
		Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: 1000 << d.r.Intn(4)}, {Name: "memory", Value: 1 << (30 + d.r.Intn(3))}}},
	}
	switch d.r.Intn(4) {
	case 0:
		j.Request.Device = poise.DeviceRequest{Kind: "gpu", Count: int32(1 << d.r.Intn(4)), Milli: poise.WholeDevice}
	case 1:
		j.Request.Device = poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 250}
	}
	tenant := []poise.TenantID{"t", "u", "v"}[d.r.Intn(3)]
	d.core.submit([]Spec{{Command: []string{"run"}, Job: j}}, tenant, "", nil, func(_ []store.JobRow, err error) { d.must(err) })
}

// second lets a second pass.
func (d *day) second() {
	d.t.Helper()
	d.clock += 1000
	d.at += time.Second
	c := d.core
	for range d.r.Intn(5) {
		d.submit()
	}
	if d.r.Intn(10) == 0 {
		d.join()
	}
	if d.r.Intn(10) == 0 {
		d.leave()
	}
	for _, p := range d.ends[d.clock/1000] {
		c.status(&d.engine, engine.Status{Placement: p, State: engine.Succeeded})
	}
	delete(d.ends, d.clock/1000)
	d.settle()
	d.decideNow()
	d.catch()
	d.write()
	c.publish()
}

// decideNow has everything planned that may be tried now.
func (d *day) decideNow() {
	d.t.Helper()
	for more := true; more; {
		var err error
		more, err = d.core.decide()
		d.must(err)
	}
}

// settle commits what was planned since the second before.
func (d *day) settle() {
	d.t.Helper()
	air := d.air
	d.air = nil
	for _, p := range air {
		p.lane.back()
		d.must(d.core.settle(p.work))
		d.settled++
	}
}

// catch takes what is planned on other goroutines, by the name of the job, so
// that each run makes the same decisions.
func (d *day) catch() {
	out := -len(d.air)
	for _, l := range d.core.lanes {
		out += l.out
	}
	for range out {
		d.air = append(d.air, <-d.core.planned)
	}
	sortPlanned(d.air)
}

// write makes durable what there is, and lets its effects happen.
func (d *day) write() {
	d.t.Helper()
	c := d.core
	d.must(c.flush(d.t.Context()))
	for len(c.flights.queue) > 0 {
		d.must(c.flights.queue[0].land(d.t.Context(), nil))
		c.flights.pop()
	}
	for _, b := range d.engine.bound {
		c.status(&d.engine, engine.Status{Placement: b.Placement, State: engine.Running})
		end := d.clock/1000 + poise.Time(b.RunTime/1000)
		d.ends[end] = append(d.ends[end], b.Placement)
	}
	d.engine.bound = nil
}

// TestDay lives through a day with plugins in force, and makes every decision of
// it again. All of it:
//
//	go test ./host/daemon -run TestDay -day.nodes 10000 -day.span 1h -day.builds -timeout 2h -v
func TestDay(t *testing.T) {
	dir := *dayDir
	if dir == "" {
		dir = filepath.Join(folder(t), "data")
	}
	nodes, span := *dayNodes, *daySpan
	if testing.Short() {
		nodes, span = min(nodes, 150), min(span, 3*time.Minute)
	}
	c := config.Defaults()
	c.DataDir, c.Store.SnapshotEvery = dir, int64(max(200, nodes/2))
	began := time.Now()
	d := newDay(t, dir, &c)
	d.live(nodes, span)
	took := time.Since(began)
	if err := d.store.Close(); err != nil {
		t.Fatal(err)
	}
	d.builder.Close(t.Context())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	decisions := 0
	for _, rerun := range []bool{false, true} {
		began := time.Now()
		got, err := Replay(t.Context(), &c, ReplayOptions{From: 1, RerunGuests: rerun, Compile: []string{self, "plugin-compile"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("rerun %v: %+v, %.1f s", rerun, got, time.Since(began).Seconds())
		if got.Index != 0 || got.Snapshots == 0 || !rerun && got.Recorded == 0 {
			t.Errorf("rerun %v: %+v, expected no difference, snapshots met, and answers taken from the records", rerun, got)
		}
		decisions = got.Decisions
	}
	t.Logf("%d nodes, %v: %d jobs, %d decisions to place, of them %d pieces of work of plugins, %d nodes joined; lived in %.1f s",
		nodes, span, d.jobs, decisions, d.settled, d.made, took.Seconds())
	if decisions < d.jobs/2 {
		t.Errorf("%d decisions about %d jobs, expected most of them placed", decisions, d.jobs)
	}
	if *dayBuilds {
		replayBuilds(t, dir, decisions)
	}
}

// live lives through a day.
func (d *day) live(nodes int, span time.Duration) {
	d.t.Helper()
	c := config.Defaults()
	d.put(poise.SchedulerSet{Scheduler: scheduler(&c)})
	for range nodes {
		d.join()
		if d.made%1000 == 0 {
			d.write()
		}
	}
	d.must(d.core.classify(model.Defaults(), true))
	d.write()
	d.core.publish()
	plan := []func(){
		func() {},
		func() { d.activate("", "dotproduct", nil) },
		func() { d.activate("u", "fgd", nil) },
		func() { d.activate("", "bestfit", nil) },
		func() { d.put(poise.PolicyRolledBack{}) },
		func() { d.activate("u", "gpu-reserve", nil) },
		func() { d.must(d.core.classify(model.Defaults(), true)) },
		func() { d.put(poise.PolicyRolledBack{Tenant: "u"}) },
		func() { d.put(poise.PolicyQuarantined{Tenant: "u", Quarantined: true}) },
		func() { d.put(poise.PolicyQuarantined{Tenant: "u"}) },
	}
	for i, change := range plan {
		change()
		for d.at < span*time.Duration(i+1)/time.Duration(len(plan)) {
			d.second()
		}
	}
	d.finish()
}

// finish commits what is under way.
func (d *day) finish() {
	d.t.Helper()
	for d.catch(); len(d.air) > 0; d.catch() {
		d.settle()
		d.write()
	}
	d.write()
}

// replayBuilds replays with binaries of other builds, that of this machine's
// generation only if it has what they need.
func replayBuilds(t *testing.T, dir string, decisions int) {
	if runtime.GOARCH != "amd64" {
		t.Skip("GOAMD64: this machine is another, expected amd64")
	}
	for _, level := range []string{"v1", "v3"} {
		if info, _ := os.ReadFile("/proc/cpuinfo"); level == "v3" && !strings.Contains(string(info), " avx2 ") {
			t.Log("GOAMD64=v3: not to be tried, this machine has no AVX2")
			continue
		}
		bin := filepath.Join(t.TempDir(), "poise-"+level)
		build := exec.Command("go", "build", "-o", bin, "../../cmd/poise")
		build.Env = append(os.Environ(), "GOAMD64="+level)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
		for _, more := range [][]string{{"--rerun-guests"}, nil} {
			began := time.Now()
			out, err := exec.Command(bin, append([]string{"replay", "--data-dir", dir, "--from", "1"}, more...)...).CombinedOutput()
			t.Logf("GOAMD64=%s %v: %s, %.1f s", level, more, strings.TrimSpace(string(out)), time.Since(began).Seconds())
			if want := fmt.Sprintf("%d decisions made again, equal to the bit", decisions); err != nil || !strings.Contains(string(out), want) {
				t.Errorf("GOAMD64=%s %v: %v, expected %s", level, more, err, want)
			}
		}
	}
}

func sortPlanned(all []planned) {
	slices.SortFunc(all, func(a, b planned) int { return cmp.Compare(a.work.Job.Seq, b.work.Job.Seq) })
}
