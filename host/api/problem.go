package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
)

// statuses maps the kinds of poise.Error.
var statuses = map[poise.Kind]int{
	poise.Internal:    http.StatusInternalServerError,
	poise.NotFound:    http.StatusNotFound,
	poise.Conflict:    http.StatusConflict,
	poise.Invalid:     http.StatusUnprocessableEntity,
	poise.Denied:      http.StatusForbidden,
	poise.Limit:       http.StatusTooManyRequests,
	poise.Unavailable: http.StatusServiceUnavailable,
}

// retryAfter is in how many seconds a request is worth another try.
var retryAfter = map[int]string{
	http.StatusTooManyRequests:    "1",
	http.StatusServiceUnavailable: "5",
}

// problem is a failure on its way out.
type problem struct{ *huma.ErrorModel }

var (
	_ huma.StatusError  = problem{}
	_ huma.HeadersError = problem{}
)

// GetHeaders implements huma.HeadersError.
func (p problem) GetHeaders() http.Header {
	h := http.Header{}
	if after, ok := retryAfter[p.Status]; ok {
		h.Set("Retry-After", after)
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	return h
}

func newProblem(status int, kind poise.Kind, detail string) problem {
	return problem{&huma.ErrorModel{
		Type: client.ProblemBase + kind.String(), Title: http.StatusText(status), Status: status, Detail: detail,
	}}
}

// refuse makes a problem of an error. What an internal error says is for the
// log.
func refuse(ctx context.Context, log *slog.Logger, op string, err error) problem {
	var made problem
	if errors.As(err, &made) {
		return made
	}
	kind := poise.KindOf(err)
	if kind == poise.Internal {
		if ctx.Err() == nil { // else nobody waits for the answer, and that is the error
			log.Error("request failed", "op", op, "err", err)
		}
		return newProblem(statuses[kind], kind, "the daemon failed to do this; its log says why")
	}
	details := faults("body", err)
	if len(details) == 0 {
		return newProblem(statuses[kind], kind, echo(err.Error(), maxDetail))
	}
	p := newProblem(statuses[kind], kind, "validation failed")
	shorten(details)
	p.Errors = details
	return p
}

// faults gives one detail per fault that host/manifest found in the text at a
// location.
func faults(location string, err error) []*huma.ErrorDetail {
	switch e := err.(type) {
	case *manifest.Error:
		d := &huma.ErrorDetail{Location: location, Value: e.Value}
		if e.File != "" {
			d.Location += "." + e.File
		}
		if e.Field != "" {
			d.Location += "." + e.Field
		}
		if e.Want != "" {
			d.Message = "expected " + e.Want
		}
		return []*huma.ErrorDetail{d}
	case interface{ Unwrap() []error }:
		var all []*huma.ErrorDetail
		for _, one := range e.Unwrap() {
			all = append(all, faults(location, one)...)
		}
		return all
	}
	if next := errors.Unwrap(err); next != nil {
		return faults(location, next)
	}
	return nil
}

const (
	// maxEcho is how many bytes of a value, or of a name, a problem repeats.
	maxEcho = 80
	// maxLocation bounds the way to a fault, in which a caller's names stand.
	maxLocation = 300
	// maxMessage bounds what a problem says of one fault: as long as a list of what
	// was expected may be.
	maxMessage = 500
	// maxDetail bounds what a problem says in all, where it names no place.
	maxDetail = 2000
)

// complete gives the problems that huma makes by itself the type of ours.
func complete(ctx huma.Context, _ string, body any) (any, error) {
	p, ok := body.(*huma.ErrorModel)
	if !ok || p.Type != "" {
		return body, nil
	}
	p.Type = client.ProblemBase + client.KindOfStatus(p.Status).String()
	if p.Status == http.StatusBadRequest && len(p.Errors) > 0 {
		p.Detail = "the body cannot be read"
	}
	p.Errors = p.Errors[:min(len(p.Errors), maxFaulty)]
	shorten(p.Errors)
	return p, nil
}

// shorten cuts what a caller wrote to what a problem repeats of it.
func shorten(faults []*huma.ErrorDetail) {
	for _, d := range faults {
		d.Message, d.Location, d.Value = echo(d.Message, maxMessage), echo(d.Location, maxLocation), echoValue(d.Value)
	}
}

// echo gives of a text what a problem repeats.
func echo(text string, most int) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.ToValidUTF8(text, "�")
}

// echoValue gives a value, or where it is long the beginning of its JSON.
func echoValue(v any) any {
	if text, ok := v.(string); ok {
		return echo(text, maxEcho)
	}
	text, err := json.Marshal(v)
	if err != nil || len(text) > maxEcho {
		return echo(string(text), maxEcho)
	}
	return v
}

// writeProblem answers outside of huma.
func writeProblem(w http.ResponseWriter, p problem) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p.ErrorModel) // the caller is gone, or it arrives
}
