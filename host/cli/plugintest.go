package cli

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/snapshot"
)

// pluginTestOptions are the flags of plugin test.
type pluginTestOptions struct {
	file   string
	paths  []string
	update bool
	junit  string
	only   string

	record    string // folder, "" = run cases
	last      int
	differing bool
	cluster   bool
}

func newPluginTest(s Streams) *cobra.Command {
	o, r := pluginTestOptions{}, &remote{}
	cmd := &cobra.Command{
		Use:   "test FILE DIR|CASE… [flags]",
		Short: "Run a plugin on test cases: a fleet, a job, and what is to happen",
		Long: `Run a plugin on the test cases in YAML files, or in all .yaml files of folders. A case is a file:

  name      a line that says what is tested
  nodes     the nodes, as in a fleet file; or fleet: the path of one, from the folder of the case
  snapshot  in place of nodes, running and workload: the path of a snapshot file
  running   jobs that run already, each with node, the name of its node, and held, indexes of its devices
  workload  jobs that the demand profile counts; default: those that run and the job
  job       the job to place, as in a job file
  params    parameters of the plugin, NAME: VALUE
  expect    what is to happen, any of these:
    node     the node that is chosen, "" for none
    devices  its devices that are chosen
    order    all candidates, best first
    refused  NODE: TEXT, the reason
    losses   NODE: NUMBER, to 1e-9
    fault    its code, such as trap; one that is not expected fails a case

With --record, a daemon's live decisions become cases in a folder: those on which the shadow differs,
faults, near ties and the first of each shape of a job, or the latest ones by the policy in force. A
case has the nodes that make a difference, and other tenants' tasks as what they hold together.
Without FILE the plugin is pulled from the daemon. What a case cannot reproduce is left out.`,
		Example: "  poise plugin test plugins/cost/cost.wasm plugins/cost/tests\n" +
			"  poise plugin test --record tests --differing",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.record != "" {
				if len(args) > 1 {
					return usagef("%s --record: %d arguments, expected a .wasm module or none", cmd.CommandPath(), len(args))
				}
				o.file = strings.Join(args, "")
				return nil
			}
			if len(args) < 2 {
				return usagef("%s: %d arguments, expected a .wasm module and cases or folders of them", cmd.CommandPath(), len(args))
			}
			o.file, o.paths = args[0], args[1:]
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.record != "" {
				return recordCases(cmd, s, r, &o)
			}
			return testPlugin(s, &o)
		},
	}
	r.addFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.update, "update", false, "write what happened into the expect of cases that fail or have none")
	f.StringVar(&o.junit, "junit", "", "also write the results to this file, as JUnit XML")
	f.StringVar(&o.only, "run", "", "only cases whose path or name matches this regular expression")
	f.StringVar(&o.record, "record", "", "write live decisions of a daemon as cases into this folder")
	f.IntVar(&o.last, "last", 0, "with --record: the latest so many decisions by the policy in force, at most 100")
	f.BoolVar(&o.differing, "differing", false, "with --record: only decisions on which the shadow differs")
	clusterFlag(cmd, &o.cluster, "with --record: of the cluster's policy or shadow in place of a tenant's; for operators")
	return cmd
}

// caseResult is what became of one case.
type caseResult struct {
	path, name string
	problems   []string // what differs from what is expected
	broken     error    // the case cannot be run
	updated    bool
	log        []string // what the guest printed
}

// status is the word of the result's line.
func (r *caseResult) status() string {
	switch {
	case r.broken != nil:
		return "error"
	case r.updated:
		return "updated"
	case len(r.problems) > 0:
		return "FAIL"
	}
	return "ok"
}

// testPlugin does what plugin test says.
func testPlugin(s Streams, o *pluginTestOptions) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return usagef("--run %q: %w", o.only, err)
	}
	files, err := manifest.CaseFiles(o.paths)
	if err != nil {
		return err
	}
	var log []string
	w, err := openWorkshop(func(line string) { log = append(log, line) })
	if err != nil {
		return err
	}
	defer w.close()
	m, err := w.load(o.file)
	if err != nil {
		return err
	}
	var results []caseResult
	for _, path := range files {
		log = nil
		r := caseResult{path: path}
		c, err := manifest.ReadCase(path)
		if err == nil {
			r.name = c.Name
		}
		if !only.MatchString(path) && (err != nil || !only.MatchString(c.Name)) {
			continue
		}
		if r.broken = err; err == nil {
			r.run(m, c, o.update)
		}
		r.log = log
		results = append(results, r)
		if err := printCase(s, &r); err != nil {
			return err
		}
	}
	if len(results) == 0 {
		return &poise.Error{Kind: poise.NotFound, Op: "plugin test", Detail: fmt.Sprintf("--run %q: matches none of %d cases, expected a part of a path or name", o.only, len(files))}
	}
	if o.junit != "" {
		if err := writeFile(o.junit, func(f *sheet) error { return writeJUnit(f, m, results) }); err != nil {
			return err
		}
	}
	return summary(s, results)
}

// run tries the plugin on the case and compares; with update it rewrites a case
// that fails.
func (r *caseResult) run(m *policy.Module, c *manifest.Case, update bool) {
	got, detail, err := happened(m, c)
	if err != nil {
		r.broken = fmt.Errorf("%s: %w", c.Path, err)
		return
	}
	r.problems = differences(&c.Expect, got, detail)
	if len(r.problems) == 0 || !update {
		return
	}
	text, err := c.Rewrite(got)
	if err == nil {
		err = os.WriteFile(c.Path, text, 0o644)
	}
	r.broken, r.updated = err, err == nil
}

// happened runs a case. detail tells more about a fault.
func happened(m *policy.Module, c *manifest.Case) (o *manifest.Outcome, detail string, err error) {
	sc := scene{nodes: c.Nodes, running: c.Running, workload: c.Workload, job: c.Job}
	if c.Snapshot != "" {
		if sc.snapshot, err = snapshot.Read(c.Snapshot); err != nil {
			return nil, "", err
		}
	}
	t, err := sc.try(m, c.Params, 0, sched.All)
	var f *policy.Fault
	switch {
	case errors.As(err, &f):
		return &manifest.Outcome{Fault: f.Code}, f.Detail, nil
	case err != nil:
		return nil, "", err
	}
	d := &t.decision
	o = &manifest.Outcome{Node: d.Node, Devices: d.Devices, Order: []string{}, Refused: map[string]string{}, Losses: map[string]float64{}, Fault: t.fault}
	for i := range d.Ranked {
		o.Order = append(o.Order, d.Ranked[i].Node)
		o.Losses[d.Ranked[i].Node] = d.Ranked[i].Loss
	}
	for _, r := range d.Refusals {
		o.Refused[r.Node] = refusalText(&r)
	}
	return o, d.Fault, nil
}

// refusalText says why a node was refused: in the plugin's words, or in those of
// the native filter with the dimension behind.
func refusalText(r *poise.Refusal) string {
	switch {
	case r.Text != "":
		return r.Text
	case r.Dim != "":
		return r.Code.String() + ": " + r.Dim
	}
	return r.Code.String()
}

func printCase(s Streams, r *caseResult) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-7s %s", r.status(), r.path)
	if r.name != "" {
		fmt.Fprintf(&b, "  %s", r.name)
	}
	b.WriteByte('\n')
	indented := func(text string) {
		for line := range strings.SplitSeq(text, "\n") {
			fmt.Fprintf(&b, "        %s\n", line)
		}
	}
	if r.broken != nil {
		indented(r.broken.Error())
	}
	for _, p := range r.problems {
		indented(p)
	}
	if r.status() != "ok" {
		for _, line := range r.log {
			indented("guest: " + line)
		}
	}
	_, err := fmt.Fprint(s.Out, b.String())
	return err
}

// summary prints the counts; a case that failed is an error.
func summary(s Streams, results []caseResult) error {
	count := map[string]int{}
	for i := range results {
		count[results[i].status()]++
	}
	noun := "cases"
	if len(results) == 1 {
		noun = "case"
	}
	line := fmt.Sprintf("%d %s: %d ok, %d failed, %d in error", len(results), noun, count["ok"], count["FAIL"], count["error"])
	if n := count["updated"]; n > 0 {
		line += fmt.Sprintf(", %d updated", n)
	}
	if _, err := fmt.Fprintln(s.Out, line); err != nil {
		return err
	}
	if count["FAIL"]+count["error"] == 0 {
		return nil
	}
	return &poise.Error{Kind: poise.Invalid, Op: "plugin test", Detail: fmt.Sprintf("cases: of %d, %d failed and %d in error, expected none", len(results), count["FAIL"], count["error"])}
}
