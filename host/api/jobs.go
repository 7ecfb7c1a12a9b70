package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// jobPath addresses a job.
type jobPath struct {
	Job string `path:"job" doc:"Name or id; a name means the newest job of that name"`
}

// maxJobs bounds the jobs of one submission, which is one transaction.
const maxJobs = 10_000

// maxKey bounds an idempotency key in bytes.
const maxKey = 255

func (s *server) jobRoutes() {
	type submission struct {
		Key  string `header:"Idempotency-Key" doc:"The same key with the same jobs gives the same answer and no new jobs"`
		Body struct {
			Jobs []written[client.JobSpec] `json:"jobs" minItems:"1" maxItems:"10000"`
		}
	}
	type jobs struct {
		Jobs []client.Job `json:"jobs"`
	}
	handle(s, http.MethodPost, "/v1/jobs", "submit-jobs", "Submit jobs, all or none", func(ctx context.Context, in *submission) (*body[jobs], error) {
		tenant := ownerOf(ctx)
		switch n := len(in.Body.Jobs); {
		case len(in.Key) > maxKey:
			return nil, invalid("Idempotency-Key: %d bytes, expected at most %d", len(in.Key), maxKey)
		case n == 0:
			return nil, invalid("jobs: none, expected at least one")
		case n > maxJobs:
			return nil, invalid("jobs: %d, expected at most %d in one submission", n, maxJobs)
		}
		list, err := jobSpecs("jobs", in.Body.Jobs)
		if err == nil {
			err = owned(tenant, list...)
		}
		if err == nil {
			err = elements(list)
		}
		if err != nil {
			return nil, err
		}
		heldBy(ctx, list)
		about(ctx, tenant, several(len(list)))
		made, err := s.backend.Submit(ctx, tenant, list, in.Key)
		if len(made) > 0 {
			about(ctx, tenant, fmt.Sprintf("%s, first %s (%s)", several(len(made)), made[0].ID, made[0].Name))
		}
		return answer(jobs{made}, err)
	}, asWritten, answers(http.StatusCreated))

	type filter struct {
		Limit    int             `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many"`
		After    string          `query:"after" doc:"The field next of the page before"`
		State    client.JobState `query:"state" enum:"waiting,starting,running,succeeded,failed,lost,withdrawn"`
		Name     string          `query:"name"`
		Node     string          `query:"node"`
		Selector string          `query:"selector" doc:"Requirements on labels, apart by commas: key=value, key!=value, key in (a,b), key notin (a,b), key, !key"`
	}
	handle(s, http.MethodGet, "/v1/jobs", "list-jobs", "List jobs, newest first", func(ctx context.Context, in *filter) (*body[client.JobPage], error) {
		return answer(s.backend.Jobs(ctx, tenantOf(ctx), client.JobFilter{
			State: in.State, Name: in.Name, Node: in.Node, Selector: in.Selector, Limit: in.Limit, After: in.After,
		}))
	})
	handle(s, http.MethodGet, "/v1/jobs/{job}", "get-job", "Get a job", func(ctx context.Context, in *jobPath) (*body[client.Job], error) {
		return answer(s.backend.Job(ctx, tenantOf(ctx), in.Job))
	})
	handle(s, http.MethodPost, "/v1/jobs/{job}/cancel", "cancel-job", "Withdraw a job that waits, or stop one that runs", func(ctx context.Context, in *jobPath) (*body[client.Job], error) {
		return done(ctx, in.Job, "", func() (client.Job, error) { return s.backend.Cancel(ctx, tenantOf(ctx), in.Job) })
	})
	s.lifeRoutes()
	handle(s, http.MethodGet, "/v1/jobs/{job}/why", "explain-job", "Get the latest decision on a job, in full", func(ctx context.Context, in *jobPath) (*body[client.Why], error) {
		w, err := s.backend.Why(ctx, tenantOf(ctx), in.Job)
		return whyFor(ctx, w, err)
	})
}

func (s *server) planRoutes() {
	type plan struct{ Body written[client.JobSpec] }
	handle(s, http.MethodPost, "/v1/plan", "plan-job", "Decide where a job would go now, and change nothing", func(ctx context.Context, in *plan) (*body[client.Why], error) {
		tenant := ownerOf(ctx)
		list, err := jobSpecs("", []written[client.JobSpec]{in.Body})
		if err == nil {
			err = owned(tenant, list...)
		}
		if err != nil {
			return nil, err
		}
		w, err := s.backend.Plan(ctx, tenant, list[0])
		return whyFor(ctx, w, err)
	}, asWritten)
	s.planGangRoute()
	type plans struct {
		Body struct {
			Jobs []written[client.JobSpec] `json:"jobs" minItems:"1" maxItems:"1000"`
		}
	}
	handle(s, http.MethodPost, "/v1/plans", "plan-jobs", "Say what would become of jobs that are submitted now, together, and change nothing", func(ctx context.Context, in *plans) (*body[client.Outlook], error) {
		tenant := ownerOf(ctx)
		if n := len(in.Body.Jobs); n == 0 || n > maxPlans {
			return nil, invalid("jobs: %d, expected 1 to %d in one plan", n, maxPlans)
		}
		list, err := jobSpecs("jobs", in.Body.Jobs)
		if err == nil {
			err = owned(tenant, list...)
		}
		if err != nil {
			return nil, err
		}
		o, err := s.backend.PlanAll(ctx, tenant, list)
		for i := range o.Jobs {
			share(ctx, o.Jobs[i].Decision)
		}
		return answer(o, err)
	}, asWritten)
}

// maxPlans bounds the jobs of one plan.
const maxPlans = 1000

func several(jobs int) string {
	if jobs == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", jobs)
}

// owned refuses jobs that name another tenant than the caller.
func owned(tenant poise.TenantID, list ...client.JobSpec) error {
	for i := range list {
		if t := list[i].Tenant; t != "" && t != string(tenant) {
			return &poise.Error{Kind: poise.Denied, Op: fmt.Sprintf("job %q", list[i].Name), Detail: fmt.Sprintf("tenant: %q, expected the caller's own, %q, or none", t, tenant)}
		}
	}
	return nil
}

func invalid(format string, args ...any) error {
	return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf(format, args...)}
}
