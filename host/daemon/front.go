package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/cert"
	"github.com/poise-sched/poise/host/config"
)

// front is where the API is asked: on the configured address and on the socket of
// the data directory. What answers may change while it serves.
type front struct {
	log       *slog.Logger
	socket    string
	keeper    *cert.Keeper // nil without TLS
	listeners []net.Listener
	handler   atomic.Pointer[http.Handler]
	server    *http.Server
	shutdown  time.Duration // how long a stop waits for requests under way
}

// openFront opens the listeners. Nothing is answered before serve.
func openFront(o Options) (*front, error) {
	c := &o.Config.Current().Config
	keeper, err := openCertificate(c, o.Log)
	if err != nil {
		return nil, err
	}
	listeners, err := listen(c)
	if err != nil {
		return nil, err
	}
	f := &front{log: o.Log, socket: c.API.Socket, keeper: keeper, listeners: listeners, shutdown: c.API.ShutdownTimeout}
	f.server = api.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*f.handler.Load()).ServeHTTP(w, r) }),
		api.Timeouts{Request: c.API.RequestTimeout, Idle: c.API.IdleTimeout})
	f.server.ErrorLog, f.server.Protocols = log.New(serverLog{o.Log}, "", 0), only11()
	at := f.address()
	if keeper != nil {
		listeners[1] = tls.NewListener(listeners[1], keeper.Config())
		o.Log.Info("the API speaks TLS", "address", at.String(), "fingerprint", client.Fingerprint(keeper.Leaf()), "ends", keeper.Leaf().NotAfter)
	} else if exposed(c, at) {
		o.Log.Warn("the API speaks without TLS: all on the way can read and change what is said, tokens too", "address", at.String())
	}
	return f, nil
}

func (f *front) address() net.Addr { return f.listeners[1].Addr() }

// show has a handler answer from now on.
func (f *front) show(h http.Handler) { f.handler.Store(&h) }

// serve answers until ctx ends.
func (f *front) serve(ctx context.Context, g *errgroup.Group) {
	f.server.BaseContext = func(net.Listener) context.Context { return ctx }
	if f.keeper != nil {
		g.Go(func() error { return f.keeper.Watch(ctx) })
	}
	for _, l := range f.listeners {
		g.Go(func() error {
			if err := f.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	g.Go(func() error {
		<-ctx.Done()
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.shutdown)
		defer cancel()
		if err := f.server.Shutdown(within); err != nil {
			return f.server.Close()
		}
		return nil
	})
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
