package policy

import (
	"errors"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/policy/wasm"
)

// Refusal is a Fault of a module that is not accepted, in parts that tools read.
type Refusal struct {
	Code   abi.Code `json:"code"`
	Digest string   `json:"digest,omitempty"`
	Export string   `json:"export,omitempty"`
	// Rule, Function, Name and Offset are the verifier's. Function is -1 where the
	// rule is not about one.
	Rule     string `json:"rule,omitempty"`
	Function int    `json:"function"`
	Name     string `json:"name,omitempty"`
	Offset   int    `json:"offset,omitempty"`
	Detail   string `json:"detail"`
}

// Refusal takes the Fault apart.
func (f *Fault) Refusal() *Refusal {
	r := &Refusal{Code: f.Code, Digest: f.Digest, Export: f.Export, Function: -1, Detail: f.reason()}
	var w *wasm.Refusal
	if errors.As(f.Err, &w) {
		r.Rule, r.Function, r.Name, r.Offset, r.Detail = w.Rule, w.Func, w.Name, w.Offset, w.Detail
		if f.Detail != "" {
			r.Detail += ": " + f.Detail
		}
	}
	return r
}
