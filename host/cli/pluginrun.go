package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/snapshot"
)

// pluginRunOptions are the flags of plugin run.
type pluginRunOptions struct {
	file     string
	nodes    string
	snapshot string
	jobs     string
	job      string
	name     string
	running  string
	workload string
	params   []string
	weight   float64
	output   string
}

func newPluginRun(s Streams) *cobra.Command {
	o := pluginRunOptions{}
	cmd := &cobra.Command{
		Use:   "run FILE --nodes FLEET|--snapshot FILE [flags]",
		Short: "Let a plugin decide on one job or gang, and explain the decision",
		Long: "Let a plugin decide on one job, or on a gang as a whole, on a fleet in a file, and explain the\n" +
			"decision: who was refused and why, who was ranked and how, what the plugin used. What the plugin prints comes on\n" +
			"standard error. A fault shows its code and what the failure rule made of the job. With --snapshot\n" +
			"the plugin stands as a tenant's on the fleet and the policy of the cluster in the file.",
		Example: "  poise plugin run plugins/dotproduct/dotproduct.wasm --nodes examples/fleets/mixed.yaml \\\n" +
			"    --job '{job: j, request: {cpu: 4, gpu: 1}}'",
		Args: oneFile(&o.file),
		RunE: func(*cobra.Command, []string) error { return runPlugin(s, &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.nodes, "nodes", "", "fleet: an openb node CSV (plain or gzip), or Poise's YAML or JSONL")
	f.StringVar(&o.snapshot, "snapshot", "", "snapshot file, in place of --nodes, --running and --workload")
	f.StringVar(&o.jobs, "jobs", "", "file with the job")
	f.StringVar(&o.job, "job", "", "the job itself, as YAML")
	f.StringVar(&o.name, "name", "", "name of the job in --jobs, where the file has several")
	f.StringVar(&o.running, "running", "", "file of jobs that run already, each with its node")
	f.StringVar(&o.workload, "workload", "", "file of jobs that the demand profile counts; default: those that run and the job")
	paramFlag(f, &o.params)
	f.Float64Var(&o.weight, "weight", 0, "add the plugin's loss with this weight to that of idle-balance-spread; 0 = in its place")
	f.StringVarP(&o.output, "output", "o", "text", "text or json")
	return cmd
}

// scene reads the files that the flags name.
func (o *pluginRunOptions) scene() (*scene, error) {
	switch {
	case o.nodes == "" && o.snapshot == "":
		return nil, usagef("--nodes: not given, expected a fleet file, or --snapshot")
	case o.snapshot != "" && o.nodes+o.running+o.workload != "":
		return nil, usagef("--snapshot: it has the fleet and what runs, expected no --nodes, --running and --workload")
	case (o.jobs == "") == (o.job == ""):
		return nil, usagef("--jobs, --job: expected one of them, the job to place")
	case o.job != "" && o.name != "":
		return nil, usagef("--name: it picks a job from --jobs, expected no --job")
	case !(o.weight >= 0) || o.weight > 1e6:
		return nil, usagef("--weight %v: expected 0 to 1e6", o.weight)
	}
	if err := oneOf("output", o.output, "text", "json"); err != nil {
		return nil, err
	}
	sc := &scene{classes: true}
	picked, err := o.pick()
	if err != nil {
		return nil, err
	}
	sc.job, sc.beside = picked[0], picked[1:]
	if o.snapshot != "" {
		sc.snapshot, err = snapshot.Read(o.snapshot)
		return sc, err
	}
	if sc.nodes, err = manifest.ReadNodes(o.nodes); err != nil {
		return nil, err
	}
	if o.running != "" {
		if sc.running, err = manifest.ReadRunning(o.running); err != nil {
			return nil, err
		}
	}
	if o.workload != "" {
		if sc.workload, err = manifest.ReadJobs(o.workload); err != nil {
			return nil, err
		}
	}
	return sc, nil
}

// pick gives the job to place, or all members of the gang.
func (o *pluginRunOptions) pick() ([]manifest.Job, error) {
	if o.job != "" {
		list, err := manifest.DecodeInlineJobs("--job", o.job)
		if err == nil && !oneGang(list) {
			err = usagef("--job: it gives %d, expected one job, or all tasks of one gang", len(list))
		}
		return list, err
	}
	list, err := manifest.ReadJobs(o.jobs)
	if err != nil {
		return nil, err
	}
	if o.name == "" {
		if !oneGang(list) {
			return nil, usagef("--name: not given, expected one of the %d jobs of %s, such as %s", len(list), o.jobs, list[0].Name)
		}
		return list, nil
	}
	named := slices.DeleteFunc(slices.Clone(list), func(j manifest.Job) bool {
		return j.Name != o.name && (j.Gang == nil || j.Gang.Name != o.name)
	})
	switch {
	case len(named) == 0:
		return nil, &poise.Error{Kind: poise.NotFound, Op: "plugin run", Detail: fmt.Sprintf("--name %s: no such job in %s, expected a name such as %s", o.name, o.jobs, list[0].Name)}
	case !oneGang(named):
		return nil, &poise.Error{Kind: poise.Invalid, Op: "plugin run", Detail: fmt.Sprintf("--name %s: a task of gang %s, expected the gang, which starts as a whole", o.name, named[0].Gang.Name)}
	}
	return named, nil
}

// oneGang says whether jobs are a single one, or all members of one gang.
func oneGang(jobs []manifest.Job) bool {
	if len(jobs) == 1 && jobs[0].Gang == nil {
		return true
	}
	g := jobs[0].Gang
	return g != nil && len(jobs) == int(g.Size) && !slices.ContainsFunc(jobs, func(j manifest.Job) bool { return j.Gang == nil || j.Gang.ID != g.ID })
}

// runPlugin does what plugin run says.
func runPlugin(s Streams, o *pluginRunOptions) error {
	sc, err := o.scene()
	if err != nil {
		return err
	}
	params, err := pairs(o.params)
	if err != nil {
		return err
	}
	w, err := openWorkshop(func(line string) { fmt.Fprintf(s.Err, "guest: %s\n", line) })
	if err != nil {
		return err
	}
	defer w.close()
	m, err := w.load(o.file)
	if err != nil {
		return err
	}
	if err := checkParams(m, params); err != nil {
		return err
	}
	t, err := sc.try(m, params, o.weight, sched.Full)
	if err != nil {
		return err
	}
	for _, name := range t.strange {
		fmt.Fprintf(s.Err, "warning: --param %s: %q, which no label, class or device of the fleet and no tenant of the jobs has\n", name, params[name])
	}
	if o.output == "json" {
		return writeJSON(s.Out, newPluginRunResult(m, t))
	}
	if err := report.Why(s.Out, &t.job, &t.decision, 1, 1); err != nil {
		return err
	}
	if err := t.printMembers(s.Out); err != nil || t.fault == "" {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "fault %s, failure rule %s: %s\n", t.fault, ruleName(t.failure), t.ruled())
	return err
}

// ruleName gives a failure rule as an activation names it.
func ruleName(f sched.Failure) string {
	if f == sched.Reject {
		return "reject"
	}
	return "fallback"
}

// ruled says what the failure rule made of the job.
func (t *trial) ruled() string {
	if t.failure == sched.Reject {
		return "the job waits, with that reason"
	}
	return fmt.Sprintf("policy %s decided in its place", t.decision.Policy)
}
