package policy

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/poise-sched/poise/abi"
)

// mostSaid is how much of what a guest printed last goes into a Fault.
const mostSaid = 256

var errLogPointer = errors.New("poise.log: text outside of memory")

// hostLog offers poise.log to the modules of a runtime.
func hostLog(ctx context.Context, r wazero.Runtime) error {
	call := api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
		in := ctx.Value(instanceKey{}).(*instance)
		text := in.span(uint32(stack[0]), min(uint32(stack[1]), abi.MaxLog))
		if text == nil {
			panic(errLogPointer)
		}
		in.print(text)
		in.flush()
	})
	params := []api.ValueType{api.ValueTypeI32, api.ValueTypeI32}
	_, err := r.NewHostModuleBuilder(abi.LogModule).NewFunctionBuilder().WithGoModuleFunction(call, params, nil).Export(abi.LogName).Instantiate(ctx)
	return err
}

// print takes what a guest writes. It is charged the same with a log and
// without, so that fuel does not depend on who runs the plugin.
func (in *instance) print(text []byte) {
	text = text[:min(len(text), abi.MaxLog)]
	in.charge(len(text) / unitBytes)
	in.said = append(in.said, text[:min(len(text), mostSaid-len(in.said))]...)
	if in.log == nil {
		return
	}
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte{'\n'})
		in.line = append(in.line, line[:min(len(line), abi.MaxLog-len(in.line))]...)
		if ended {
			in.flush()
		}
		text = rest
	}
}

// flush gives the line that was begun to the log.
func (in *instance) flush() {
	if in.log != nil && len(in.line) > 0 {
		in.log(printable(string(in.line)))
	}
	in.line = in.line[:0]
}

// printable keeps a guest from steering the author's terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}
