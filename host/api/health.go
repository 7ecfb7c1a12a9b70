package api

import (
	"context"
	"net/http"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
)

func (s *server) healthRoutes() {
	type health struct {
		Status int
		Body   client.Health
	}
	handle(s, http.MethodGet, "/healthz", "health", "How the daemon is; 200 as long as it answers at all", func(ctx context.Context, _ *struct{}) (*health, error) {
		return &health{http.StatusOK, s.healthFor(ctx)}, nil
	})
	handle(s, http.MethodGet, "/readyz", "ready", "The same, and 503 while it takes no jobs", func(ctx context.Context, _ *struct{}) (*health, error) {
		h := &health{http.StatusOK, s.healthFor(ctx)}
		if !h.Body.Ready || h.Body.StoreStalled {
			h.Status = http.StatusServiceUnavailable
		}
		return h, nil
	})
}

// healthFor leaves out what is not for every caller: strangers learn whether the
// daemon works, and only those who run it what is wrong with its configuration.
func (s *server) healthFor(ctx context.Context) client.Health {
	h, c := s.backend.Health(ctx), callOf(ctx)
	switch {
	case c.May(access.KnowSelf) != nil:
		return client.Health{Ready: h.Ready, StoreStalled: h.StoreStalled}
	case c.May(access.ChangeFleet) != nil && h.ConfigError != "":
		h.ConfigError = "the latest configuration is not in force"
	}
	return h
}
