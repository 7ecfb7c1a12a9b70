package wasm

import (
	"fmt"
	"strings"
)

// ValType is the type of a WebAssembly value, in its binary encoding.
type ValType byte

// The value types of core 2.0.
const (
	I32       ValType = 0x7f
	I64       ValType = 0x7e
	F32       ValType = 0x7d
	F64       ValType = 0x7c
	V128      ValType = 0x7b
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6f
)

func (v ValType) known() bool { return v >= V128 && v <= I32 || v.reference() }

func (v ValType) reference() bool { return v == FuncRef || v == ExternRef }

// String gives the name that the text format uses.
func (v ValType) String() string {
	switch v {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return fmt.Sprintf("type %#x", byte(v))
}

// Signature is the type of a function.
type Signature struct{ Params, Results []ValType }

// String gives the signature in the form "(i32, i32) -> i32".
func (s Signature) String() string {
	list := func(types []ValType) string {
		names := make([]string, len(types))
		for i, v := range types {
			names[i] = v.String()
		}
		return strings.Join(names, ", ")
	}
	if len(s.Results) == 1 {
		return "(" + list(s.Params) + ") -> " + list(s.Results)
	}
	return "(" + list(s.Params) + ") -> (" + list(s.Results) + ")"
}
