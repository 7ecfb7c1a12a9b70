package policy

import (
	"errors"
	"strconv"
	"strings"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
)

// Fault is why a plugin, or one call of it, failed. What is not known is empty.
type Fault struct {
	Code   abi.Code
	Plugin string // name and version
	Digest string // of the module, sha256:hex
	Export string // the function that was called
	Job    string
	Detail string // field, value and what was expected
	Err    error  // cause, may be nil
}

// Error gives all that is known in one line.
func (f *Fault) Error() string {
	var s strings.Builder
	word := func(before, text string) {
		if text == "" {
			return
		}
		if s.Len() > 0 {
			s.WriteString(before)
		}
		s.WriteString(text)
	}
	if f.Plugin != "" {
		word("", "plugin "+strconv.Quote(f.Plugin))
	}
	word(" ", shortDigest(f.Digest))
	word(", ", f.Export)
	if f.Job != "" {
		word(", ", "job "+strconv.Quote(f.Job))
	}
	word(": ", string(f.Code))
	word(": ", f.Detail)
	if f.Err != nil {
		word(": ", f.Err.Error())
	}
	return s.String()
}

// shortDigest keeps as much of a digest as tells plugins apart.
func shortDigest(digest string) string {
	const most = len("sha256:") + 12
	if len(digest) > most {
		return digest[:most]
	}
	return digest
}

// Unwrap gives the cause to errors.Is and errors.As.
func (f *Fault) Unwrap() error { return f.Err }

// As lets poise.KindOf and whoever maps kinds see a Fault as a poise.Error.
func (f *Fault) As(target any) bool {
	e, ok := target.(**poise.Error)
	if ok {
		*e = &poise.Error{Kind: f.kind(), Op: "policy", Detail: f.Error()}
	}
	return ok
}

// kind sorts the codes: what the plugin is, what it used, what is not there.
func (f *Fault) kind() poise.Kind {
	switch f.Code {
	case abi.CodeFuel, abi.CodeMemory, abi.CodeDepth:
		return poise.Limit
	case abi.CodeFetch:
		return poise.Unavailable
	}
	return poise.Invalid
}

// asFault gives the Fault in err's chain, or wraps err as one of the code.
func asFault(code abi.Code, err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return &Fault{Code: code, Err: err}
}
