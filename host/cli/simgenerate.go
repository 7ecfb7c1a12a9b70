package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	synthetic "github.com/poise-sched/poise/host/workload"
)

func newSimGenerate(s Streams) *cobra.Command {
	spec := synthetic.Defaults()
	span, runTime := 24*time.Hour, 10*time.Minute
	var classes []string
	var output string
	cmd := &cobra.Command{
		Use:   "generate [flags]",
		Short: "Make a synthetic workload from a seed",
		Long: "Make a synthetic workload from a seed: arrivals in daily waves, log-normal run times, tenants of different\n" +
			"load, arrays, chains, gangs, and run times declared too long or not at all. The same flags give the same jobs\n" +
			"on every machine. A file that ends in .swf is written in the Standard Workload Format, any other in YAML.",
		Example: "  poise sim generate --seed 1 --jobs 2000 -o jobs.yaml\n" +
			"  poise sim run --nodes examples/fleets/mixed.yaml --jobs jobs.yaml --mode replay",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			spec.Span, spec.RunTime = poise.Span(span.Milliseconds()), poise.Span(runTime.Milliseconds())
			if len(classes) > 0 {
				spec.Classes = nil
			}
			for _, text := range classes {
				c, err := parseClass(text)
				if err != nil {
					return err
				}
				spec.Classes = append(spec.Classes, c)
			}
			return generate(s, &spec, output)
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&spec.Seed, "seed", spec.Seed, "seed of everything that is drawn")
	f.IntVar(&spec.Jobs, "jobs", spec.Jobs, "how many jobs, members of arrays, chains and gangs counted")
	f.DurationVar(&span, "span", span, "the time in which they come")
	f.IntVar(&spec.Tenants, "tenants", spec.Tenants, "how many tenants; the i-th brings a part in proportion to 1/i")
	f.Float64Var(&spec.Wave, "wave", spec.Wave, "how far the rate of arrivals swings over a day: 0 = not, 1 = to nothing at two in the night")
	f.DurationVar(&runTime, "run-time", runTime, "median run time")
	f.Float64Var(&spec.Deviation, "deviation", spec.Deviation, "deviation of the run time's natural logarithm")
	f.Float64Var(&spec.Over, "over", spec.Over, "how many times its run time a job declares on average, before it is rounded up to what people say; 1 = the run time")
	f.Float64Var(&spec.Undeclared, "undeclared", spec.Undeclared, "part of the jobs that declare no run time")
	f.Float64Var(&spec.Arrays, "arrays", spec.Arrays, "part of the arrivals that bring 2 to 50 equal jobs")
	f.Float64Var(&spec.Chains, "chains", spec.Chains, "part of the arrivals that bring 2 to 10 jobs, each after the one before")
	f.Float64Var(&spec.Gangs, "gangs", spec.Gangs, "part of the arrivals that bring a gang of 2 to 32 tasks, of which a quarter starts with half of them")
	f.StringArrayVar(&classes, "class", nil, "a size of job in place of the five there are, such as share=10,cpu=4,memory=16Gi,gpu=1; repeatable")
	f.StringVarP(&output, "output", "o", "", "file to write, .yaml or .swf; without it YAML is printed")
	return cmd
}

// parseClass reads share=10,cpu=4,memory=16Gi,gpu=1.
func parseClass(text string) (synthetic.Class, error) {
	c := synthetic.Class{Share: 1}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "share":
			if c.Share, err = strconv.ParseFloat(value, 64); err != nil {
				return c, usagef("--class %q: share: %q, expected a number", text, value)
			}
		case "cpu":
			c.CPU, err = resource.ParseRequest(key, value)
		case "memory":
			c.Memory, err = resource.ParseRequest(key, value)
		case "gpu":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return c, usagef("--class %q: gpu: %q, expected a whole number", text, value)
			}
			c.GPUs = int32(n)
		default:
			return c, usagef("--class %q: %q, expected share, cpu, memory and gpu with an amount each", text, part)
		}
		if err != nil {
			return c, usagef("--class %q: %w", text, err)
		}
	}
	return c, nil
}

func generate(s Streams, spec *synthetic.Spec, output string) error {
	w, err := synthetic.Generate(*spec)
	if err != nil {
		return err
	}
	if output == "" {
		return writeYAML(s.Out, spec, w)
	}
	devices := 0
	err = writeFile(output, func(f *sheet) error {
		if filepath.Ext(output) != ".swf" {
			return writeYAML(f, spec, w)
		}
		var err error
		devices, err = manifest.WriteSWF(f, w)
		return err
	})
	if err == nil && devices > 0 {
		fmt.Fprintf(s.Err, "%s: the format has no devices: %d jobs are written without theirs\n", output, devices)
	}
	return err
}

// writeYAML writes the jobs below a comment with what a job file has no place
// for.
func writeYAML(to io.Writer, spec *synthetic.Spec, w *synthetic.Workload) error {
	fmt.Fprintf(to, "# %d jobs of seed %d. Weights of the tenants:", spec.Jobs, spec.Seed)
	for i, t := range w.Tenants {
		between := ","
		if i == 0 {
			between = ""
		}
		fmt.Fprintf(to, "%s %s %v", between, t.ID, t.Weight)
	}
	if _, err := fmt.Fprintln(to, "."); err != nil {
		return err
	}
	return manifest.WriteJobs(to, w)
}
