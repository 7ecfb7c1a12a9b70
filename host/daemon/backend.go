package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

var _ api.Backend = (*Daemon)(nil)

func badPage(after string) error {
	return &poise.Error{Kind: poise.Invalid, Op: "list", Detail: fmt.Sprintf("after: %q, expected what a page gave as next", after)}
}

// Health implements api.Backend.
func (d *Daemon) Health(context.Context) client.Health {
	h := client.Health{
		Ready: d.ready.Load(), StoreStalled: d.store.Stalled() != nil, LastEvent: d.store.Last(),
		Uptime: time.Since(d.began).Seconds(), Version: d.options.Version,
	}
	if err := d.options.Config.Status().Err; err != nil {
		h.ConfigError = err.Error()
	}
	return h
}
