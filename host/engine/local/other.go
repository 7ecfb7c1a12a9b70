//go:build !linux

package local

import (
	"context"
	"io"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
)

// Engine exists on Linux only.
type Engine struct{ engine.Engine }

// New gives an error: what the engine promises of processes takes Linux.
func New(Options) (*Engine, error) {
	return nil, &poise.Error{Kind: poise.Unavailable, Op: "open local engine", Detail: "system: expected Linux; use the engine sim here"}
}

// Facts are those of a machine that permits nothing.
func (*Engine) Facts() Facts { return Facts{} }

// Logs is never called: there is no engine to call it on.
func (*Engine) Logs(context.Context, string, LogOptions) (io.ReadCloser, error) { return nil, io.EOF }

// Close does nothing.
func (*Engine) Close() error { return nil }

// RunShim gives the exit code of a wrong use.
func RunShim([]string) int { return 2 }
