package api

import (
	"context"
	"net/http"

	"github.com/poise-sched/poise/host/api/client"
)

func (s *server) healthRoutes() {
	type health struct {
		Status int
		Body   client.Health
	}
	handle(s, http.MethodGet, "/healthz", "health", "How the daemon is; 200 as long as it answers at all", func(ctx context.Context, _ *struct{}) (*health, error) {
		return &health{http.StatusOK, s.backend.Health(ctx)}, nil
	})
	handle(s, http.MethodGet, "/readyz", "ready", "The same, and 503 while it takes no jobs", func(ctx context.Context, _ *struct{}) (*health, error) {
		h := &health{http.StatusOK, s.backend.Health(ctx)}
		if !h.Body.Ready || h.Body.StoreStalled {
			h.Status = http.StatusServiceUnavailable
		}
		return h, nil
	})
}
