package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/poise"
)

type callKey struct{}

// call is a request as the handlers know it: who it is from, and what the audit
// log is to say of it.
type call struct {
	access.Principal
	tenant poise.TenantID // whose thing it is about
	object string
	still  func() bool // whether the same request would be from the same caller now
}

// callOf gives the call that a context belongs to.
func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// tenantOf gives the tenant whose things the caller sees; "" is all of them.
func tenantOf(ctx context.Context) poise.TenantID { return callOf(ctx).Tenant }

// ownerOf gives the tenant that gets what the caller makes.
func ownerOf(ctx context.Context) poise.TenantID { return callOf(ctx).Owner() }

// about says for the audit log what a call changes, and whose it is; "" is no
// tenant's.
func about(ctx context.Context, tenant poise.TenantID, object string) {
	c := callOf(ctx)
	c.tenant, c.object = tenant, object
}

// caller tells who a request is from, nil for nobody that it shows. Where that is
// refused it answers, and ok is false.
func (s *server) caller(w http.ResponseWriter, r *http.Request) (p *access.Principal, ok bool) {
	if s.access == nil {
		local := access.Local("anybody")
		return &local, true
	}
	p, err := s.access.principal(r)
	if err != nil {
		writeProblem(w, refuse(r.Context(), s.log, "tell the caller", err))
		return nil, false
	}
	return p, true
}

// called notes who a request is from.
func (s *server) called(r *http.Request, p access.Principal) *http.Request {
	c := &call{Principal: p, tenant: p.Tenant, object: strings.TrimPrefix(r.URL.EscapedPath(), "/v1/")}
	c.still = func() bool {
		if s.access == nil {
			return true
		}
		now, err := s.access.principal(r)
		return err == nil && now != nil && now.Who == p.Who && now.Role == p.Role
	}
	return r.WithContext(context.WithValue(r.Context(), callKey{}, c))
}

// identify finds out who a request is from, and lets it pass if it is from
// nobody.
func (s *server) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := s.caller(w, r)
		if !ok {
			return
		}
		if p == nil {
			p = &access.Principal{}
		}
		next.ServeHTTP(w, s.called(r, *p))
	})
}

// overview lets those pass that may see all tenants' figures, and on the machine
// of a single user all programs.
func (s *server) overview(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r.Context())
		err := c.May(access.ReadMetrics)
		switch {
		case err == nil, c.Role == access.TenantAdmin && s.access.SingleUser():
			next.ServeHTTP(w, r)
		case c.Role == "":
			writeProblem(w, anonymous(r))
		default:
			writeProblem(w, refuse(r.Context(), s.log, "metrics", err))
		}
	})
}
