package api

import (
	"context"
	"net/http"

	"github.com/poise-sched/poise/host/api/client"
)

func (s *server) decisionRoutes() {
	type filter struct {
		Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many"`
		After   string `query:"after" doc:"The field next of the page before"`
		Job     string `query:"job" doc:"Name or id"`
		Node    string `query:"node" doc:"That was chosen"`
		Verdict string `query:"verdict" enum:"placed,fits-not-now,never-fits,over-quota,behind-others"`
	}
	handle(s, http.MethodGet, "/v1/decisions", "list-decisions", "List decisions, newest first", func(ctx context.Context, in *filter) (*body[client.DecisionPage], error) {
		page, err := s.backend.Decisions(ctx, tenantOf(ctx), client.DecisionFilter{Job: in.Job, Node: in.Node, Verdict: in.Verdict, Limit: in.Limit, After: in.After})
		for i := range page.Decisions {
			share(ctx, &page.Decisions[i].Decision)
		}
		return answer(page, err)
	})
}
