package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/sim"
)

// simOptions are the flags that run and compare share.
type simOptions struct {
	nodes    string
	mode     string
	arrivals float64
	profile  string
	ties     string
	thin     int
	copies   int
	from     time.Duration
	params   []string
	output   string
	html     string
	model    bool
	svg      string
	weight   float64
	queues   []simQueue // the ways in which the queue is set, each with its runs
}

func newSim(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Run traces and job files against policies, without a daemon",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSimRun(s), newSimCompare(s), newSimGenerate(s))
	return cmd
}

func (o *simOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.nodes, "nodes", "", "fleet: an openb node CSV (plain or gzip), or Poise's YAML or JSONL")
	f.StringVar(&o.mode, "mode", string(sim.ModeInflate), "inflate: the published experiment, one attempt per job, no departures; replay: arrivals and run times of the file")
	f.Float64Var(&o.arrivals, "arrivals", 1.3, "inflate: device demand to arrive, as a multiple of the fleet's devices")
	f.StringVar(&o.profile, "profile", "", "what the demand is known from: online (the arrivals so far; default) or workload (the whole file; always so for fgd)")
	f.StringVar(&o.ties, "ties", "", "order of equal losses: name, seeded, or published (the published experiment's permutation; default in mode inflate)")
	f.IntVar(&o.thin, "thin", 1, "keep every n-th node of each make")
	f.IntVar(&o.copies, "copies", 1, "replay: run the jobs so many times over, each copy shifted by up to 24 h")
	f.DurationVar(&o.from, "from", 0, "replay: measure from this time on")
	f.StringArrayVar(&o.params, "param", nil, "parameter of a plugin, or constant of the idle-balance policies, NAME=VALUE; repeatable")
	f.Float64Var(&o.weight, "weight", 0, "plugins: add the plugin's loss with this weight to that of idle-balance-spread; 0 = in its place")
	f.BoolVar(&o.model, "model", true, "group the nodes into classes: class labels, and whole classes left out of a decision")
	f.StringVarP(&o.output, "output", "o", "table", "table, json or csv")
	f.StringVar(&o.html, "html", "", "also write a page with curves and utilisation to this file")
	f.StringVar(&o.svg, "svg", "", "also write the curves to this file")
}

// check refuses what no run can be made of, before any file is read.
func (o *simOptions) check() error {
	if o.nodes == "" {
		return usagef("--nodes: not given, expected a fleet file")
	}
	for _, err := range []error{
		oneOf("mode", o.mode, string(sim.ModeInflate), string(sim.ModeReplay)),
		oneOf("output", o.output, "table", "json", "csv"),
	} {
		if err != nil {
			return err
		}
	}
	if o.profile != "" {
		if err := oneOf("profile", o.profile, "online", "workload"); err != nil {
			return err
		}
	}
	if o.ties != "" {
		if err := oneOf("ties", o.ties, "name", "seeded", "published"); err != nil {
			return err
		}
	}
	if o.ties == "published" && o.mode == string(sim.ModeReplay) {
		return usagef("--ties published: it comes with the arrival list of mode inflate, expected name or seeded in mode replay")
	}
	if o.mode == string(sim.ModeInflate) && (o.copies != 1 || o.from != 0) {
		return usagef("--copies, --from: they shape a replay, expected --mode replay")
	}
	for i := range o.queues {
		if err := o.queues[i].check(); err != nil {
			return err
		}
	}
	if o.mode == string(sim.ModeInflate) && (o.queues[0].changed() || len(o.queues) > 1) {
		return usagef("--patience, --preemption, --usage-half-life, several of --reservations: they are of a queue, expected --mode replay")
	}
	if o.from < 0 {
		return usagef("--from %s: expected 0 or more", o.from)
	}
	return nil
}

// setTies gives the policy the tie rule asked for, or the default of the mode.
// A policy that is defined with seeded ties (random) keeps them.
func (o *simOptions) setTies(p *sched.Policy) {
	switch {
	case p.Ties == sched.Seeded:
	case o.ties == "name":
	case o.ties == "seeded":
		p.Ties = sched.Seeded
	case o.ties == "published" || o.mode == string(sim.ModeInflate):
		p.Ties = sched.Published
	}
}

func newSimRun(s Streams) *cobra.Command {
	var o simOptions
	var queue simQueue
	var jobs, policy string
	var seed int64
	var why []string
	cmd := &cobra.Command{
		Use:   "run --nodes FILE --jobs FILE [flags]",
		Short: "Run one workload under one policy",
		Long: "Run one workload under one policy and print how full the fleet was and how the jobs fared.\n" +
			"With --why, also print the decisions on a job in full: who was refused and why, and who was ranked and why.",
		Example: "  poise sim run --nodes examples/fleets/mixed.yaml --jobs examples/jobs/two-tenants.yaml --mode replay",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			o.queues = []simQueue{queue}
			return runSim(s, &o, []string{policy}, []int64{seed}, []string{jobs}, why)
		},
	}
	o.flags(cmd.Flags())
	queue.flags(cmd.Flags())
	cmd.Flags().StringVar(&jobs, "jobs", "", "jobs: an openb pod CSV, the Standard Workload Format (.swf), or Poise's YAML or JSONL; plain or gzip")
	cmd.Flags().StringVar(&policy, "policy", idleBalance, "policy: "+strings.Join(policyNames(), ", ")+", or the path of a plugin's .wasm")
	cmd.Flags().Int64Var(&seed, "seed", 42, "seed of the arrival list, of copies and of seeded ties")
	cmd.Flags().StringArrayVar(&why, "why", nil, "explain the decision on the job of this name or id; repeatable")
	return cmd
}

func newSimCompare(s Streams) *cobra.Command {
	var o simOptions
	var queues simQueues
	var jobs, policies []string
	var seeds string
	cmd := &cobra.Command{
		Use:   "compare --nodes FILE --jobs FILE[,FILE…] [flags]",
		Short: "Run workloads under several policies, settings of the queue and seeds, side by side",
		Example: "  poise sim compare --nodes nodes.csv --jobs pods.csv --policy idle-balance,best-fit --seeds 42-51\n" +
			"  poise sim compare --nodes fleet.yaml --jobs jobs.yaml --mode replay --policy idle-balance --reservations 0,1 --preemption off,both",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := parseSeeds(seeds)
			if err != nil {
				return err
			}
			o.queues = queues.all()
			return runSim(s, &o, policies, list, jobs, nil)
		},
	}
	o.flags(cmd.Flags())
	queues.flags(cmd.Flags())
	cmd.Flags().StringSliceVar(&jobs, "jobs", nil, "job files; repeatable or separated by commas")
	cmd.Flags().StringSliceVar(&policies, "policy", policyNames(), "policies, or paths of plugins; repeatable or separated by commas")
	cmd.Flags().StringVar(&seeds, "seeds", "42", "seeds: numbers and ranges, such as 42,45-47")
	return cmd
}

// maxSeeds bounds how many runs a range of seeds asks for.
const maxSeeds = 10_000

// parseSeeds reads numbers and ranges separated by commas.
func parseSeeds(text string) ([]int64, error) {
	var seeds []int64
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		from, err := strconv.ParseInt(low, 10, 64)
		to := from
		if err == nil && isRange {
			to, err = strconv.ParseInt(high, 10, 64)
		}
		if err != nil || from < 0 || to < from || to-from >= maxSeeds || len(seeds) >= maxSeeds {
			return nil, usagef("--seeds %q: %q, expected numbers and ranges such as 42,45-47, at most %d in all", text, part, maxSeeds)
		}
		for seed := from; seed <= to; seed++ {
			seeds = append(seeds, seed)
		}
	}
	return seeds, nil
}

// notFound is the error for a --why that names no job of the run.
func notFound(names []string) error {
	return &poise.Error{Kind: poise.NotFound, Op: "explain", Detail: fmt.Sprintf("--why %s: no such job arrived in this run, expected a name or id from the job file", strings.Join(names, ", "))}
}
