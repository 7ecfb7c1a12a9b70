package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/telemetry"
)

// Serve runs a daemon with its API until ctx ends: on the configured address and
// on the socket of the data directory. ready is called with both once requests
// are answered.
func Serve(ctx context.Context, o Options, ready func(address, socket string)) error {
	d, err := Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	c := &o.Config.Current().Config
	keeper, err := d.openCertificate(c)
	if err != nil {
		return err
	}
	listeners, err := listen(c)
	if err != nil {
		return err
	}
	others, login := d.vouchers(c)
	access := api.NewAccess(d, listeners[1].Addr(), others...)
	if access.SingleUser() {
		d.log.Info("programs on this machine may act for tenant default without a token, until a tenant is created", "address", listeners[1].Addr().String())
	}
	server := api.Server(api.New(d, api.Options{
		Log: o.Log, Access: access, Metrics: promhttp.HandlerFor(d.registry, promhttp.HandlerOpts{}), Limits: d.apiLimits, OIDC: login,
	}), api.Timeouts{Request: c.API.RequestTimeout, Idle: c.API.IdleTimeout})
	g, ctx := errgroup.WithContext(ctx)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	server.ErrorLog, server.Protocols = log.New(serverLog{d.log}, "", 0), only11()
	if keeper != nil {
		listeners[1] = tls.NewListener(listeners[1], keeper.Config())
		g.Go(func() error { return keeper.Watch(ctx) })
		d.log.Info("the API speaks TLS", "address", listeners[1].Addr().String(), "fingerprint", client.Fingerprint(keeper.Leaf()), "ends", keeper.Leaf().NotAfter)
	} else if exposed(c, listeners[1].Addr()) {
		d.log.Warn("the API speaks without TLS: all on the way can read and change what is said, tokens too", "address", listeners[1].Addr().String())
	}
	for _, l := range listeners {
		g.Go(func() error {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	g.Go(func() error { return d.Run(ctx) })
	g.Go(func() error { return d.watchConfig(ctx) })
	g.Go(func() error {
		<-ctx.Done()
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.API.ShutdownTimeout)
		defer cancel()
		if err := server.Shutdown(within); err != nil {
			return server.Close()
		}
		return nil
	})
	if keeper != nil && d.options.Secured != nil {
		d.options.Secured(keeper.Leaf())
	}
	ready(listeners[1].Addr().String(), c.API.Socket)
	return g.Wait()
}

// listen opens the socket and the address. A socket that a daemon left behind
// when it was killed is replaced: the store's lock says that none runs.
func listen(c *config.Config) (all []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, l := range all {
				_ = l.Close() // the first error is the one to tell
			}
			all = nil
		}
	}()
	if err := os.MkdirAll(filepath.Dir(c.API.Socket), 0o700); err != nil {
		return nil, fmt.Errorf("api.socket: %w", err)
	}
	_ = os.Remove(c.API.Socket)
	socket, err := net.Listen("unix", c.API.Socket)
	if err != nil {
		return nil, fmt.Errorf("api.socket: %w", err)
	}
	all = append(all, socket)
	if err := os.Chmod(c.API.Socket, 0o600); err != nil {
		return all, fmt.Errorf("api.socket: %w", err)
	}
	tcp, err := net.Listen("tcp", c.API.Listen)
	if err != nil {
		return all, fmt.Errorf("api.listen: %w", err)
	}
	all = append(all, tcp)
	return all, refuseExposed(c, tcp.Addr())
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
