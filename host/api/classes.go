package api

import (
	"context"
	"net/http"

	"github.com/poise-sched/poise/host/api/client"
)

func (s *server) classRoutes() {
	type classes struct {
		Classes []client.Class `json:"classes"`
	}
	handle(s, http.MethodGet, "/v1/classes", "list-classes", "List the classes of nodes", func(ctx context.Context, _ *struct{}) (*body[classes], error) {
		list, err := s.backend.Classes(ctx)
		return answer(classes{list}, err)
	})
	handle(s, http.MethodPost, "/v1/classes/rebuild", "rebuild-classes", "Find the classes of the present nodes anew", func(ctx context.Context, _ *struct{}) (*body[classes], error) {
		list, err := s.backend.RebuildClasses(ctx)
		return answer(classes{list}, err)
	})
}
