package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// lifeRoutes are what is done to jobs that have been submitted, beside cancelling
// one.
func (s *server) lifeRoutes() {
	one := func(path, id, summary string, do func(context.Context, poise.TenantID, string) (client.Job, error)) {
		handle(s, http.MethodPost, "/v1/jobs/{job}/"+path, id, summary, func(ctx context.Context, in *jobPath) (*body[client.Job], error) {
			return done(ctx, in.Job, "", func() (client.Job, error) { return do(ctx, tenantOf(ctx), in.Job) })
		})
	}
	one("hold", "hold-job", "Keep a waiting job from being tried until it is released; it keeps its age",
		func(ctx context.Context, tenant poise.TenantID, job string) (client.Job, error) {
			return s.backend.Hold(ctx, tenant, job, callOf(ctx).Who)
		})
	one("release", "release-job", "Let a job be tried that is held",
		func(ctx context.Context, tenant poise.TenantID, job string) (client.Job, error) {
			return s.backend.Release(ctx, tenant, job)
		})

	type priority struct {
		Job  string `path:"job" doc:"Name or id; a name means the newest job of that name"`
		Body struct {
			Priority int32 `json:"priority" doc:"Larger is more urgent"`
		}
	}
	handle(s, http.MethodPost, "/v1/jobs/{job}/priority", "set-priority", "Give a job another priority, at once", func(ctx context.Context, in *priority) (*body[client.Job], error) {
		return done(ctx, in.Job, fmt.Sprintf(", priority %d", in.Body.Priority), func() (client.Job, error) {
			return s.backend.SetPriority(ctx, tenantOf(ctx), in.Job, in.Body.Priority, callOf(ctx).Who)
		})
	})

	type selected struct {
		Selector string `query:"selector" required:"true" doc:"Requirements on labels, apart by commas: key=value, key!=value, key in (a,b), key notin (a,b), key, !key"`
	}
	many := func(action client.JobAction, summary string) {
		handle(s, http.MethodPost, "/v1/jobs/"+string(action), string(action)+"-jobs", summary, func(ctx context.Context, in *selected) (*body[client.Swept], error) {
			about(ctx, tenantOf(ctx), "jobs "+in.Selector)
			list, err := poise.ParseSelectors(in.Selector)
			if err != nil {
				return nil, err
			}
			swept, err := s.backend.Sweep(ctx, tenantOf(ctx), action, list, callOf(ctx).Who)
			if err == nil {
				about(ctx, tenantOf(ctx), fmt.Sprintf("%s, %s", several(swept.Jobs), in.Selector))
			}
			return answer(swept, err)
		})
	}
	many(client.CancelJobs, "Cancel all jobs that a selector names")
	many(client.HoldJobs, "Hold all waiting jobs that a selector names")
	many(client.ReleaseJobs, "Release all held jobs that a selector names")
}

// done does something to a job, and says for the audit log to which.
func done(ctx context.Context, name, what string, do func() (client.Job, error)) (*body[client.Job], error) {
	about(ctx, tenantOf(ctx), "job "+name+what)
	j, err := do()
	if err == nil {
		about(ctx, poise.TenantID(j.Tenant), fmt.Sprintf("job %s (%s)%s", j.ID, j.Name, what))
	}
	return answer(j, err)
}

// elements refuses a submission that is too many jobs once its arrays are apart.
func elements(list []client.JobSpec) error {
	n := 0
	for i := range list {
		if n++; list[i].Array != nil {
			n += int(list[i].Array.Count) - 1
		}
		if n > maxJobs {
			return invalid("jobs[%d]: array: brings the submission to %d jobs, expected at most %d in one; submit the rest apart", i, n, maxJobs)
		}
	}
	return nil
}

// heldBy says of jobs that are to be held from the start who holds them.
func heldBy(ctx context.Context, list []client.JobSpec) {
	for i := range list {
		if list[i].Hold {
			list[i].HeldBy = callOf(ctx).Who
		}
	}
}
