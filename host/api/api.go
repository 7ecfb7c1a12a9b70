package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/time/rate"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// Options are what the API needs beside a Backend.
type Options struct {
	// Access tells who a request is from. nil takes everybody for the local
	// administrator, which is for tests.
	Access  *Access
	Limits  func() Limits // asked at each request, so that they can change
	Metrics http.Handler  // at /metrics; nil = none
	Log     *slog.Logger
	OIDC    *client.OIDC // where people log in; nil = nowhere
}

// server has what the handlers share.
type server struct {
	backend Backend
	log     *slog.Logger
	access  *Access
	oidc    *client.OIDC
	limits  limiter
	streams chan struct{} // one token per open stream
	api     huma.API

	// patience is how long a reader of a stream may leave a piece of it unread,
	// keepAlive how often a quiet event stream shows that it is there.
	patience, keepAlive time.Duration
}

// New gives the HTTP API of a backend.
func New(b Backend, o Options) http.Handler { return newServer(b, o).handler(o.Metrics) }

func newServer(b Backend, o Options) *server {
	return &server{
		backend: b, log: o.Log, access: o.Access, oidc: o.OIDC, streams: make(chan struct{}, maxStreams),
		limits:   limiter{limits: o.Limits, tenants: map[poise.TenantID]*rate.Limiter{}},
		patience: 10 * time.Second, keepAlive: 15 * time.Second,
	}
}

func (s *server) handler(metrics http.Handler) http.Handler {
	routes := http.NewServeMux()
	s.routes(routes)
	routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, newProblem(http.StatusNotFound, poise.NotFound, fmt.Sprintf("%s %s: no such endpoint, expected one of /openapi.json", r.Method, r.URL.Path)))
	})
	mux := http.NewServeMux()
	mux.Handle("/", s.identify(routes))
	mux.Handle("/v1/", s.admit(routes))
	if metrics != nil {
		mux.Handle("GET /metrics", s.identify(s.overview(metrics)))
	}
	// A page of another site that a browser shows cannot act through it.
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, newProblem(http.StatusForbidden, poise.Denied, "origin: another site, expected a request from no page or one of the daemon's own"))
	}))
	return guard.Handler(mux)
}

// Document gives the OpenAPI document, as it is committed.
func Document() ([]byte, error) {
	s := &server{}
	s.routes(http.NewServeMux())
	return json.MarshalIndent(s.api.OpenAPI(), "", "  ")
}

// routes registers all endpoints.
func (s *server) routes(mux *http.ServeMux) {
	config := huma.DefaultConfig("Poise", "1")
	config.Info.Description = "Jobs, nodes and decisions of a Poise daemon. Amounts are quantities such as 500m, 4 or 1.5Gi; times are RFC 3339; " +
		"failures are RFC 9457 problems whose type ends in not-found, conflict, invalid, denied, limit, unavailable or internal."
	config.CreateHooks = nil // no $schema in every answer
	config.DocsPath, config.SchemasPath = "", ""
	config.RejectUnknownQueryParameters = true
	config.Transformers = []huma.Transformer{complete}
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[client.Quantity](), reflect.TypeFor[quantity]())
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[json.RawMessage](), reflect.TypeFor[anything]())
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {
		Type: "http", Scheme: "bearer", Description: "A token that an administrator gave out. Over the socket the daemon's own user and root need none.",
	}}
	s.api = humago.New(mux, config)
	s.jobRoutes()
	s.planRoutes()
	s.logRoutes()
	s.nodeRoutes()
	s.clusterRoutes()
	s.classRoutes()
	s.decisionRoutes()
	s.eventRoutes()
	s.executorRoutes()
	s.snapshotRoutes()
	s.adviceRoutes()
	s.healthRoutes()
	s.oidcRoutes()
	s.tenantRoutes()
	s.shareRoutes()
	s.signingRoutes()
	s.tokenRoutes()
	s.auditRoutes()
	s.shadowRoutes()
	s.pluginRoutes()
	s.policyRoutes()
}

// quantity is what the OpenAPI document says of a client.Quantity.
type quantity struct{}

// Schema implements huma.SchemaProvider.
func (quantity) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		OneOf:       []*huma.Schema{{Type: huma.TypeString}, {Type: huma.TypeNumber}},
		Description: "An amount: a number with an optional suffix m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei. Answers have it as a string.",
		Examples:    []any{"500m"},
	}
}

// anything is what the OpenAPI document says of free JSON.
type anything struct{}

// Schema implements huma.SchemaProvider.
func (anything) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

// handle registers one endpoint. id names the operation, what it does stands in
// summary.
func handle[I, O any](s *server, method, path, id, summary string, f func(context.Context, *I) (*O, error), more ...func(*huma.Operation)) {
	op := operation(method, path, id, summary, more...)
	s.guard(&op)
	changes, status := actionOf(id).Changes(), op.DefaultStatus
	if status == 0 {
		status = http.StatusOK
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := f(ctx, in)
		if err != nil {
			p := refuse(ctx, s.log, id, err)
			if changes {
				_ = s.record(ctx, id, p.Status, p.Detail) // what it refused is the answer
			}
			return nil, p
		}
		if changes {
			if err := s.record(ctx, id, status, ""); err != nil {
				return nil, newProblem(http.StatusServiceUnavailable, poise.Unavailable, "it is done, and the audit log, which is to say so, takes nothing now")
			}
		}
		return out, nil
	})
}

func operation(method, path, id, summary string, more ...func(*huma.Operation)) huma.Operation {
	op := huma.Operation{
		Method: method, Path: path, OperationID: id, Summary: summary,
		// The body is there already; huma's limit of 5 s would end the handler, too.
		BodyReadTimeout: -1,
	}
	for _, m := range more {
		m(&op)
	}
	return op
}

// asWritten leaves the body to host/manifest.
func asWritten(op *huma.Operation) { op.SkipValidateBody = true }

// answers sets the status of success.
func answers(status int) func(*huma.Operation) {
	return func(op *huma.Operation) { op.DefaultStatus = status }
}

// body is an answer.
type body[T any] struct{ Body T }

func answer[T any](v T, err error) (*body[T], error) { return &body[T]{v}, err }
