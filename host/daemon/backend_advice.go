package daemon

import (
	"context"

	"github.com/poise-sched/poise/host/advice"
	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
)

// Advice implements api.Backend. What it needs is taken out of the state by the
// loop; the rest goes on beside it, one at a time.
func (d *Daemon) Advice(ctx context.Context) (client.Advice, error) {
	d.advising.Lock()
	defer d.advising.Unlock()
	var in *advice.Input
	err := d.do(ctx, func(c *core) error {
		in = advice.Gather(c.loop.State())
		return nil
	})
	if err != nil {
		return client.Advice{}, err
	}
	a, err := in.Advise()
	if err != nil {
		return client.Advice{}, err
	}
	return api.NewAdvice(a), nil
}
