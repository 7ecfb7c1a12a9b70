package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/report"
)

// pluginBenchOptions are the flags of plugin bench.
type pluginBenchOptions struct {
	file   string
	params []string
	output string
}

func newPluginBench(s Streams) *cobra.Command {
	o := pluginBenchOptions{}
	cmd := &cobra.Command{
		Use:   "bench FILE [flags]",
		Short: "Measure what a plugin costs, beside the native default scorer",
		Long: "Measure what a plugin costs: full passes over made-up mixed fleets of 100 to 50,000 nodes, of\n" +
			"which about 60 % are candidates for a job of one device, interleaved with passes of the default\n" +
			"scorer idle-balance. The numbers are medians of the rounds. Fuel is the same on every machine;\n" +
			"times are this machine's of this moment, and their ratios say more than they do: \"to native\" is\n" +
			"the time of a pass divided by that of idle-balance over the same nodes. Below 1 the plugin is the\n" +
			"faster one, above 1 the slower.",
		Example: "  poise plugin bench plugins/dotproduct/dotproduct.wasm",
		Args:    oneFile(&o.file),
		RunE: func(*cobra.Command, []string) error {
			return benchPlugin(s, &o, []int{100, 1000, 10_000, 50_000})
		},
	}
	f := cmd.Flags()
	paramFlag(f, &o.params)
	f.StringVarP(&o.output, "output", "o", "table", "table or json")
	return cmd
}

// benchResult is what plugin bench prints in JSON. Its keys stay; others may
// come.
type benchResult struct {
	Plugin      string         `json:"plugin"`
	Version     string         `json:"version"`
	Digest      string         `json:"digest"`
	LoadMs      float64        `json:"load_ms"` // from the cache of compiled code
	CallFuel    int64          `json:"call_fuel"`
	JobFuel     int64          `json:"job_fuel"` // and per row row_fuel, and per row, shape and device slot shape_fuel
	RowFuel     int64          `json:"row_fuel"`
	ShapeFuel   int64          `json:"shape_fuel"`
	Measured    []benchRow     `json:"measured"`
	NotMeasured []benchSkipped `json:"not_measured"`
}

// benchRow is one export on one fleet.
type benchRow struct {
	Nodes         int     `json:"nodes"`
	Candidates    int     `json:"candidates"`
	Shapes        int     `json:"shapes"` // of the profile, 0 = not wanted
	Export        string  `json:"export"`
	Rounds        int     `json:"rounds"`
	RowsPerSecond float64 `json:"rows_per_second"` // candidates
	FuelPerRow    float64 `json:"fuel_per_row"`
	JobBudget     float64 `json:"job_budget"`  // share of it that is used
	CallBudget    float64 `json:"call_budget"` // by the call that used most
	LongestCallMs float64 `json:"longest_call_ms"`
	ToNative      float64 `json:"to_native"` // time, relative to idle-balance
}

// benchSkipped is a fleet on which one pass would take too long.
type benchSkipped struct {
	Nodes       int     `json:"nodes"`
	Shapes      int     `json:"shapes"`
	PassSeconds float64 `json:"pass_seconds"` // as it would be
}

// benchLongest is the longest that a pass may take, so that the whole stays
// below 20 s.
const benchLongest = 1500 * time.Millisecond

// benchPlugin does what plugin bench says, on fleets of these sizes.
func benchPlugin(s Streams, o *pluginBenchOptions, sizes []int) error {
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
	if err != nil {
		return err
	}
	if err := checkParams(m, params); err != nil {
		return err
	}
	l := m.Limits()
	r := benchResult{
		Plugin: m.Manifest.Name, Version: m.Manifest.Version, Digest: m.Digest, CallFuel: l.CallFuel, JobFuel: l.JobFuel, RowFuel: l.RowFuel, ShapeFuel: l.ShapeFuel,
		Measured: []benchRow{}, NotMeasured: []benchSkipped{},
	}
	if r.LoadMs, err = loadTime(o.file); err != nil {
		return err
	}
	shapes := []int{53}
	if m.Manifest.WantsProfile {
		shapes = []int{53, 192}
	}
	progress := report.NewProgress(s.Err, s.terminal(), len(shapes)*len(sizes))
	for _, n := range shapes {
		if err == nil {
			err = r.sizes(m, params, sizes, n, progress.Step)
		}
	}
	progress.Done()
	if err != nil {
		return err
	}
	if o.output == "json" {
		return writeJSON(s.Out, &r)
	}
	return r.table(s.Out)
}

// sizes measures fleets of several sizes under one profile.
func (r *benchResult) sizes(m *policy.Module, params map[string]string, sizes []int, shapes int, done func()) error {
	perNode := time.Duration(0) // a pass of all exports
	for _, size := range sizes {
		sc := benchScene(m.Manifest, size, shapes)
		seen := 0
		if m.Manifest.WantsProfile {
			seen = shapes
		}
		if pass := perNode * time.Duration(size); pass > benchLongest {
			r.NotMeasured = append(r.NotMeasured, benchSkipped{Nodes: size, Shapes: seen, PassSeconds: pass.Seconds()})
			done()
			continue
		}
		b, err := newBench(m, params, sc, shapes)
		if err != nil {
			return err
		}
		var exports []string
		if b.guest.Filters() {
			exports = append(exports, abi.Filter)
		}
		if b.guest.Scores() {
			exports = append(exports, abi.Score)
		}
		rows, err := b.measure(exports)
		b.guest.Close()
		if err != nil {
			return err
		}
		perNode = 0
		for i := range rows {
			rows[i].Shapes = seen
			perNode += time.Duration(float64(rows[i].Candidates) / rows[i].RowsPerSecond / float64(size) * float64(time.Second))
		}
		r.Measured = append(r.Measured, rows...)
		done()
	}
	return nil
}

// loadTime is what it takes to make a module ready whose code is in the cache,
// in milliseconds.
func loadTime(path string) (float64, error) {
	var took []float64
	for range 5 {
		w, err := openWorkshop(nil)
		if err != nil {
			return 0, err
		}
		bin, err := readModule(path, int64(w.limits.Module.Bytes))
		if err != nil {
			return 0, err
		}
		began := time.Now()
		_, err = w.engine.Load(context.Background(), bin)
		took = append(took, time.Since(began).Seconds()*1000)
		w.close()
		if err != nil {
			return 0, err
		}
	}
	return median(took), nil
}

func (r *benchResult) table(w io.Writer) error {
	fmt.Fprintf(w, "%s %s (%s)\nloads from the cache in %.2f ms\n\n", r.Plugin, r.Version, r.Digest, r.LoadMs)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "nodes\tcandidates\tshapes\texport\trows/s\tfuel/row\tof job budget\tof call budget\tlongest call\tto native\trounds\t")
	for i := range r.Measured {
		m := &r.Measured[i]
		shapes := "-"
		if m.Shapes > 0 {
			shapes = fmt.Sprint(m.Shapes)
		}
		fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%.0f\t%.0f\t%.1f %%\t%.1f %%\t%.2f ms\t%.2f\t%d\t\n", m.Nodes, m.Candidates, shapes, strings.TrimPrefix(m.Export, "poise_"),
			m.RowsPerSecond, m.FuelPerRow, 100*m.JobBudget, 100*m.CallBudget, m.LongestCallMs, m.ToNative, m.Rounds)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w, "to native: time of a pass relative to idle-balance over the same nodes; below 1 the plugin is faster"); err != nil {
		return err
	}
	for _, n := range r.NotMeasured {
		if _, err := fmt.Fprintf(w, "not measured: %d nodes, %d shapes: a pass would take about %.1f s\n", n.Nodes, n.Shapes, n.PassSeconds); err != nil {
			return err
		}
	}
	return nil
}
