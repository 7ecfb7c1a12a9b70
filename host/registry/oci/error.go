package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"unicode"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/poise-sched/poise/host/poise"
)

// explain gives an error its kind, and makes fit for a terminal what a registry
// has written into it.
func explain(op string, r ref, err error) error {
	if err == nil {
		return nil
	}
	e := &poise.Error{Kind: poise.Invalid, Op: op, Detail: hint(r, err), Err: cleaned{err}}
	var own *poise.Error
	var response *errcode.ErrorResponse
	var request *url.Error
	var connection *net.OpError
	var system syscall.Errno
	switch {
	case errors.As(err, &own):
		e.Kind = own.Kind
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Kind = poise.Unavailable
	case errors.As(err, &response):
		e.Kind = statusKind(response.StatusCode)
	case errors.Is(err, auth.ErrBasicCredentialNotFound), errors.Is(err, fs.ErrPermission):
		e.Kind = poise.Denied
	case errors.Is(err, errdef.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		e.Kind = poise.NotFound
	case errors.Is(err, errdef.ErrSizeExceedsLimit), errors.Is(err, errdef.ErrTooManyPages):
		e.Kind = poise.Limit
	case errors.As(err, &request):
		e.Kind = poise.Unavailable // also where the answer ended too early to be one
	case differs(err):
		e.Kind = poise.Invalid
	case errors.As(err, &connection):
		e.Kind = poise.Unavailable
	case errors.As(err, &system):
		e.Kind = poise.Internal
	}
	return e
}

// differs says whether content is not what its descriptor says.
func differs(err error) bool {
	for _, target := range []error{content.ErrMismatchedDigest, content.ErrTrailingData, content.ErrInvalidDescriptorSize, io.ErrUnexpectedEOF} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

func statusKind(status int) poise.Kind {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return poise.Denied
	case status == http.StatusNotFound:
		return poise.NotFound
	case status == http.StatusTooManyRequests || status == http.StatusRequestEntityTooLarge:
		return poise.Limit
	case status >= 500 || status == http.StatusRequestTimeout:
		return poise.Unavailable
	}
	return poise.Invalid
}

// hint says what to do about an error, where that is known.
func hint(r ref, err error) string {
	var response *errcode.ErrorResponse
	switch {
	case r.layout():
		return ""
	case errors.Is(err, auth.ErrBasicCredentialNotFound),
		errors.As(err, &response) && statusKind(response.StatusCode) == poise.Denied:
		return fmt.Sprintf("credentials: refused or none, expected those of docker login %s", r.remote.Registry)
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("registry %s speaks plain HTTP, expected HTTPS, or to be told to do without", r.remote.Registry)
	}
	return ""
}

// mostText bounds what an error says, in bytes: a registry writes part of it.
const mostText = 1000

// cleaned is an error whose text may hold anything.
type cleaned struct{ err error }

func (c cleaned) Unwrap() error { return c.err }

func (c cleaned) Error() string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, c.err.Error())
	if len(text) > mostText {
		text = strings.ToValidUTF8(text[:mostText], "") + "..."
	}
	return text
}
