package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"sync"

	"golang.org/x/time/rate"

	"github.com/poise-sched/poise/host/poise"
)

// Limits are what one caller may ask for.
type Limits struct {
	MaxBody int64 // bytes of a request's body
	// MaxModule is what a plugin has, in bytes: the body of a push may be longer
	// than others.
	MaxModule int64
	Rate      float64 // requests per second and tenant
	Burst     int     // requests of a tenant at once above the rate
}

// body gives how long the body of a request may be.
func (l *Limits) body(r *http.Request) int64 {
	const beside = 64 << 10 // tag, signature and parameters of a push
	if r.Method == http.MethodPost && r.URL.Path == "/v1/plugins" {
		return max(l.MaxBody, l.MaxModule/3*4+beside) // base64
	}
	return l.MaxBody
}

// maxStreams bounds the event streams and followed logs that are open at once:
// each holds a connection for as long as its reader likes.
const maxStreams = 1024

// limiter lets requests in.
type limiter struct {
	limits func() Limits

	mu      sync.Mutex
	tenants map[poise.TenantID]*rate.Limiter
}

// allow says whether a tenant may have one more request now.
func (l *limiter) allow(tenant poise.TenantID, lim Limits) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tenants[tenant]
	if t == nil {
		t = rate.NewLimiter(rate.Limit(lim.Rate), lim.Burst)
		l.tenants[tenant] = t
	}
	if t.Limit() != rate.Limit(lim.Rate) {
		t.SetLimit(rate.Limit(lim.Rate))
	}
	if t.Burst() != lim.Burst {
		t.SetBurst(lim.Burst)
	}
	return t.Allow()
}

// forget lets go of a tenant that is gone.
func (l *limiter) forget(tenant poise.TenantID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.tenants, tenant)
}

// admit finds out who a request is from, counts it, and reads its body as a
// whole, so that no handler waits for a slow sender and none sees half a request.
func (s *server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lim := s.limits.limits()
		p, ok := s.caller(w, r)
		if !ok {
			return
		}
		if p == nil {
			writeProblem(w, anonymous(r))
			return
		}
		if !s.limits.allow(p.Tenant, lim) {
			whose := "operators"
			if p.Tenant != "" {
				whose = "tenant " + string(p.Tenant)
			}
			writeProblem(w, newProblem(http.StatusTooManyRequests, poise.Limit, fmt.Sprintf("more than %v requests a second of %s, expected fewer", lim.Rate, whose)))
			return
		}
		acting, err := s.actFor(r, *p)
		if err != nil {
			writeProblem(w, refuse(r.Context(), s.log, "tell the tenant", err))
			return
		}
		body, refused := readBody(w, r, lim.body(r))
		if refused != nil {
			w.Header().Set("Connection", "close") // the rest of the body is not wanted
			writeProblem(w, *refused)
			return
		}
		if given := r.Header.Get("Content-Type"); len(body) > 0 && given != "" && !isJSON(given) {
			writeProblem(w, newProblem(http.StatusUnsupportedMediaType, poise.Invalid, fmt.Sprintf("Content-Type: %q, expected application/json", given)))
			return
		}
		r = s.called(r, acting)
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json") // in the one spelling that huma takes
		next.ServeHTTP(w, r)
	})
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}

func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, *problem) {
	var p problem
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &large):
		p = newProblem(http.StatusRequestEntityTooLarge, poise.Limit, fmt.Sprintf("body: more than %d bytes, expected at most that", most))
	case errors.Is(err, os.ErrDeadlineExceeded):
		p = newProblem(http.StatusRequestTimeout, poise.Invalid, "body: not there in time, expected all of it at once")
	default:
		p = newProblem(http.StatusBadRequest, poise.Invalid, "body: broken off, expected all of it")
	}
	return nil, &p
}
