package daemon

import (
	"context"
	"fmt"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// Events implements api.Backend.
func (d *Daemon) Events(ctx context.Context, tenant poise.TenantID, after uint64, fn func(client.Event) error) error {
	s := sight{tenant: tenant, owner: d.ownerOf, owners: map[poise.JobID]poise.TenantID{}}
	for {
		news := d.board.wait()
		err := d.store.Read(ctx, after+1, func(r store.Record) error {
			after = r.Seq
			e, body := eventView(&r)
			if ok, err := s.sees(ctx, body); !ok {
				return err
			}
			return fn(s.ofTenant(e, body))
		})
		if err != nil {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
	}
}

func whosePolicy(tenant poise.TenantID) string {
	if tenant == "" {
		return "cluster"
	}
	return "tenant " + string(tenant)
}

// eventView gives an event as it goes over the wire, and as the core knows it;
// that is nil where it is of a later version.
func eventView(r *store.Record) (client.Event, poise.Body) {
	e := client.Event{Index: r.Seq, At: client.At(poise.Time(r.At)), Kind: r.Kind, Body: r.Body}
	ev, err := journal.Decode(journal.Entry{Index: r.Seq, At: poise.Time(r.At), Kind: r.Kind, Schema: r.Schema, Body: r.Body})
	if err != nil {
		return e, nil // shown as the log has it
	}
	switch b := ev.Body.(type) {
	case poise.NodeJoined:
		e.Node = b.Node.Name
	case poise.NodeChanged:
		e.Node = b.Node.Name
	case poise.NodeMarked:
		e.Node = b.Name
	case poise.NodeLeft:
		e.Node = b.Name
	case poise.JobSubmitted:
		e.Job = string(b.Job.ID)
	case poise.JobAdopted:
		e.Job, e.Node = string(b.Job.ID), b.Node
	case poise.JobPlaced:
		e.Job, e.Node = string(b.Placement.Job), b.Placement.Node
	case poise.GangPlaced:
		e.Job, e.Node = string(b.Placements[0].Job), b.Placements[0].Node
	case poise.JobFinished:
		e.Job = string(b.Job)
	case poise.JobRequeued:
		e.Job = string(b.Job)
	case poise.JobEnding:
		e.Job = string(b.Job)
	case poise.JobHeld:
		e.Job = string(b.Job)
	case poise.JobReleased:
		e.Job = string(b.Job)
	case poise.JobPrioritySet:
		e.Job = string(b.Job)
	case poise.JobPreempted:
		e.Job = string(b.Job)
	case poise.JobSpared:
		e.Job = string(b.Job)
	case poise.JobWithdrawn:
		e.Job = string(b.Job)
	case poise.ReservationMade:
		e.Job, e.Node = string(b.Job), b.Nodes[0]
	case poise.ReservationEnded:
		e.Job = string(b.Job)
	case poise.PolicySet:
		e.Policy = fmt.Sprintf("%s: %s@%s in force, by %s", whosePolicy(b.Activation.Tenant), b.Activation.Plugin, b.Activation.Version, b.Activation.By)
	case poise.PolicyRolledBack:
		e.Policy = whosePolicy(b.Tenant) + ": rolled back"
	case poise.PolicyCleared:
		e.Policy = whosePolicy(b.Tenant) + ": ended"
	case poise.PolicyQuarantined:
		if e.Policy = whosePolicy(b.Tenant) + ": out of quarantine"; b.Quarantined {
			e.Policy = whosePolicy(b.Tenant) + ": in quarantine after faults in a row"
		}
	}
	return e, ev.Body
}
