package daemon

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
)

const (
	resignWithin = 5 * time.Second // how long giving up the lead may take
	markEvery    = 2 * time.Second // how often it is tried to be found as the one that leads
)

// serveReplica stands by until this replica leads, and runs the daemon then. Once it
// does not lead any more it ends with an error: whoever started it starts it again.
func serveReplica(ctx context.Context, o Options, ready func(address, socket string)) error {
	h, err := openHome(&o)
	if err != nil {
		return err
	}
	f, err := openFront(o)
	if err != nil {
		return err
	}
	f.show(api.Standby(func() string {
		if h.Term() > 0 {
			return "this replica takes over: ask again in a moment"
		}
		return fmt.Sprintf("this replica stands by, and %s leads: ask that one", cmp.Or(h.Leader(), "no other yet"))
	}, o.Version))
	g, ctx := errgroup.WithContext(ctx)
	f.serve(ctx, g)
	g.Go(func() error { return lead(ctx, o, h, f) })
	o.announce(f, ready)
	return g.Wait()
}

// openHome gives the home that the configuration names.
func openHome(o *Options) (*kube.Home, error) {
	c := &o.Config.Current().Config.Cluster
	name, err := os.Hostname()
	if err != nil {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "cluster.home", Detail: "this machine has no name, by which replicas are told apart", Err: err}
	}
	options := kube.HomeOptions{Context: c.HomeContext, Namespace: c.Home, Identity: name, Lease: c.HomeLease, Log: o.Log}
	if c.HomeKubeconfig != "" {
		if options.Kubeconfig, err = os.ReadFile(c.HomeKubeconfig); err != nil {
			return nil, &poise.Error{Kind: poise.Invalid, Op: "cluster.home_kubeconfig", Err: err}
		}
	}
	return kube.OpenHome(options)
}

// lead runs the daemon as long as this replica leads.
func lead(ctx context.Context, o Options, h *kube.Home, f *front) error {
	led, err := h.Lead(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	began := time.Now()
	defer func() {
		if ctx.Err() == nil { // the lead is lost, not given up
			return
		}
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), resignWithin)
		defer cancel()
		if err := h.Resign(within); err != nil {
			o.Log.Warn("the lead is not given up, the next replica waits it out", "error", err)
		}
	}()
	err = serveLed(led, o, h, f, began)
	if ctx.Err() == nil && led.Err() != nil {
		return &poise.Error{Kind: poise.Unavailable, Op: "lead", Detail: "this replica does not any more", Err: context.Cause(led)}
	}
	return err
}

// serveLed runs the daemon until led ends.
func serveLed(led context.Context, o Options, h *kube.Home, f *front, began time.Time) error {
	d, err := openLed(led, o, h)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	f.show(d.handler(f.address()))
	o.Log.Info("took over", "jobs", len(d.core.jobs), "after", time.Since(began).Round(time.Millisecond))
	g, run := errgroup.WithContext(led)
	g.Go(func() error {
		markLeader(run, o.Log, h)
		return nil
	})
	g.Go(func() error { return d.Run(run) })
	g.Go(func() error { return d.watchConfig(run) })
	return g.Wait()
}

// markLeader has a Service find this replica.
func markLeader(ctx context.Context, log *slog.Logger, h *kube.Home) {
	for said := false; ; said = true {
		err := h.Mark(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if !said {
			log.Warn("this replica is not marked as the one that leads, and a Service does not find it", "error", err)
		}
		if poise.KindOf(err) == poise.NotFound {
			return // it runs in no pod of its name
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(markEvery):
		}
	}
}
