package client

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// ProblemBase is what the type of every problem begins with; the name of the
// kind follows.
const ProblemBase = "https://poise.dev/problems/"

// Problem is a failure as RFC 9457 has it.
type Problem struct {
	Type   string          `json:"type,omitempty"`
	Title  string          `json:"title,omitempty"`
	Status int             `json:"status,omitempty"`
	Detail string          `json:"detail,omitempty"`
	Errors []ProblemDetail `json:"errors,omitempty"`
}

// ProblemDetail is one of several faults of a request.
type ProblemDetail struct {
	Message  string `json:"message,omitempty"`
	Location string `json:"location,omitempty"` // such as body.jobs[0].request.memory
	Value    any    `json:"value,omitempty"`
}

// kinds are those of which a problem is; Internal stands for what is unknown.
var kinds = [...]poise.Kind{
	poise.NotFound, poise.Conflict, poise.Invalid, poise.Denied, poise.Limit, poise.Unavailable,
}

// KindOfStatus says of which kind a failure with this HTTP status is.
func KindOfStatus(status int) poise.Kind {
	switch status {
	case http.StatusNotFound:
		return poise.NotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return poise.Conflict
	case http.StatusUnauthorized, http.StatusForbidden:
		return poise.Denied
	case http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return poise.Limit
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return poise.Unavailable
	}
	if status >= 400 && status < 500 {
		return poise.Invalid
	}
	return poise.Internal
}

// problemError gives a problem as an error. The type tells the kind, and where
// something between here and the daemon answered, the status does.
func (p *Problem) problemError(status int) error {
	e := &poise.Error{Kind: KindOfStatus(status), Detail: p.Detail}
	for _, k := range kinds {
		if p.Type == ProblemBase+k.String() {
			e.Kind = k
		}
	}
	if e.Detail == "" {
		e.Detail = fmt.Sprintf("the daemon answered %d %s", status, http.StatusText(status))
	}
	var lines []string
	for _, d := range p.Errors {
		lines = append(lines, d.text())
	}
	switch {
	case len(lines) == 1:
		e.Detail += ": " + lines[0]
	case len(lines) > 1:
		e.Detail += ":\n" + strings.Join(lines, "\n")
	}
	return e
}

func (d *ProblemDetail) text() string {
	text := strings.TrimPrefix(d.Location, "body.")
	if d.Value != nil {
		text = strings.TrimPrefix(text+": "+fmt.Sprint(d.Value), ": ")
	}
	return strings.TrimPrefix(text+": "+d.Message, ": ")
}
