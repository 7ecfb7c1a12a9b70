package daemon

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/telemetry"
)

// Serve runs a daemon with its API until ctx ends: on the configured address and
// on the socket of the data directory. ready is called with both once requests
// are answered. Where the configuration names a home, it is one of several replicas,
// of which one leads.
func Serve(ctx context.Context, o Options, ready func(address, socket string)) error {
	if o.Config.Current().Config.Cluster.Home != "" {
		return serveReplica(ctx, o, ready)
	}
	d, err := Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	f, err := openFront(o)
	if err != nil {
		return err
	}
	f.show(d.handler(f.address()))
	g, ctx := errgroup.WithContext(ctx)
	f.serve(ctx, g)
	g.Go(func() error { return d.Run(ctx) })
	g.Go(func() error { return d.watchConfig(ctx) })
	o.announce(f, ready)
	return g.Wait()
}

// announce says where the API is.
func (o *Options) announce(f *front, ready func(address, socket string)) {
	if f.keeper != nil && o.Secured != nil {
		o.Secured(f.keeper.Leaf())
	}
	ready(f.address().String(), f.socket)
}

// handler gives the API that is asked at an address and on the socket.
func (d *Daemon) handler(at net.Addr) http.Handler {
	others, login := d.vouchers(&d.options.Config.Current().Config)
	access := api.NewAccess(d, at, others...)
	if access.SingleUser() {
		d.log.Info("programs on this machine may act for tenant default without a token, until a tenant is created", "address", at.String())
	}
	return api.New(d, api.Options{
		Log: d.log, Access: access, Metrics: promhttp.HandlerFor(d.registry, promhttp.HandlerOpts{}), Limits: d.apiLimits, OIDC: login,
	})
}

func (d *Daemon) apiLimits() api.Limits {
	c := &d.options.Config.Current().Config.API
	return api.Limits{MaxBody: int64(c.MaxBody), Rate: c.Rate, Burst: int(c.Burst), MaxModule: int64(d.options.Config.Current().Config.Policy.Limits.Module)}
}

// watchConfig takes up changes of the configuration: when the file changes, and
// on SIGHUP.
func (d *Daemon) watchConfig(ctx context.Context) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	g, ctx := errgroup.WithContext(ctx)
	apply := func(c *config.Config) error { return d.apply(ctx, c) }
	g.Go(func() error { return d.options.Config.Watch(ctx, apply, d.reloaded) })
	g.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-hangup:
				s := d.options.Config.Reload(apply)
				if s.Err == nil && len(s.Changed) == 0 {
					// The plugin's file may be another under the same name.
					s.Err = apply(&d.options.Config.Current().Config)
				}
				d.reloaded(s)
			}
		}
	})
	err := g.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// apply puts what may change while the daemon runs in force.
func (d *Daemon) apply(ctx context.Context, c *config.Config) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	now, err := d.inForce(ctx)
	if err != nil {
		return err
	}
	bodies, err := d.configured(ctx, c, now)
	if err != nil {
		return err
	}
	if len(bodies) > 0 {
		if err := d.changeLocked(ctx, bodies); err != nil {
			return err
		}
	}
	err = d.do(ctx, func(core *core) error {
		core.loop.UseReservations(int(c.Queue.Reservations), span(c.Queue.Patience))
		core.loop.UsePreempt(preemption(c))
		return nil
	})
	if err != nil {
		return err
	}
	if d.options.Level != nil {
		d.options.Level.Set(telemetry.Level(c.Log.Level))
	}
	return nil
}

// reloaded says what became of a new configuration.
func (d *Daemon) reloaded(s config.Status) {
	if s.Err != nil {
		d.log.Error("configuration not taken up, the one before stays in force", "error", s.Err)
	} else {
		d.log.Info("configuration taken up", "changed", s.Changed, "after_restart", s.Restart)
	}
	d.metrics.ConfigReload(time.Now(), s.Err == nil, len(s.Restart))
}
