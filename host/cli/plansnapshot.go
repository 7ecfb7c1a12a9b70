package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/snapshot"
	"github.com/poise-sched/poise/host/stack"
)

// planner plans jobs on a snapshot file: the loop of the daemon, with the policies
// that were in force and the plugins that are in the file.
type planner struct {
	file    *snapshot.File
	loop    *loop.Loop
	builder *stack.Builder
	stacks  []*stack.Stack
	now     poise.Time
}

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

func newPlanner(ctx context.Context, file *snapshot.File) (*planner, error) {
	policies := file.State.Policies()
	if policies.Scheduler() == nil {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "plan", Detail: "scheduler: not in the snapshot, expected one of a daemon that has begun to decide"}
	}
	p := &planner{file: file, builder: newBuilder(file), now: file.State.View().At()}
	var err error
	p.loop, err = loop.New(file.State, loop.Settings{
		Queue: queue.Defaults(), Params: stack.Params(policies.Scheduler()),
		LaneOf: func(tenant poise.TenantID) string {
			if policies.Activation(tenant) == nil {
				return ""
			}
			return string(tenant)
		},
	})
	if err != nil {
		return nil, err
	}
	if record, ok := file.State.View().Classes().(*model.Record); ok {
		classes, err := model.Restore(*record)
		if err != nil {
			return nil, err
		}
		p.loop.UseModel(classes)
	}
	lanes := policies.Activated()
	if policies.Activation("") == nil {
		lanes = append(lanes, "")
	}
	for _, tenant := range lanes {
		st, err := p.builder.Build(ctx, policies, tenant)
		if err != nil {
			p.close()
			return nil, err
		}
		p.stacks = append(p.stacks, st)
		p.loop.Open(string(tenant), st.Policy, false)
	}
	return p, nil
}

func (p *planner) close() {
	for _, st := range p.stacks {
		st.Close()
	}
	p.builder.Close(context.Background())
}

func (p *planner) apply(body poise.Body) error {
	return p.loop.Apply(poise.Event{Index: p.loop.State().Index() + 1, At: p.now, Body: body})
}

// plan plans the jobs in the order of the queue; each takes its place before the
// next is planned. Those that wait in the snapshot stay as they are.
func (p *planner) plan(specs []client.JobSpec, tenant poise.TenantID) ([]client.Why, error) {
	of := map[poise.JobID]client.Why{}
	for i := range specs {
		read, err := api.ParseJob(specs[i])
		if err != nil {
			return nil, err
		}
		j := read.Job
		if specs[i].Tenant == "" {
			j.Tenant = tenant
		}
		j.ID = poise.JobID(fmt.Sprintf("plan-%d", i+1))
		if err := p.apply(poise.JobSubmitted{Job: j}); err != nil {
			return nil, err
		}
		for _, due := range p.loop.Due(p.now) {
			if err := p.apply(due); err != nil {
				return nil, err
			}
		}
		of[j.ID] = client.Why{Job: client.Job{ID: string(j.ID), Name: j.Name, Tenant: string(j.Tenant), State: client.Waiting, Spec: specs[i]}, At: client.At(p.now)}
	}
	list := make([]client.Why, 0, len(specs))
	for w := p.loop.Next(p.now); w != nil; w = p.loop.Next(p.now) {
		w.Plan(sched.Full)
		s, err := p.loop.Settle(w, p.now, sched.Full)
		if err != nil {
			return nil, err
		}
		for _, body := range s.Events {
			if err := p.apply(body); err != nil {
				return nil, err
			}
		}
		decisions := s.Members
		if decisions == nil {
			decisions = []poise.Decision{s.Decision}
		}
		var placements []poise.Placement
		for i := range decisions {
			d := &decisions[i]
			why := of[d.Job]
			why.Decision = client.NewDecision(d)
			list = append(list, why)
			placements = append(placements, poise.Placement{Job: d.Job, Node: d.Node, Devices: d.Devices})
		}
		if s.Decision.Verdict != poise.Placed {
			continue
		}
		var body poise.Body = poise.JobPlaced{Placement: placements[0]}
		if s.Members != nil {
			body = poise.GangPlaced{Placements: placements}
		}
		if err := p.apply(body); err != nil {
			return nil, err
		}
	}
	return list, nil
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
	for i := range specs {
		if specs[i].Name == "" {
			specs[i].Name = "plan"
		}
	}
	p, err := newPlanner(context.Background(), file)
	if err != nil {
		return err
	}
	defer p.close()
	for _, st := range p.stacks {
		if err := st.Fault(); err != nil {
			fmt.Fprintf(s.Err, "warning: a plugin is not in force, its failure rule decides: %v\n", err)
		}
	}
	list, err := p.plan(specs, tenant)
	if err != nil {
		return err
	}
	return o.print(s.Out, list, func(w io.Writer) error {
		if len(list) == 1 {
			return printWhy(w, &list[0])
		}
		return printPlans(w, list)
	})
}

// printPlans prints what becomes of several jobs, one a line.
func printPlans(w io.Writer, list []client.Why) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ORDER\tJOB\tTENANT\tNODE\tPOLICY\tREASON")
	for i := range list {
		d := list[i].Decision
		node, reason := d.Node, fmt.Sprintf("best of %d of %d nodes", d.Fitting, d.Nodes)
		if d.Verdict != "placed" {
			node, reason = "-", d.Verdict
			if len(d.Refused) > 0 {
				r := &d.Refused[0]
				reason += fmt.Sprintf(": %s on %d of %d nodes", r.Code, r.Nodes, d.Nodes)
				if text := r.Dim + r.Text; text != "" {
					reason += " (" + text + ")"
				}
			}
		}
		if d.Fault != "" {
			reason += "; fault: " + d.Fault
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", i+1, cell(list[i].Job.Name), cell(list[i].Job.Tenant), cell(node), cell(d.Policy), cell(reason))
	}
	return t.Flush()
}
