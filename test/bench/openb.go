package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/sim"
	"github.com/poise-sched/poise/host/sim/baseline"
)

// openb times the published experiment (default workload, seed 42, 130 % of
// the demand) under the default policy and under best-fit.
func openb(traces string, rounds int) ([]report.Figure, error) {
	if _, err := os.Stat(traces); err != nil {
		fmt.Fprintf(os.Stderr, "no openb trace in %s: its figures are left out\n", traces)
		return nil, nil
	}
	nodes, err := manifest.ReadNodes(filepath.Join(traces, "openb_node_list_gpu_node.csv.gz"))
	if err != nil {
		return nil, err
	}
	jobs, err := manifest.ReadJobs(filepath.Join(traces, "openb_pod_list_default.csv.gz"))
	if err != nil {
		return nil, err
	}
	arrivals := make([]sim.Arrival, len(jobs))
	for i := range jobs {
		arrivals[i] = sim.Arrival{Job: jobs[i].Job}
	}
	list, err := sim.Inflate(nodes, arrivals, 1.3, 42)
	if err != nil {
		return nil, err
	}
	best := map[string]time.Duration{}
	for range rounds {
		for _, name := range []string{"idle-balance", "best-fit", "fgd"} {
			p, err := policy(name, jobs)
			if err != nil {
				return nil, err
			}
			p.Ties = sched.Published
			began := time.Now()
			if _, err := sim.RunInflate(sim.Config{Policy: p, Params: balance.Defaults()}, nodes, list); err != nil {
				return nil, err
			}
			if d := time.Since(began); best[name] == 0 || d < best[name] {
				best[name] = d
			}
		}
	}
	rate := func(name string) float64 { return float64(len(list.Arrivals)) / best[name].Seconds() }
	ratio := func(name string) float64 { return best["idle-balance"].Seconds() / best[name].Seconds() }
	return []report.Figure{
		{Name: "openb default: idle-balance against best-fit", Value: ratio("best-fit"), Unit: "x time", Goal: report.AtMost(5)},
		{Name: "openb default: idle-balance against fgd", Value: ratio("fgd"), Unit: "x time"},
		{Name: "openb default: idle-balance", Value: rate("idle-balance"), Unit: "decisions/s"},
		{Name: "openb default: best-fit", Value: rate("best-fit"), Unit: "decisions/s"},
		{Name: "openb default: fgd", Value: rate("fgd"), Unit: "decisions/s"},
	}, nil
}

// policy makes a policy with nothing computed yet.
func policy(name string, jobs []manifest.Job) (sched.Policy, error) {
	if name != "idle-balance" && name != "idle-balance-spread" {
		requests := make([]poise.Request, len(jobs))
		for i := range jobs {
			requests[i] = jobs[i].Request
		}
		return baseline.New(name, requests)
	}
	spread, err := balance.NewSpread(nil)
	if err != nil {
		return sched.Policy{}, err
	}
	demand, err := balance.NewDemand(balance.Defaults())
	if err != nil {
		return sched.Policy{}, err
	}
	if name == "idle-balance-spread" {
		return sched.Policy{Name: name, Scorer: spread}, nil
	}
	return sched.Policy{Name: name, Scorer: balance.NewAuto(spread, demand, true), ProtectDevices: true, WantsProfile: true}, nil
}
