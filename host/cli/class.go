package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/report"
)

// classOptions are the flags of class build.
type classOptions struct {
	nodes    string
	settings model.Settings
	features []string // in place of the default ones
	output   string
	html     string
	math     bool
}

func newClass(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "class",
		Short: "Group the nodes of a fleet into classes of like nodes",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newClassBuild(s), newClassList(s), newClassShow(s), newClassRebuild(s))
	return cmd
}

func newClassBuild(s Streams) *cobra.Command {
	o := classOptions{settings: model.Defaults()}
	cmd := &cobra.Command{
		Use:   "build --nodes FILE [flags]",
		Short: "Find the classes of a fleet in a file, without a daemon",
		Long: "Find the classes of a fleet in a file and print them, with the eigenvalues that\n" +
			"speak for so many classes. The same fleet has the same classes in every order of its nodes.",
		Example: "  poise class build --nodes examples/fleets/mixed.yaml --html classes.html",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return buildClasses(s, &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.nodes, "nodes", "", "fleet: an openb node CSV (plain or gzip), or Poise's YAML or JSONL")
	f.Float64Var(&o.settings.Resolution, "resolution", o.settings.Resolution, "how unlike nodes of one class may be, in octaves (an octave is a factor of two in one resource), 0.05 to 4")
	f.Float64Var(&o.settings.WeightExponent, "weight-exponent", o.settings.WeightExponent, "how much the number of nodes of a kind counts: from 0, every kind alike, to 1, every node alike")
	f.StringArrayVar(&o.features, "feature", nil, "compare this dimension, or devices, in place of "+strings.Join(o.settings.Features, ", ")+"; repeatable")
	f.StringVarP(&o.output, "output", "o", "table", "table or json")
	f.StringVar(&o.html, "html", "", "also write a page with the spectrum, a map of the nodes and the classes to this file")
	f.BoolVar(&o.math, "math", false, "also print the matrices behind the classes")
	return cmd
}

// check refuses what no model can be built from, before any file is read.
func (o *classOptions) check() error {
	switch {
	case o.nodes == "":
		return usagef("--nodes: not given, expected a fleet file")
	case o.math && o.output != "table":
		return usagef("--math: it prints text, expected --output table")
	}
	if err := oneOf("output", o.output, "table", "json"); err != nil {
		return err
	}
	if len(o.features) > 0 {
		o.settings.Features = o.features
	}
	return o.settings.Validate()
}

// buildClasses does what class build says.
func buildClasses(s Streams, o *classOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	nodes, err := manifest.ReadNodes(o.nodes)
	if err != nil {
		return err
	}
	if err := knownFeatures(o.features, nodes); err != nil {
		return err
	}
	m, err := model.Build(nodes, o.settings, nil)
	if err != nil {
		return err
	}
	if o.html != "" {
		if err := writeFile(o.html, func(f *sheet) error { return report.ClassHTML(f, m, "poise class build") }); err != nil {
			return err
		}
	}
	if o.output == "json" {
		return report.ClassJSON(s.Out, m, nodes)
	}
	if err := report.ClassTable(s.Out, m); err != nil || !o.math {
		return err
	}
	fmt.Fprintln(s.Out)
	return report.ClassMath(s.Out, m)
}

// knownFeatures refuses a feature that an operator named and no node has: it
// would tell nothing apart, and is likely a slip of the pen.
func knownFeatures(features []string, nodes []poise.Node) error {
	known := map[string]bool{"devices": true}
	for i := range nodes {
		for _, a := range nodes[i].Capacity {
			known[a.Name] = true
		}
	}
	for _, name := range features {
		if !known[name] {
			var names []string
			for k := range known {
				names = append(names, k)
			}
			slices.Sort(names)
			return &poise.Error{Kind: poise.Invalid, Op: "class build", Detail: fmt.Sprintf("feature: %q, which no node declares, expected one of %s", name, strings.Join(names, ", "))}
		}
	}
	return nil
}
