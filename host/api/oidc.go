package api

import (
	"context"
	"net/http"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

func (s *server) oidcRoutes() {
	handle(s, http.MethodGet, "/oidc", "get-oidc", "Where people log in; 404 where they need a token", func(context.Context, *struct{}) (*body[client.OIDC], error) {
		if s.oidc == nil {
			return nil, &poise.Error{Kind: poise.NotFound, Op: "log in", Detail: "the daemon knows no provider of people's names, expected api.oidc.issuer to say one; a token does as well"}
		}
		return answer(*s.oidc, nil)
	})
}
