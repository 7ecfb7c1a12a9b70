package api

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/poise-sched/poise/host/api/client"
)

// maxAudit bounds a text of a record in bytes: what a caller writes must not
// fill the log.
const maxAudit = 200

// record writes down what a call has changed, or tried to, before it is
// answered. Where it cannot, a change that was made is answered with the error,
// because nobody could tell later who made it.
func (s *server) record(ctx context.Context, operation string, status int, detail string) error {
	c := callOf(ctx)
	// The caller may be gone; what it did is done.
	err := s.backend.Record(context.WithoutCancel(ctx), client.AuditRecord{
		At: time.Now(), Who: clip(c.Who), Role: string(c.Role), Tenant: string(c.tenant), Action: operation,
		Object: clip(c.object), Status: status, Detail: clip(detail),
	})
	if err != nil {
		s.log.Error("no audit record", "who", c.Who, "action", operation, "object", clip(c.object), "status", status, "err", err)
	}
	return err
}

func clip(text string) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= maxAudit {
		return text
	}
	end := maxAudit - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

func (s *server) auditRoutes() {
	type filter struct {
		Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many"`
		After string `query:"after" doc:"The field next of the page before"`
	}
	handle(s, http.MethodGet, "/v1/audit", "list-audit", "List who changed what, newest first", func(ctx context.Context, in *filter) (*body[client.AuditPage], error) {
		return answer(s.backend.AuditLog(ctx, tenantOf(ctx), client.AuditFilter{Limit: in.Limit, After: in.After}))
	})
}
