package api

import (
	"context"
	"net/http"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// planGangRoute is the dry run of a gang as a whole.
func (s *server) planGangRoute() {
	type plan struct {
		Body struct {
			Jobs []written[client.JobSpec] `json:"jobs" minItems:"2" maxItems:"4096"`
		}
	}
	type members struct {
		Members []client.Why `json:"members"`
	}
	handle(s, http.MethodPost, "/v1/plan/gang", "plan-gang", "Decide where a gang would go now as a whole, and change nothing", func(ctx context.Context, in *plan) (*body[members], error) {
		tenant := ownerOf(ctx)
		if n := len(in.Body.Jobs); n < 2 || n > poise.MaxGang {
			return nil, invalid("jobs: %d, expected all members of one gang, 2 to %d", n, poise.MaxGang)
		}
		list, err := jobSpecs("jobs", in.Body.Jobs)
		if err == nil {
			err = owned(tenant, list...)
		}
		if err != nil {
			return nil, err
		}
		out := members{Members: []client.Why{}}
		planned, err := s.backend.PlanGang(ctx, tenant, list)
		for i := range planned {
			w, err := whyFor(ctx, planned[i], nil)
			if err != nil {
				return nil, err
			}
			out.Members = append(out.Members, w.Body)
		}
		return answer(out, err)
	}, asWritten)
}
