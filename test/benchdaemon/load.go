package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/daemon"
	"github.com/poise-sched/poise/host/poise"
)

// clients is how many submit at one time.
const clients = 64

// submitter submits jobs and returns once they are durable. client.Client is one.
type submitter interface {
	Submit(ctx context.Context, specs []client.JobSpec, key string) ([]client.Job, error)
}

// within submits without a network.
type within struct{ daemon *daemon.Daemon }

func (w within) Submit(ctx context.Context, specs []client.JobSpec, key string) ([]client.Job, error) {
	return w.daemon.Submit(ctx, poise.TenantID(client.DefaultTenant), specs, key)
}

// job is the i-th job of a load: one of ten shapes. Its task ends after a tenth of
// a second in the engine's time, so that the fleet is never full.
func job(i int) client.JobSpec {
	cores := []string{"250m", "500m", "1", "2", "4"}[i%5]
	memory := []string{"512Mi", "4Gi"}[i/5%2]
	return client.JobSpec{
		Name: "load-" + strconv.Itoa(i), RunTime: "6s", Command: []string{"work", "--part", strconv.Itoa(i)},
		Request: map[string]client.Quantity{"cpu": client.Quantity(cores), "memory": client.Quantity(memory)},
	}
}

// pass is one load: when it began, in ns since the Unix epoch, and which jobs it
// made.
type pass struct {
	Began int64
	Jobs  []string
}

// load submits n jobs, so many in one submission, by all clients at once: each
// submits its next when it has the answer to the one before.
func load(to func(int) submitter, first, n, together int) (pass, error) {
	var next atomic.Int64
	var all sync.WaitGroup
	made := make([][]string, clients)
	errs := make(chan error, clients)
	began := time.Now().UnixNano()
	for c := range clients {
		all.Go(func() {
			s := to(c)
			for {
				from := int(next.Add(int64(together))) - together
				if from >= n {
					return
				}
				specs := make([]client.JobSpec, min(together, n-from))
				for i := range specs {
					specs[i] = job(first + from + i)
				}
				jobs, err := s.Submit(context.Background(), specs, "")
				if err != nil {
					errs <- fmt.Errorf("submit: %w", err)
					return
				}
				for i := range jobs {
					made[c] = append(made[c], jobs[i].ID)
				}
			}
		})
	}
	all.Wait()
	close(errs)
	p := pass{Began: began}
	for _, ids := range made {
		p.Jobs = append(p.Jobs, ids...)
	}
	return p, <-errs
}

// warmUp is how many jobs come before those that count.
const warmUp = 1000

// settled is how long the daemon has for what runs to end.
const settled = time.Second

// inside loads a daemon of this process and says how that went.
func (h *host) inside(n, together int) error {
	h.record()
	err := h.within(func(_ context.Context, d *daemon.Daemon) error {
		to := func(int) submitter { return within{d} }
		if _, err := load(to, 0, warmUp, together); err != nil {
			return err
		}
		before := processor("self")
		p, err := load(to, warmUp, n, together)
		if err != nil {
			return err
		}
		used := processor("self") - before
		time.Sleep(settled)
		return say(struct {
			Pass pass
			Used time.Duration
		}{p, used})
	})
	if err != nil {
		return err
	}
	return h.save()
}
