package api

import (
	"context"
	"net/http"
	"time"

	"github.com/poise-sched/poise/host/api/client"
)

func (s *server) executorRoutes() {
	type wanted struct {
		Node string `path:"node"`
		Seen uint64 `query:"seen" doc:"Revision of the list that the caller has"`
		Wait int    `query:"wait" minimum:"0" maximum:"20" doc:"Wait so many seconds for another list than that" example:"20"`
	}
	handle(s, http.MethodGet, "/v1/nodes/{node}/assignments", "list-assignments", "List the tasks that an executor is to run on its node, or wait for the next list", func(ctx context.Context, in *wanted) (*body[client.Assignments], error) {
		return answer(s.backend.Assignments(ctx, in.Node, in.Seen, time.Duration(in.Wait)*time.Second))
	})
	type report struct {
		Placement string `path:"placement"`
		Body      client.TaskReport
	}
	handle(s, http.MethodPost, "/v1/placements/{placement}/report", "report-task", "Say how far a task has come; the same report twice is one", func(ctx context.Context, in *report) (*struct{}, error) {
		return nil, s.backend.Report(ctx, in.Placement, in.Body)
	}, answers(http.StatusNoContent))
}
