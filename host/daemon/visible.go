package daemon

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// sight says which events a tenant may see.
type sight struct {
	tenant poise.TenantID // "" sees all
	owner  func(ctx context.Context, job string) (poise.TenantID, error)
	owners map[poise.JobID]poise.TenantID // of jobs that the events were about and that have not ended
}

// maxOwners bounds what a sight remembers.
const maxOwners = 100_000

// ownerOf gives whose a job is; "" for one that the history does not have any
// more.
func (d *Daemon) ownerOf(ctx context.Context, job string) (poise.TenantID, error) {
	row, err := d.store.Job(ctx, job)
	if poise.KindOf(err) == poise.NotFound {
		err = nil
	}
	return poise.TenantID(row.Tenant), err
}

// sees says whether a tenant may see an event. Nodes and classes are for all;
// jobs and policies for their owner; what is made of all tenants' jobs, such as
// the demand profile, is for none.
func (s *sight) sees(ctx context.Context, body poise.Body) (bool, error) {
	if s.tenant == "" {
		return true, nil
	}
	switch b := body.(type) {
	case poise.NodeJoined, poise.NodeChanged, poise.NodeMarked, poise.NodeLeft, poise.ModelBuilt:
		return true, nil
	case poise.JobSubmitted:
		s.remember(b.Job.ID, b.Job.Tenant)
		return b.Job.Tenant == s.tenant, nil
	case poise.JobAdopted:
		s.remember(b.Job.ID, b.Job.Tenant)
		return b.Job.Tenant == s.tenant, nil
	case poise.JobPlaced:
		return s.owns(ctx, b.Placement.Job)
	case poise.GangPlaced:
		return s.owns(ctx, b.Placements[0].Job) // all are of one tenant
	case poise.JobFinished:
		defer delete(s.owners, b.Job)
		return s.owns(ctx, b.Job)
	case poise.JobRequeued:
		return s.owns(ctx, b.Job)
	case poise.JobEnding:
		return s.owns(ctx, b.Job)
	case poise.JobHeld:
		return s.owns(ctx, b.Job)
	case poise.JobReleased:
		return s.owns(ctx, b.Job)
	case poise.JobPrioritySet:
		return s.owns(ctx, b.Job)
	case poise.JobPreempted: // a tenant sees what becomes of its own, see ofTenant
		if _, err := s.owns(ctx, b.By); err != nil {
			return false, err
		}
		return s.owns(ctx, b.Job)
	case poise.JobSpared:
		return s.owns(ctx, b.Job)
	case poise.JobWithdrawn:
		defer delete(s.owners, b.Job)
		return s.owns(ctx, b.Job)
	case poise.ReservationMade:
		return s.owns(ctx, b.Job)
	case poise.ReservationEnded:
		return s.owns(ctx, b.Job)
	case poise.PolicySet:
		return b.Activation.Tenant == s.tenant, nil
	case poise.PolicyRolledBack:
		return b.Tenant == s.tenant, nil
	case poise.PolicyCleared:
		return b.Tenant == s.tenant, nil
	case poise.PolicyQuarantined:
		return b.Tenant == s.tenant, nil
	case poise.TenantSet:
		return b.Tenant.ID == s.tenant, nil
	case poise.SpaceSet:
		return b.Tenant == s.tenant, nil
	}
	return false, nil
}

func (s *sight) owns(ctx context.Context, job poise.JobID) (bool, error) {
	owner, ok := s.owners[job]
	if !ok {
		var err error
		if owner, err = s.owner(ctx, string(job)); err != nil {
			return false, err
		}
		s.remember(job, owner)
	}
	return owner == s.tenant, nil
}

func (s *sight) remember(job poise.JobID, owner poise.TenantID) {
	if len(s.owners) >= maxOwners {
		clear(s.owners) // they are asked for again
	}
	s.owners[job] = owner
}

// ofTenant leaves in an event what the tenant may know: not for whose job one of
// its own has to make room.
func (s *sight) ofTenant(e client.Event, body poise.Body) client.Event {
	b, ok := body.(poise.JobPreempted)
	if !ok || s.tenant == "" || s.owners[b.By] == s.tenant {
		return e
	}
	b.By = ""
	text, err := json.Marshal(b)
	if err != nil {
		panic(fmt.Sprintf("BUG: an event that was read cannot be written: %v", err))
	}
	e.Body = text
	return e
}
