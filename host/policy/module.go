package policy

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/tetratelabs/wazero"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/policy/wasm"
)

// Module is a plugin that is ready to be instantiated.
type Module struct {
	Digest   string // sha256:hex of the bytes that Load was given
	Manifest *abi.Manifest
	Info     *wasm.Info
	Minor    int // minor version of the contract that it is made for

	engine *Engine
	code   *code
	closed atomic.Bool
}

// Close gives the module up; the code is freed with the last Module of its
// digest. Instances that are left keep working.
func (m *Module) Close(ctx context.Context) error {
	if !m.closed.Swap(true) {
		m.engine.release(ctx, m.code)
	}
	return nil
}

// Exports says whether the module takes part in an extension point.
func (m *Module) Exports(name string) bool {
	return slices.ContainsFunc(m.Info.Exports, func(e wasm.Export) bool { return e.Name == name })
}

// ManifestText gives the manifest as the module has it, byte for byte.
func (m *Module) ManifestText() string { return m.code.text }

// Limits gives the limits as they apply to this module.
func (m *Module) Limits() Limits { return m.engine.machine.limitsFor(m.Info) }

// instantiate makes an instance: memory, _initialize, marker, and a manifest
// that is the one of the module.
func (m *Module) instantiate() (*instance, error) {
	if m.closed.Load() {
		return nil, m.code.fail(abi.CodeConfigure, "", "module: closed, expected one that is open")
	}
	in, text, minor, fault := m.engine.machine.setUp(m.code)
	if fault != nil {
		return nil, fault
	}
	if minor != m.Minor || string(text) != m.code.text {
		in.close()
		return nil, m.code.fail(abi.CodeConfigure, abi.Describe, "manifest: differs from the one at first set-up, expected the same every time")
	}
	return in, nil
}

// code is a compiled module, shared by all Modules of its digest.
type code struct {
	digest string
	refs   int           // guarded by Engine.mu
	ready  chan struct{} // closed when the fields below are set
	fault  *Fault

	compiled wazero.CompiledModule
	info     *wasm.Info
	manifest *abi.Manifest
	text     string // of the manifest
	minor    int
}

func (c *code) close(ctx context.Context) {
	if c.compiled != nil {
		// The error is about host modules only.
		_ = c.compiled.Close(ctx)
	}
}

// plugin gives name and version as people know them, if they are known.
func (c *code) plugin() string {
	if c.manifest == nil {
		return ""
	}
	return c.manifest.Name + " " + c.manifest.Version
}

func (c *code) fail(code abi.Code, export, detail string) *Fault {
	return &Fault{Code: code, Plugin: c.plugin(), Digest: c.digest, Export: export, Detail: detail}
}
