package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/outlook"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/sim"
	"github.com/poise-sched/poise/host/snapshot"
	"github.com/poise-sched/poise/host/stack"
)

// newBuilder makes what builds policies from the plugins of a snapshot file. What
// is compiled is kept in the user's cache directory.
func newBuilder(file *snapshot.File) *stack.Builder {
	var o stack.Options
	if self, err := os.Executable(); err == nil {
		o.Child = []string{self, compileCommand}
	}
	if dir, err := os.UserCacheDir(); err == nil {
		o.Cache = filepath.Join(dir, "poise", "plugins")
	}
	return stack.NewBuilder(o, file)
}

// planBounds bound a plan on a snapshot file. There is no clock in it: the same file
// and jobs give the same plan.
var planBounds = sim.Bounds{Horizon: 7 * 24 * 60 * 60 * 1000, Attempts: 200_000}

// lookAhead says what becomes of jobs that are submitted on the state of a snapshot
// file.
func lookAhead(ctx context.Context, s Streams, file *snapshot.File, tenant poise.TenantID, specs []client.JobSpec) (client.Outlook, error) {
	b := newBuilder(file)
	defer b.Close(ctx)
	f, err := outlook.Open(ctx, b, file.State, nil, file.State.View().At(), loop.Settings{Queue: queue.Defaults(), Reservations: int(config.Defaults().Queue.Reservations)})
	if err != nil {
		return client.Outlook{}, err
	}
	defer f.Close()
	for i := range specs {
		read, err := api.ParseJob(specs[i])
		if err != nil {
			return client.Outlook{}, err
		}
		j := read.Job
		if specs[i].Tenant == "" {
			j.Tenant = tenant
		}
		if err := f.Submit(ctx, b, j, read.Task.After); err != nil {
			return client.Outlook{}, err
		}
	}
	for _, err := range f.Faults() {
		fmt.Fprintf(s.Err, "warning: a plugin is not in force, its failure rule decides: %v\n", err)
	}
	o, err := f.Run(planBounds, 0)
	if err != nil {
		return client.Outlook{}, err
	}
	return o.Own(""), nil // who has the file sees it all
}

// planOnSnapshot does what plan does with --snapshot.
func planOnSnapshot(s Streams, o output, name string, tenant poise.TenantID, specs []client.JobSpec) error {
	if err := tenant.Validate(); err != nil {
		return err
	}
	file, err := snapshot.Read(name)
	if err != nil {
		return err
	}
	made, err := lookAhead(context.Background(), s, file, tenant, specs)
	if err != nil {
		return err
	}
	return o.print(s.Out, made, func(w io.Writer) error { return printPlan(w, &made, specs) })
}
