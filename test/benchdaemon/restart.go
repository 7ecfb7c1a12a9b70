package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/daemon"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/store"
)

const (
	// eventsOfJob is how many events a job of the history leaves: submitted,
	// placed, finished.
	eventsOfJob = 3
	// together is how many jobs one submission of the history has.
	together = 200
	// runs and waits are the jobs that are there when the daemon is killed.
	runs, waits = 2000, 1000
)

// reopened is one restart.
type reopened struct {
	Took     time.Duration // of Open, until the daemon is ready
	Snapshot int           // bytes
	Behind   uint64        // events behind the snapshot
	Events   uint64
}

// restart has a daemon write a history, kills it, and opens it again, in turn
// with a plain read of its latest snapshot.
func (b *bench) restart() ([]report.Figure, error) {
	dir, err := b.scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if _, err := once[bool](b, dir, "history", strconv.Itoa(b.events/eventsOfJob)); err != nil {
		return nil, err
	}
	var open, read reopened
	for range b.rounds {
		o, err := once[reopened](b, dir, "open")
		if err != nil {
			return nil, err
		}
		if open.Took == 0 || o.Took < open.Took {
			open = o
		}
		r, err := once[reopened](b, dir, "read")
		if err != nil {
			return nil, err
		}
		if read.Took == 0 || r.Took < read.Took {
			read = r
		}
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return []report.Figure{
		{Name: fmt.Sprintf("restart with %d events, %d jobs there", read.Events, runs+waits), Value: ms(open.Took), Unit: "ms"},
		{Name: "  events behind the snapshot", Value: float64(read.Behind), Unit: "events"},
		{Name: "plain read of the snapshot", Value: ms(read.Took), Unit: "ms"},
		{Name: "  its size", Value: float64(read.Snapshot), Unit: "B"},
		{Name: "restart", Value: float64(open.Took) / float64(read.Took), Unit: "x read"},
	}, nil
}

// once runs a child to its end and gives what it says.
func once[T any](b *bench, dir, kind string, args ...string) (v T, err error) {
	p, err := b.start(dir, kind, args...)
	if err != nil {
		return v, err
	}
	if v, err = answer[T](p); err != nil {
		return v, err
	}
	return v, p.stop()
}

// history runs so many jobs to their end, has others run and wait, and dies.
func (h *host) history(n int) error {
	ended := make(chan struct{})
	left := n
	h.options.Written = func(group []store.Batch) {
		for _, b := range group {
			for _, j := range b.Jobs {
				if j.ExitCode == nil {
					continue
				}
				if left--; left == 0 {
					close(ended)
				}
			}
		}
	}
	return h.within(func(ctx context.Context, d *daemon.Daemon) error {
		if _, err := load(func(int) submitter { return within{d} }, 0, n, together); err != nil {
			return err
		}
		<-ended
		if err := there(ctx, d, runs, waits); err != nil {
			return err
		}
		if err := say(true); err != nil {
			return err
		}
		os.Exit(0)
		return nil
	})
}

// there submits jobs that never end, and others that fit on no node.
func there(ctx context.Context, d *daemon.Daemon, run, wait int) error {
	for _, kind := range []struct {
		n    int
		spec func(i int) client.JobSpec
	}{
		{run, func(i int) client.JobSpec { s := job(i); s.RunTime = ""; return s }},
		{wait, func(i int) client.JobSpec { s := job(i); s.Request["cpu"] = "1000"; return s }},
	} {
		for from := 0; from < kind.n; from += together {
			var specs []client.JobSpec
			for i := range min(together, kind.n-from) {
				specs = append(specs, kind.spec(from+i))
			}
			if _, err := (within{d}).Submit(ctx, specs, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// open takes the time of a restart.
func (h *host) open() error {
	began := time.Now()
	d, err := daemon.Open(context.Background(), h.options)
	if err != nil {
		return err
	}
	took := time.Since(began)
	if err := say(reopened{Took: took}); err != nil {
		return err
	}
	return d.Close()
}

// read takes the time of a plain read of the latest snapshot.
func (h *host) read() error {
	began := time.Now()
	s, err := store.Open(context.Background(), store.Options{Dir: filepath.Join(h.dir, "store"), Now: func() int64 { return time.Now().UnixMilli() }})
	if err != nil {
		return err
	}
	seq, body, ok, err := s.LatestSnapshot(context.Background())
	if err == nil && !ok {
		err = fmt.Errorf("no snapshot, expected one: too few events")
	}
	if err != nil {
		return err
	}
	took := time.Since(began)
	if err := say(reopened{Took: took, Snapshot: len(body), Behind: s.Last() - seq, Events: s.Last()}); err != nil {
		return err
	}
	return s.Close()
}
