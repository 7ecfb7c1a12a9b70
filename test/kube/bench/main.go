package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"
)

// settings are how much is measured.
type settings struct {
	nodes, pods, rounds int
	shapes              int // of the pods in further rows; 1 = no such rows
	rate                int // pods per second of the steady part
	plugin              string
}

// contender is who binds the pods.
type contender struct {
	name      string
	scheduler string // that the pods ask for
	shapes    int    // of the pods
	begin     func(*trial, context.Context) error
}

func main() {
	var s settings
	flag.IntVar(&s.nodes, "nodes", 1000, "nodes of 32 cpu and 110 pods")
	flag.IntVar(&s.pods, "pods", 5000, "pods, all there before anybody binds")
	flag.IntVar(&s.shapes, "shapes", 64, "and the same with pods of so many shapes, some with rules; 1 = not")
	flag.IntVar(&s.rounds, "rounds", 1, "how often everything is measured, in turns")
	flag.IntVar(&s.rate, "rate", 100, "pods per second of the steady part, for 10 s; 0 = none")
	flag.StringVar(&s.plugin, "plugin", "../../plugins/binpack/binpack.wasm", "the tenant's policy")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// contenders gives who binds pods of one shape, and then who binds those of many.
func contenders(s settings) []contender {
	native := func(t *trial, ctx context.Context) error { return t.poise(ctx, "") }
	withPolicy := func(t *trial, ctx context.Context) error { return t.poise(ctx, s.plugin) }
	all := []contender{
		{"nobody (parallel bindings)", "nobody", 1, (*trial).bindAll},
		{"kube-scheduler", "default-scheduler", 1, (*trial).kubeScheduler},
		{"poise", "poise", 1, native},
		{"poise with a policy", "poise", 1, withPolicy},
	}
	if s.shapes > 1 {
		all = append(all,
			contender{fmt.Sprintf("kube-scheduler, %d shapes", s.shapes), "default-scheduler", s.shapes, (*trial).kubeScheduler},
			contender{fmt.Sprintf("poise, %d shapes", s.shapes), "poise", s.shapes, native},
			contender{fmt.Sprintf("with a policy, %d shapes", s.shapes), "poise", s.shapes, withPolicy})
	}
	return all
}

func run(ctx context.Context, s settings) error {
	all := contenders(s)
	results := map[string][]result{}
	fmt.Printf("%d nodes, %d pods, %d rounds; no Events by poise, one per pod by kube-scheduler\n", s.nodes, s.pods, s.rounds)
	fmt.Printf("%-28s %9s %9s %9s %9s %9s %9s\n", "", "pods/s", "sched ms", "api ms", "etcd ms", "all ms", "p99 ms")
	for range s.rounds {
		for _, c := range all {
			r, err := measure(ctx, s, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			results[c.name] = append(results[c.name], r)
			fmt.Printf("%-28s %9.0f %9.2f %9.2f %9.2f %9.2f %9.0f\n", c.name, r.rate, r.scheduler, r.api, r.etcd, r.scheduler+r.api+r.etcd, r.p99)
		}
	}
	median := func(name string, of func(result) float64) float64 {
		var values []float64
		for _, r := range results[name] {
			values = append(values, of(r))
		}
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	rate := func(i int) float64 { return median(all[i].name, func(r result) float64 { return r.rate }) }
	cpu := func(i int) float64 { return median(all[i].name, func(r result) float64 { return r.scheduler }) }
	late := func(i int) float64 { return median(all[i].name, func(r result) float64 { return r.p99 }) }
	goal := func(what string, value, bound float64, least bool) {
		word := "holds"
		if least && value < bound || !least && value > bound {
			word = "falls short"
		}
		sign := "<="
		if least {
			sign = ">="
		}
		fmt.Printf("%-52s %6.2f  %s %.2f %s\n", what, value, sign, bound, word)
	}
	goal("binds per second against the ceiling", rate(2)/rate(0), 0.85, true)
	goal("against kube-scheduler", rate(2)/rate(1), 3, true)
	goal("processor time of the scheduler against its", cpu(2)/cpu(1), 1.0/6, false)
	goal("with a tenant's policy against native", rate(3)/rate(2), 0.95, true)
	if s.rate > 0 {
		goal(fmt.Sprintf("created to bound at %d pods/s, p99 against its", s.rate), late(2)/late(1), 1, false)
	}
	if s.shapes > 1 {
		goal(fmt.Sprintf("%d shapes: against kube-scheduler", s.shapes), rate(5)/rate(4), 3, true)
		goal("  processor time of the scheduler against its", cpu(5)/cpu(4), 1.0/6, false)
		goal("  with a tenant's policy against native", rate(6)/rate(5), 0.95, true)
	}
	return nil
}

// result is one measurement; times are of a processor, in ms per pod.
type result struct {
	rate                 float64 // pods per second, from the first bind to the last
	scheduler, api, etcd float64
	p99                  float64 // ms from created to bound at a steady rate, 0 = not measured
}

// settleFor is how long a scheduler that has started is given to read the cluster
// before the steady part.
const settleFor = time.Second
