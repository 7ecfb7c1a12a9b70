package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

func (s *server) snapshotRoutes() {
	type wanted struct {
		Index uint64 `query:"index" doc:"Index of the event behind which the state is taken; 0 is the last one"`
	}
	type file struct {
		ContentType string `header:"Content-Type"`
		Body        []byte
	}
	handle(s, http.MethodGet, "/v1/snapshot", "save-snapshot", "Get a snapshot file: everything that decisions depend on", func(ctx context.Context, in *wanted) (*file, error) {
		body, err := s.backend.Snapshot(ctx, in.Index)
		return &file{ContentType: "application/octet-stream", Body: body}, err
	}, func(op *huma.Operation) {
		op.Responses = map[string]*huma.Response{"200": {
			Description: "The file",
			Content:     map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
		}}
	})
}
