package api

import (
	"context"
	"net/http"

	"github.com/poise-sched/poise/host/api/client"
)

func (s *server) executorRoutes() {
	type assignments struct {
		Assignments []client.Assignment `json:"assignments"`
	}
	handle(s, http.MethodGet, "/v1/nodes/{node}/assignments", "list-assignments", "List the tasks that an executor is to run on its node", func(ctx context.Context, in *nodePath) (*body[assignments], error) {
		list, err := s.backend.Assignments(ctx, in.Node)
		return answer(assignments{list}, err)
	})
	type report struct {
		Placement string `path:"placement"`
		Body      client.TaskReport
	}
	handle(s, http.MethodPost, "/v1/placements/{placement}/report", "report-task", "Say how far a task has come; the same report twice is one", func(ctx context.Context, in *report) (*struct{}, error) {
		return nil, s.backend.Report(ctx, in.Placement, in.Body)
	}, answers(http.StatusNoContent))
}
