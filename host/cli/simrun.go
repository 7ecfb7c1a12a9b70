package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/sim"
	"github.com/poise-sched/poise/host/state"
)

// workload is a job file as read.
type workload struct {
	name     string
	tenants  []poise.Tenant
	arrivals []sim.Arrival
	requests []poise.Request
	demand   []state.Seen // of the whole file; nil for the online profile
	kinds    []state.Seen // the same for plugins, models as the file writes them
}

// explained is a decision on a job that --why asked for.
type explained struct {
	job      state.Job
	decision poise.Decision
}

// runSim makes every run that the flags ask for, as many at a time as there
// are cores, and prints the results in the order in which they were asked for.
func runSim(s Streams, o *simOptions, policies []string, seeds []int64, jobs []string, why []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if len(jobs) == 0 || jobs[0] == "" {
		return usagef("--jobs: not given, expected a job file")
	}
	if !(o.weight >= 0) || o.weight > 1e6 {
		return usagef("--weight %v: expected 0 to 1e6", o.weight)
	}
	field, done, err := contenders(policies)
	if err != nil {
		return err
	}
	defer done()
	given, others, declared := splitParams(o.params, field)
	params, err := parseParams(others, declared...)
	if err != nil {
		return err
	}
	for i := range field {
		if err := field[i].checkParams(given); err != nil {
			return err
		}
	}
	nodes, err := manifest.ReadNodes(o.nodes)
	if err != nil {
		return err
	}
	if nodes, err = sim.Thin(nodes, o.thin); err != nil {
		return err
	}
	workloads := make([]*workload, len(jobs))
	for i, path := range jobs {
		if workloads[i], err = readWorkload(path, o.profile == "workload"); err != nil {
			return err
		}
	}
	for i := range field { // a wrong name or parameter fails before anything runs
		if o.profile == "online" && field[i].name == "fgd" {
			return usagef("--profile online: fgd takes its typical tasks from the whole workload, expected --profile workload or none")
		}
		e, err := field[i].enter(&params, given, o.weight, workloads[0].requests)
		if err != nil {
			return err
		}
		e.close()
	}

	var classes *model.Model
	if o.model {
		if classes, err = model.Build(nodes, model.Defaults(), nil); err != nil {
			return err
		}
	}
	results := make([]*sim.Result, len(workloads)*len(policies)*len(o.queues)*len(seeds))
	progress := report.NewProgress(s.Err, s.terminal(), len(results))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	explanations := &explanations{names: why, found: map[string][]explained{}}
	i := 0
	for _, w := range workloads {
		for c := range field {
			for q := range o.queues {
				for _, seed := range seeds {
					slot := &results[i]
					i++
					group.Go(func() error {
						r, err := runOne(o, &o.queues[q], &params, given, nodes, classes, w, &field[c], seed, explanations)
						*slot = r
						progress.Step()
						return err
					})
				}
			}
		}
	}
	err = group.Wait()
	progress.Done()
	if err != nil {
		return err
	}
	return printResults(s, o, results, explanations)
}

func readWorkload(path string, whole bool) (*workload, error) {
	read, err := manifest.ReadWorkload(path)
	if err != nil {
		return nil, err
	}
	list := read.Jobs
	base := filepath.Base(path)
	name, _, _ := strings.Cut(base, ".")
	w := &workload{name: strings.TrimPrefix(name, "openb_pod_list_"), tenants: read.Tenants}
	for i := range list {
		j := &list[i]
		w.arrivals = append(w.arrivals, sim.Arrival{
			Job: j.Job, At: j.Submit, Needs: loop.Needs{Any: j.Any, Failed: j.Failed},
			Fate: sim.Fate{Took: j.Took, ExitCode: j.ExitCode, Fails: j.Fails, Release: j.Release},
		})
		request := list[i].Request
		if text := list[i].ModelText; text != "" {
			request.Device.Models = strings.Split(text, "|") // fgd tells kinds of jobs apart by it
		}
		w.requests = append(w.requests, request)
	}
	if whole {
		w.kinds = state.Count(w.requests)
		w.demand, err = sim.WorkloadDemand(w.arrivals)
	}
	return w, err
}

func runOne(
	o *simOptions, q *simQueue, params *settings, given map[string]string, nodes []poise.Node, classes *model.Model,
	w *workload, c *contender, seed int64, x *explanations,
) (*sim.Result, error) {
	e, err := c.enter(params, given, o.weight, w.requests)
	if err != nil {
		return nil, err
	}
	defer e.close()
	e.policy.Seed += uint64(seed)
	o.setTies(&e.policy)
	config := sim.Config{
		Policy: e.policy, Tenants: w.tenants, Symbols: e.symbols, Params: params.params, HalfLife: params.halfLife, Workload: w.demand, Kinds: w.kinds, Model: classes,
		Explain: x.wanted, Observe: x.observe,
	}
	q.set(&config)
	if len(x.names) == 0 {
		config.Explain, config.Observe = nil, nil
	}
	began := time.Now()
	r, err := simulate(o, config, nodes, w, seed)
	if err != nil {
		return nil, err
	}
	r.Workload, r.Seed = w.name, seed
	if r.Replay != nil {
		r.Replay.Queue = q.used()
	}
	r.DecisionsPerSecond = float64(r.Attempts) / max(time.Since(began).Seconds(), 1e-9)
	return r, nil
}

func simulate(o *simOptions, c sim.Config, nodes []poise.Node, w *workload, seed int64) (*sim.Result, error) {
	if o.mode == string(sim.ModeInflate) {
		list, err := sim.Inflate(nodes, w.arrivals, o.arrivals, seed)
		if err != nil {
			return nil, err
		}
		return sim.RunInflate(c, nodes, list)
	}
	arrivals, err := sim.Copy(w.arrivals, o.copies, seed)
	if err != nil {
		return nil, err
	}
	return sim.RunReplay(c, queue.Defaults(), nodes, arrivals, poise.Time(o.from.Milliseconds()))
}

// explanations gathers the decisions that --why asks for.
type explanations struct {
	names []string
	mu    sync.Mutex
	found map[string][]explained // by the name that was asked for
}

func (x *explanations) asked(j *state.Job) (string, bool) {
	i := slices.IndexFunc(x.names, func(name string) bool { return name == j.Name || name == string(j.ID) })
	if i < 0 {
		return "", false
	}
	return x.names[i], true
}

func (x *explanations) wanted(j *state.Job) bool {
	_, ok := x.asked(j)
	return ok
}

func (x *explanations) observe(j *state.Job, d *poise.Decision) {
	if name, ok := x.asked(j); ok {
		x.mu.Lock()
		x.found[name] = append(x.found[name], explained{job: *j, decision: *d})
		x.mu.Unlock()
	}
}

// missing lists the names that no job had.
func (x *explanations) missing() []string {
	return slices.DeleteFunc(slices.Clone(x.names), func(name string) bool { return len(x.found[name]) > 0 })
}

func printResults(s Streams, o *simOptions, results []*sim.Result, x *explanations) error {
	if missing := x.missing(); len(missing) > 0 {
		return notFound(missing)
	}
	for path, write := range map[string]func(*sheet) error{
		o.html: func(f *sheet) error { return report.HTML(f, results, "poise sim "+o.mode) },
		o.svg:  func(f *sheet) error { return report.CurvesSVG(f, results) },
	} {
		if path == "" {
			continue
		}
		if err := writeFile(path, write); err != nil {
			return err
		}
	}
	switch o.output {
	case "json":
		return report.JSON(s.Out, results)
	case "csv":
		return report.CSV(s.Out, results)
	}
	for _, name := range x.names {
		if err := printExplained(s, x.found[name]); err != nil {
			return err
		}
	}
	if o.mode == string(sim.ModeReplay) {
		if err := queueHead(s.Out, o.queues); err != nil {
			return err
		}
	}
	if err := report.Table(s.Out, results); err != nil || len(results) > 1 {
		return err
	}
	fmt.Fprintln(s.Out)
	return report.Summary(s.Out, results[0])
}

// printExplained prints the first decision on a job and, where it was tried
// again, the last.
func printExplained(s Streams, all []explained) error {
	shown := all[:1]
	if len(all) > 1 {
		shown = []explained{all[0], all[len(all)-1]}
	}
	for i := range shown {
		if err := report.Why(s.Out, &shown[i].job, &shown[i].decision, cmp.Or(i*len(all), 1), len(all)); err != nil {
			return err
		}
	}
	return nil
}
