package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/poise-sched/poise/abi/conformance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/report"
)

// pluginCheckOptions are the flags of plugin check.
type pluginCheckOptions struct {
	file   string
	params []string
	soak   bool
	output string
}

func newPluginCheck(s Streams) *cobra.Command {
	o := pluginCheckOptions{}
	cmd := &cobra.Command{
		Use:   "check FILE [flags]",
		Short: "Verify a plugin as a push would, and check that it keeps the contract",
		Long: "Verify a plugin as a push would, and ask it about made-up fleets: whether its answers are\n" +
			"allowed, depend on nothing but row, job and blocks, and stay within memory and fuel.\n" +
			"Exit code 4 if the verifier refuses the module, 1 if a check fails.",
		Example: "  poise plugin check plugins/bestfit/bestfit.wasm\n  poise plugin check plugins/only-class/only-class.wasm --param class=cpu-highmem",
		Args:    oneFile(&o.file),
		RunE:    func(*cobra.Command, []string) error { return checkPlugin(s, &o) },
	}
	f := cmd.Flags()
	paramFlag(f, &o.params)
	f.BoolVar(&o.soak, "soak", false, "look for growth over 1,000,000 calls, not 10,000")
	f.StringVarP(&o.output, "output", "o", "table", "table or json")
	return cmd
}

// oneFile takes the module as the only argument.
func oneFile(file *string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s: %d files, expected one .wasm module", cmd.CommandPath(), len(args))
		}
		*file = args[0]
		return nil
	}
}

// pluginVerdict is what plugin check says, as JSON has it.
type pluginVerdict struct {
	File     string             `json:"file"`
	Digest   string             `json:"digest,omitempty"`
	Plugin   string             `json:"plugin,omitempty"`
	Accepted bool               `json:"accepted"`
	Refusal  *policy.Refusal    `json:"refusal,omitempty"`
	Passed   bool               `json:"passed"`
	Checks   conformance.Report `json:"checks,omitempty"`
}

// checkPlugin does what plugin check says.
func checkPlugin(s Streams, o *pluginCheckOptions) error {
	if err := oneOf("output", o.output, "table", "json"); err != nil {
		return err
	}
	params, err := pairs(o.params)
	if err != nil {
		return err
	}
	w, err := openWorkshop(nil)
	if err != nil {
		return err
	}
	defer w.close()
	m, err := w.load(o.file)
	if refusal := refusalOf(err); refusal != nil {
		if o.output == "json" {
			if err := writeJSON(s.Out, &pluginVerdict{File: o.file, Digest: refusal.Digest, Refusal: refusal}); err != nil {
				return err
			}
		}
		return refused(o.file, err)
	}
	if err != nil {
		return err
	}
	if err := checkParams(m, params); err != nil {
		return err
	}
	checks, err := conform(s, m, o, params)
	if err != nil {
		return err
	}
	failed := checks.Failed()
	v := pluginVerdict{
		File: o.file, Digest: m.Digest, Plugin: m.Manifest.Name + " " + m.Manifest.Version, Accepted: true,
		Passed: failed == 0, Checks: checks,
	}
	if o.output == "json" {
		err = writeJSON(s.Out, &v)
	} else {
		err = v.table(s.Out)
	}
	if err == nil && failed > 0 {
		return &poise.Error{Kind: poise.Invalid, Op: "check " + o.file, Detail: fmt.Sprintf("checks: %d of %d failed, expected none", failed, len(checks))}
	}
	return err
}

// conform runs the kit on a module, in native code and in the interpreter. The
// second engine compiles nothing, so it needs no child and no cache.
func conform(s Streams, m *policy.Module, o *pluginCheckOptions, params map[string]string) (conformance.Report, error) {
	ctx := context.Background()
	limits := policy.Defaults()
	slow, err := policy.NewEngine(ctx, policy.Options{Limits: limits, Interpreter: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = slow.Close(ctx) }()
	bin, err := readModule(o.file, int64(limits.Module.Bytes))
	if err != nil {
		return nil, err
	}
	interpreted, err := slow.Load(ctx, bin)
	if err != nil {
		return nil, err
	}
	progress := report.NewProgress(s.Err, s.terminal(), len(conformance.Names()))
	defer progress.Done()
	return conformance.Check(ctx, m, interpreted, conformance.Options{
		Params: params, Soak: o.soak, Done: func(conformance.Result) { progress.Step() },
	})
}

// table prints a line for each check. What several checks find is said once.
func (v *pluginVerdict) table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s  %s\n\nCHECK\tRESULT\tWHAT\nverifier\tpass\taccepted\n", v.Plugin, v.Digest)
	said := map[string]string{}
	for _, c := range v.Checks {
		detail := c.Detail
		if first := said[detail]; c.Outcome == conformance.Fail && first != "" {
			detail = "the same as " + first
		} else if c.Outcome == conformance.Fail {
			said[detail] = c.Name
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.Name, c.Outcome, detail)
	}
	return w.Flush()
}

// paramFlag takes the parameters of a plugin.
func paramFlag(f *pflag.FlagSet, params *[]string) {
	f.StringArrayVar(params, "param", nil, "NAME=VALUE: a parameter of the plugin; repeatable")
}

// pairs reads NAME=VALUE pairs.
func pairs(texts []string) (map[string]string, error) {
	params := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usagef("--param %q: expected NAME=VALUE", text)
		}
		params[name] = value
	}
	return params, nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// refusalOf gives what is wrong with a module that Load refused, nil where err is
// about something else: a cache that cannot be written says nothing about it.
func refusalOf(err error) *policy.Refusal {
	var f *policy.Fault
	var path *fs.PathError
	if !errors.As(err, &f) || errors.As(err, &path) {
		return nil
	}
	return f.Refusal()
}

// refused makes an error of a module that is not accepted.
func refused(file string, err error) error {
	var f *policy.Fault
	if errors.As(err, &f) {
		err = f // without the file, which the error names already
	}
	return &poise.Error{Kind: poise.Denied, Op: "refused " + file, Err: err}
}
