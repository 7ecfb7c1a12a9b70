package main

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/report"
)

// traces are what may be left behind.
type traces struct {
	memory, goroutines, files float64
}

// left measures what is there, once the collector and finalizers have run.
func left() traces {
	time.Sleep(time.Second) // for the tasks that run to end
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, _ := os.ReadDir("/proc/self/fd") // none where there is no /proc
	return traces{float64(m.HeapAlloc + m.StackInuse), float64(runtime.NumGoroutine()), float64(len(files))}
}

// growth compares, and gives a figure each.
func growth(of string, early, late traces) []report.Figure {
	f := func(name string, early, late float64) report.Figure {
		return report.Figure{Name: "  growth of " + name, Value: 100 * (late/early - 1), Unit: "%", Goal: report.AtMost(5)}
	}
	return []report.Figure{
		{Name: of + ": memory in use at the end", Value: late.memory / (1 << 20), Unit: "MiB"},
		f("memory in use", early.memory, late.memory), f("goroutines", early.goroutines, late.goroutines), f("file descriptors", early.files, late.files),
	}
}

// Growth counts from the time on when the other tenant's jobs have flowed for a
// while, and one round in so many is over.
const (
	warm     = 10
	warmTime = 10 * time.Second
)

// under runs so many rounds while another tenant's jobs flow, and gives what
// they left behind from a tenth of them on.
func (b *bench) under(name string, rounds int, prepare func(h *host) error, round func(h *host, i int) error) (figures []report.Figure, err error) {
	err = b.with(nil, func(h *host) error {
		if err := prepare(h); err != nil {
			return err
		}
		var early traces
		stop := h.flow("b", every)
		time.Sleep(warmTime)
		began := time.Now()
		jobs := 0
		for i := range rounds {
			if i == max(rounds/warm, 1) {
				n, err := stop()
				if err != nil {
					return err
				}
				early = left()
				stop, jobs = h.flow("b", every), n
			}
			if err := round(h, i); err != nil {
				return fmt.Errorf("round %d: %w", i, err)
			}
		}
		took := time.Since(began)
		n, err := stop()
		if err != nil {
			return err
		}
		figures = append([]report.Figure{
			{Name: fmt.Sprintf("%d rounds of %s, each", rounds, name), Value: took.Seconds() * 1000 / float64(rounds), Unit: "ms"},
			{Name: "  jobs placed beside", Value: float64(jobs + n), Unit: "jobs"},
		}, growth(name, early, left())...)
		return nil
	})
	return figures, err
}

// activations puts one version in force and the one before again.
func (b *bench) activations() ([]report.Figure, error) {
	use := func(h *host, version string) error {
		_, err := h.Activate(h.ctx, "a", client.ActivationSpec{Plugin: "bestfit@" + version}, "bench")
		return err
	}
	return b.under("activation and rollback", b.changes, func(h *host) error {
		for n := range 2 {
			bin, err := b.version("bestfit", n)
			if err != nil {
				return err
			}
			if _, err := h.PushPlugin(h.ctx, "a", client.PluginPush{Module: bin}, "bench"); err != nil {
				return err
			}
		}
		return use(h, "0.0.0")
	}, func(h *host, i int) error {
		if err := use(h, "0.0.1"); err != nil {
			return err
		}
		if _, err := h.place("a", i); err != nil {
			return err
		}
		_, err := h.Rollback(h.ctx, "a")
		return err
	})
}

// pushesOfOne is how many pushes a tenant has in a row before it is told to wait.
const pushesOfOne = 20

// pushesAndDeletes pushes a module that nobody knows and deletes it. Tenants take
// turns, for each may push 20 times a minute.
func (b *bench) pushesAndDeletes() ([]report.Figure, error) {
	return b.under("push and delete", b.pushes, func(*host) error { return nil }, func(h *host, i int) error {
		bin, err := b.version("bestfit", i)
		if err != nil {
			return err
		}
		tenant := poise.TenantID(fmt.Sprint("p", i/pushesOfOne))
		v, err := h.PushPlugin(h.ctx, tenant, client.PluginPush{Module: bin, Tag: "latest"}, "bench")
		if err != nil {
			return err
		}
		return h.DeletePlugin(h.ctx, tenant, v.Plugin+"@"+v.Version)
	})
}
