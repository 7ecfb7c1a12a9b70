package main

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/report"
)

const (
	// every is how often the tenant that is measured submits, so many jobs a round.
	every     = 10 * time.Millisecond
	jobsRound = 300
	// settle is how long the other has had the daemon before a round.
	settle = time.Second
	// pauseBound is what docs/plugins.md says that one guest call may hold up.
	pauseBound = 15 * time.Millisecond
)

// latency takes the time from a submission to the durable placement of a tenant
// without a policy of its own, with and without another whose plugin spins to its
// budget in every decision and as a shadow once more.
func (b *bench) latency() (figures []report.Figure, err error) {
	bin, err := os.ReadFile(filepath.Join(b.root, "test", "benchtenants", "guest", "spin.wasm"))
	if err != nil {
		return nil, err
	}
	err = b.with(nil, func(h *host) error {
		if _, err := h.PushPlugin(h.ctx, "a", client.PluginPush{Module: bin}, "bench"); err != nil {
			return err
		}
		if _, err := h.Activate(h.ctx, "a", client.ActivationSpec{Plugin: "spin"}, "bench"); err != nil {
			return err
		}
		// In force it would agree with itself; it spins as much.
		if _, err := h.StartShadow(h.ctx, "a", client.ShadowSpec{Plugin: "spin"}, "bench"); err != nil {
			return err
		}
		if _, err := h.series(); err != nil { // the first is of cold caches
			return err
		}
		var ratios []float64
		var alone, beside []time.Duration
		spun, loudFor := 0, time.Duration(0)
		for range b.rounds {
			quiet, err := h.series()
			if err != nil {
				return err
			}
			began := time.Now()
			stop := h.flow("a", 0)
			time.Sleep(settle)
			loud, err := h.series()
			n, stopErr := stop()
			if err != nil || stopErr != nil {
				return cmpErr(err, stopErr)
			}
			spun, loudFor = spun+n, loudFor+time.Since(began)
			ratios = append(ratios, us(loud, 50)/us(quiet, 50))
			alone, beside = append(alone, quiet...), append(beside, loud...)
		}
		stack, err := h.Policy(h.ctx, "a")
		if err != nil {
			return err
		}
		shadow, err := h.Shadow(h.ctx, "a")
		if err != nil {
			return err
		}
		use, limits := stack.Layers[0].Use, stack.Layers[0].Limits
		budget := float64(limits.Job + int64(b.nodes)*limits.Row)
		slices.Sort(ratios)
		figures = []report.Figure{
			{Name: "submitted to placed, alone, median", Value: us(alone, 50), Unit: "us"},
			{Name: "  p99", Value: us(alone, 99), Unit: "us"},
			{Name: "submitted to placed, beside a plugin that spins, median", Value: us(beside, 50), Unit: "us"},
			{Name: "  p99", Value: us(beside, 99), Unit: "us"},
			{Name: "  medians of a round, median of the ratios", Value: ratios[len(ratios)/2], Unit: "x alone", Goal: report.AtMost(1.10)},
			{Name: "  the least and", Value: ratios[0], Unit: "x alone"},
			{Name: "  the largest of them", Value: ratios[len(ratios)-1], Unit: "x alone"},
			{Name: "  p99 above that alone", Value: us(beside, 99) - us(alone, 99), Unit: "us", Goal: report.AtMost(float64(pauseBound.Microseconds()))},
			{Name: "the plugin that spins: fuel", Value: float64(use.Fuel) / loudFor.Seconds() / 1e6, Unit: "M units/s"},
			{Name: "  its jobs placed", Value: float64(spun) / loudFor.Seconds(), Unit: "/s"},
			{Name: "  fuel of each, overtaken decisions too", Value: float64(use.Fuel) / float64(spun) / budget, Unit: "x budget"},
			{Name: "  those of its shadow, compared and", Value: float64(shadow.Decisions), Unit: "decisions"},
			{Name: "  dropped", Value: float64(shadow.Dropped), Unit: "decisions"},
		}
		return nil
	})
	return figures, err
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// series places jobs at a steady rate and gives what each took.
func (h *host) series() (waits []time.Duration, err error) {
	return h.seriesOf(func(int) poise.TenantID { return "b" })
}

func (h *host) seriesOf(tenant func(n int) poise.TenantID) (waits []time.Duration, err error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := range jobsRound {
		<-tick.C
		wait, err := h.place(tenant(n), n)
		if err != nil {
			return nil, err
		}
		waits = append(waits, wait)
	}
	return waits, nil
}

// us gives a percentile in microseconds.
func us(list []time.Duration, percent int) float64 {
	list = slices.Sorted(slices.Values(list))
	return float64(list[(len(list)-1)*percent/100].Nanoseconds()) / 1000
}
