package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/daemon"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// host is a daemon in this process, on a fleet that is not real.
type host struct {
	*daemon.Daemon
	ctx context.Context

	mu     sync.Mutex
	placed map[string]time.Time // when a placement was durable, by job; guarded by mu
}

// with runs a daemon while f does. Where before is given, it comes first, on the
// store alone.
func (b *bench) with(before func(s *store.Store) error, f func(h *host) error) error {
	dir, err := os.MkdirTemp(b.dir, "tenants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fleet := filepath.Join(dir, "fleet.yaml")
	if err := os.WriteFile(fleet, fmt.Appendf(nil, "node: n\ncount: %d\ncapacity: {cpu: 64, memory: 256Gi}\n", b.nodes), 0o600); err != nil {
		return err
	}
	live, err := config.Open(config.Options{Env: []string{"POISE_DATA_DIR=" + filepath.Join(dir, "data"), "POISE_ENGINE_KIND=sim", "POISE_CLUSTER_INVENTORY=" + fleet}})
	if err != nil {
		return err
	}
	if before != nil {
		if err := prepared(filepath.Join(dir, "data", "store"), before); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	h := &host{placed: map[string]time.Time{}}
	h.Daemon, err = daemon.Open(context.Background(), daemon.Options{
		Config: live, Version: "bench", Compile: []string{self, compileChild}, Conform: []string{self, conformChild}, Written: h.written,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	h.ctx = ctx
	ran := make(chan error, 1)
	go func() { ran <- h.Run(ctx) }()
	err = f(h)
	stop()
	if runErr := <-ran; err == nil {
		err = runErr
	}
	if closeErr := h.Close(); err == nil {
		err = closeErr
	}
	return err
}

func prepared(dir string, before func(s *store.Store) error) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	s, err := store.Open(context.Background(), store.Options{Dir: dir, Now: func() int64 { return time.Now().UnixMilli() }})
	if err != nil {
		return err
	}
	err = before(s)
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	return err
}

// written notes what is durable now.
func (h *host) written(group []store.Batch) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range group {
		for _, d := range group[i].Decisions {
			h.placed[d.Job] = now
		}
	}
}

// patience is far beyond what a placement takes.
const patience = time.Minute

// place submits a job, waits for its placement to be durable, and gives how long
// that took.
func (h *host) place(tenant poise.TenantID, n int) (time.Duration, error) {
	began := time.Now()
	jobs, err := h.Submit(h.ctx, tenant, []client.JobSpec{job(n)}, "")
	if err != nil {
		return 0, err
	}
	for time.Since(began) < patience {
		h.mu.Lock()
		at, ok := h.placed[jobs[0].ID]
		delete(h.placed, jobs[0].ID)
		h.mu.Unlock()
		if ok {
			return at.Sub(began), nil
		}
		time.Sleep(time.Millisecond)
	}
	return 0, fmt.Errorf("job %d of %s: not placed in %v", n, tenant, patience)
}

// flow has a tenant's jobs placed, each after the one before, until stop is
// called. stop gives how many there were.
func (h *host) flow(tenant poise.TenantID, rest time.Duration) (stop func() (int, error)) {
	over, done := make(chan struct{}), make(chan error, 1)
	n := 0
	go func() {
		for ; ; n++ {
			select {
			case <-over:
				done <- nil
				return
			default:
			}
			if _, err := h.place(tenant, n); err != nil {
				done <- err
				return
			}
			time.Sleep(rest)
		}
	}()
	return func() (int, error) {
		close(over)
		err := <-done
		return n, err
	}
}

// job is the n-th job of a load: one of ten shapes, over after a tenth of a second.
func job(n int) client.JobSpec {
	cores := []string{"250m", "500m", "1", "2", "4"}[n%5]
	memory := []string{"512Mi", "4Gi"}[n/5%2]
	return client.JobSpec{Name: "load-" + strconv.Itoa(n), RunTime: "6s", Request: map[string]client.Quantity{"cpu": client.Quantity(cores), "memory": client.Quantity(memory)}}
}

// version gives the module of a first-party plugin another version, of the same
// length: the n-th of thousand.
func (b *bench) version(name string, n int) ([]byte, error) {
	bin, err := os.ReadFile(filepath.Join(b.root, "plugins", name, name+".wasm"))
	if err != nil {
		return nil, err
	}
	was, is := []byte(`"version":"1.0.0"`), fmt.Appendf(nil, `"version":"%d.%d.%d"`, n/100%10, n/10%10, n%10)
	if bytes.Count(bin, was) != 1 {
		return nil, fmt.Errorf("plugin %s: its version is not to be changed so", name)
	}
	return bytes.Replace(bin, was, is, 1), nil
}
