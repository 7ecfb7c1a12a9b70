package conformance

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/poise-sched/poise/host/policy"
)

// Order is the argument of the child process that checks a plugin.
type Order struct {
	Limits policy.Limits // of the plugin
	Time   time.Duration // CPU time of the process
	Params map[string]string
	Fleet  int // as in Options
}

// Answer is what the child says: a report, or what is in its way.
type Answer struct {
	Report Report `json:",omitempty"`
	Error  string `json:",omitempty"`
}

// RunChild is what the hidden subcommand `poise plugin-conform` runs: it reads a
// module from stdin, checks it and writes an Answer to stdout. args are the
// arguments behind the subcommand: one Order. The result is the exit code.
func RunChild(stdin io.Reader, stdout io.Writer, args []string) int {
	var o Order
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &o) != nil {
		return 2
	}
	process := o.Limits
	process.Compile = o.Time
	policy.LimitProcess(process)
	bin, err := io.ReadAll(io.LimitReader(stdin, int64(o.Limits.Module.Bytes)+1))
	if err != nil {
		return 1
	}
	var a Answer
	if a.Report, err = conform(context.Background(), bin, &o); err != nil {
		a = Answer{Error: err.Error()}
	}
	if err := json.NewEncoder(stdout).Encode(a); err != nil {
		return 1
	}
	return 0
}

// conform checks a module in native code and in the interpreter.
func conform(ctx context.Context, bin []byte, o *Order) (Report, error) {
	var modules [2]*policy.Module
	for i := range modules {
		e, err := policy.NewEngine(ctx, policy.Options{Limits: o.Limits, Interpreter: i == 1})
		if err != nil {
			return nil, err
		}
		defer func() { _ = e.Close(ctx) }() // it has no error to give
		if modules[i], err = e.Load(ctx, bin); err != nil {
			return nil, err
		}
	}
	return Check(ctx, modules[0], modules[1], Options{Params: o.Params, Fleet: o.Fleet})
}
