package wasm

import "github.com/tetratelabs/wazero"

type engine struct {
	name   string
	config func() wazero.RuntimeConfig
}

func engines() []engine {
	return []engine{{"compiler", wazero.NewRuntimeConfigCompiler}, {"interpreter", wazero.NewRuntimeConfigInterpreter}}
}
