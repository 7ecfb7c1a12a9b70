package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/poise-sched/poise/host/api/client"
)

func (s *server) logRoutes() {
	type wanted struct {
		Job    string    `path:"job" doc:"Name or id; a name means the newest job of that name"`
		Follow bool      `query:"follow" doc:"Go on until the task has ended"`
		Stream string    `query:"stream" enum:"stdout,stderr" doc:"Both where it is not given"`
		Since  time.Time `query:"since" doc:"Lines written then or later"`
		Tail   int       `query:"tail" minimum:"0" doc:"Only so many of the last lines that are there now; 0 is all"`
	}
	handle(s, http.MethodGet, "/v1/jobs/{job}/logs", "job-logs", "Read the output of a job's task", func(ctx context.Context, in *wanted) (*huma.StreamResponse, error) {
		release, err := s.open()
		if err != nil {
			return nil, err
		}
		r, err := s.backend.Logs(ctx, tenantOf(ctx), in.Job, client.LogOptions{Follow: in.Follow, Stream: in.Stream, Since: in.Since, Tail: in.Tail})
		if err != nil {
			release()
			return nil, err
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			defer release()
			defer r.Close() // it was only read
			s.copyLog(hc, r)
		}}, nil
	}, func(op *huma.Operation) {
		op.Responses = map[string]*huma.Response{"200": {
			Description: "The output as it is written",
			Content:     map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}}
	})
}

// copyLog sends a log. What breaks off in the middle must not look like an end,
// so the connection does not end as HTTP has it then.
func (s *server) copyLog(ctx huma.Context, r io.Reader) {
	st, err := s.newStream(ctx, "text/plain; charset=utf-8")
	if err == nil {
		_, err = io.Copy(st, r)
	}
	if err != nil {
		if !errors.Is(err, context.Canceled) && ctx.Context().Err() == nil {
			s.log.Warn("log broke off", "err", err)
		}
		panic(http.ErrAbortHandler)
	}
}
