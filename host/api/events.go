package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/poise-sched/poise/host/api/client"
)

func (s *server) eventRoutes() {
	type wanted struct {
		After uint64 `query:"after" doc:"Only events with a larger index"`
		Last  uint64 `header:"Last-Event-ID" doc:"The same, as a browser asks for it; it counts where both are given"`
	}
	handle(s, http.MethodGet, "/v1/events", "watch-events", "Watch events: history first, then what happens", func(_ context.Context, in *wanted) (*huma.StreamResponse, error) {
		release, err := s.open()
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			defer release()
			s.sendEvents(hc, max(in.Last, in.After))
		}}, nil
	}, func(op *huma.Operation) {
		event := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[client.Event](), true, "")
		op.Responses = map[string]*huma.Response{"200": {
			Description: "Server-sent events: id is the index, event the kind, data the event as JSON. An event named error has a problem as data and is the last.",
			Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeArray, Items: event}}},
		}}
	})
}

// sendEvents sends events until the client is gone, a comment at times when
// there are none.
func (s *server) sendEvents(hc huma.Context, after uint64) {
	st, err := s.newStream(hc, "text/event-stream")
	if err != nil {
		return // the client is gone
	}
	ctx, cancel := context.WithCancel(hc.Context())
	defer cancel()
	beat := time.NewTicker(s.keepAlive)
	defer beat.Stop()
	quiet := make(chan struct{})
	go func() {
		defer close(quiet)
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				if _, err := st.Write([]byte(":\n\n")); err != nil {
					cancel()
					return
				}
			}
		}
	}()
	var gone error
	err = s.backend.Events(ctx, tenantOf(hc.Context()), after, func(e client.Event) error {
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		_, gone = st.Write(fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", e.Index, e.Kind, data))
		return gone
	})
	cancel()
	<-quiet
	if err == nil || gone != nil || errors.Is(err, context.Canceled) {
		return
	}
	p := refuse(hc.Context(), s.log, "watch-events", err)
	if data, err := json.Marshal(p.ErrorModel); err == nil {
		_, _ = st.Write(fmt.Appendf(nil, "event: error\ndata: %s\n\n", data)) // the last words, heard or not
	}
}
