package sim

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/sim/baseline"
	"github.com/poise-sched/poise/host/state"
)

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// second is one in milliseconds.
const second = 1000

// shared is what lies beside the repository, examples what lies in it.
var (
	shared   = filepath.Join("..", "..", "..", "shared")
	examples = filepath.Join("..", "..", "examples")
)

// trace is a fleet and a job file as a run takes them.
type trace struct {
	nodes    []poise.Node
	arrivals []Arrival
	requests []poise.Request // with the models as the file writes them
	tenants  []poise.Tenant
}

func readTrace(t *testing.T, nodes, jobs string) *trace {
	t.Helper()
	fleet, err := manifest.ReadNodes(nodes)
	if err != nil {
		t.Fatal(err)
	}
	list, err := manifest.ReadJobs(jobs)
	if err != nil {
		t.Fatal(err)
	}
	return newTrace(fleet, list)
}

func newTrace(nodes []poise.Node, jobs []manifest.Job) *trace {
	tr := &trace{nodes: nodes}
	for i := range jobs {
		j := &jobs[i]
		tr.arrivals = append(tr.arrivals, Arrival{
			Job: j.Job, At: j.Submit, Needs: loop.Needs{Any: j.Any, Failed: j.Failed},
			Fate: Fate{Took: j.Took, ExitCode: j.ExitCode, Fails: j.Fails, Release: j.Release},
		})
		r := jobs[i].Request
		if text := jobs[i].ModelText; text != "" {
			r.Device.Models = strings.Split(text, "|")
		}
		tr.requests = append(tr.requests, r)
	}
	return tr
}

// openb reads a workload of the published experiment; where the traces are
// absent, the test is skipped.
func openb(t *testing.T, workload string) *trace {
	t.Helper()
	folder := filepath.Join(shared, "traces", "openb")
	if _, err := os.Stat(folder); os.IsNotExist(err) {
		t.Skipf("no traces at %s", folder)
	}
	return readTrace(t, filepath.Join(folder, "openb_node_list_gpu_node.csv.gz"), filepath.Join(folder, "openb_pod_list_"+workload+".csv.gz"))
}

// example reads the fleet and jobs of the demonstration.
func example(t *testing.T) *trace {
	t.Helper()
	return readTrace(t, filepath.Join(examples, "fleets", "mixed.yaml"), filepath.Join(examples, "jobs", "two-tenants.yaml"))
}

// small reads a fleet and jobs from YAML.
func small(t *testing.T, nodes, jobs string) *trace {
	t.Helper()
	fleet, err := manifest.DecodeNodes("fleet.yaml", strings.NewReader(nodes))
	if err != nil {
		t.Fatal(err)
	}
	w, err := manifest.DecodeWorkload("jobs.yaml", strings.NewReader(jobs))
	if err != nil {
		t.Fatal(err)
	}
	tr := newTrace(fleet, w.Jobs)
	tr.tenants = w.Tenants
	return tr
}

const (
	idleBalance = "idle-balance"
	unprotected = "idle-balance without protect_devices"
)

// configOf gives a policy of its own, as every run needs one.
func configOf(t fataler, name string, requests []poise.Request) Config {
	t.Helper()
	c := Config{Params: balance.Defaults()}
	if slices.Contains(baseline.Names(), name) {
		p, err := baseline.New(name, requests)
		if err != nil {
			t.Fatalf("baseline: %v", err)
		}
		c.Policy = p
		return c
	}
	spread, err := balance.NewSpread(nil)
	if err != nil {
		t.Fatalf("spread: %v", err)
	}
	demand, err := balance.NewDemand(c.Params)
	if err != nil {
		t.Fatalf("demand: %v", err)
	}
	c.Policy = sched.Policy{Name: name, WantsProfile: name != "idle-balance-spread"}
	switch name {
	case idleBalance:
		c.Policy.Scorer, c.Policy.ProtectDevices = balance.NewAuto(spread, demand, true), true
	case unprotected:
		c.Policy.Scorer = balance.NewAuto(spread, demand, false)
	default:
		t.Fatalf("policy %q: unknown", name)
	}
	return c
}

// replayed runs a replay that must not fail, with a sweep that never comes
// unless the settings say otherwise.
func replayed(t fataler, c Config, nodes []poise.Node, arrivals []Arrival) *Result {
	t.Helper()
	r, err := RunReplay(c, patient(), nodes, arrivals, 0)
	if err != nil {
		t.Fatalf("replay: %v", err)
	}
	return r
}

// patient are settings under which the sweep, which would hide a wake-up that
// was lost, comes as late as can be.
func patient() queue.Settings {
	q := queue.Defaults()
	q.Sweep = 24 * 60 * 60 * second
	return q
}

// diary writes down what happens in a run, a line an event or refusal.
type diary struct {
	bytes.Buffer
	now      poise.Time
	fates    []Arrival
	failures map[poise.JobID]int32
}

// watch makes the run write into the diary. A refusal has no event of its own:
// it happens at the time of the last one.
func (d *diary) watch(c *Config) {
	d.failures = map[poise.JobID]int32{}
	c.Record = func(ev poise.Event) {
		d.now = ev.At
		switch b := ev.Body.(type) {
		case poise.JobSubmitted:
			d.line("%s arrives", b.Job.ID)
		case poise.JobPlaced:
			d.start(&b.Placement)
		case poise.GangPlaced:
			for i := range b.Placements {
				d.start(&b.Placements[i])
			}
		case poise.JobFinished:
			d.ends(b.Job)
		case poise.JobPreempted:
			d.line("%s makes room for %s by %gs", b.Job, b.By, poise.Span(b.Until).Seconds())
		case poise.JobRequeued:
			text := ""
			if b.Failed {
				d.failures[b.Job]++
				text = " after a failure"
			}
			if b.NotBefore > 0 {
				text += fmt.Sprintf(", not before %gs", poise.Span(b.NotBefore).Seconds())
			}
			d.line("%s waits again%s", b.Job, text)
		case poise.JobReleased:
			d.line("%s is released", b.Job)
		case poise.JobWithdrawn:
			d.line("%s is withdrawn", b.Job)
		}
	}
	c.Observe = func(j *state.Job, decision *poise.Decision) {
		if decision.Verdict != poise.Placed {
			d.line("%s waits: %s", j.ID, decision.Verdict)
		}
	}
}

func (d *diary) start(p *poise.Placement) {
	d.line("%s starts on %s%s", p.Job, p.Node, devicesText(p.Devices))
}

// ends says how a job that ran did, as far as the diary knows its fate.
func (d *diary) ends(id poise.JobID) {
	i := slices.IndexFunc(d.fates, func(a Arrival) bool { return a.Job.ID == id })
	switch {
	case i >= 0 && d.now == d.fates[i].Job.FinishBy:
		d.line("%s is stopped", id)
	case i >= 0 && d.fates[i].fails(d.failures[id]):
		d.line("%s fails with exit code %d", id, d.fates[i].ExitCode)
	default:
		d.line("%s ends", id)
	}
}

func (d *diary) line(format string, args ...any) {
	fmt.Fprintf(d, "%gs %s\n", poise.Span(d.now).Seconds(), fmt.Sprintf(format, args...))
}

func devicesText(devices []uint16) string {
	if len(devices) == 0 {
		return ""
	}
	return fmt.Sprint(" device ", strings.Trim(fmt.Sprint(devices), "[]"))
}
