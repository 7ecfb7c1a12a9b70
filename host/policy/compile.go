package policy

import (
	"context"
	"errors"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/policy/wasm"
)

// settings are the part of Options that changes what is compiled. The compile
// child gets them as its argument.
type settings struct {
	Limits      Limits
	Interpreter bool
	Log         bool
}

// machine compiles modules and sets instances up. It trusts its input to be
// harmless to compile; Engine and the compile child stand around it.
type machine struct {
	settings
	runtime wazero.Runtime
	cache   wazero.CompilationCache // nil = in memory
	log     func(line string)
}

// newMachine makes a machine that keeps compiled code in dir, or in memory.
func newMachine(ctx context.Context, s settings, dir string, log func(line string)) (*machine, error) {
	m := &machine{settings: s, log: log}
	c := wazero.NewRuntimeConfig()
	if s.Interpreter {
		c = wazero.NewRuntimeConfigInterpreter()
	}
	c = c.WithCoreFeatures(api.CoreFeaturesV2).
		WithMemoryLimitPages(max(s.Limits.Module.MemoryPages, s.Limits.GoMemoryPages)).
		WithMemoryCapacityFromMax(true). // growing by copying took a second
		WithDebugInfoEnabled(false).
		WithCloseOnContextDone(false) // fuel stops guests, at the same point each time
	if dir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(dir)
		if err != nil {
			return nil, invalid("policy cache", dir, err)
		}
		m.cache = cache
		c = c.WithCompilationCache(cache)
	}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, c)
	err := hostWASI(ctx, m.runtime)
	if err == nil && s.Log {
		err = hostLog(ctx, m.runtime)
	}
	if err != nil {
		return nil, errors.Join(invalid("policy engine", "host functions", err), m.close(ctx))
	}
	return m, nil
}

func (m *machine) close(ctx context.Context) error {
	err := m.runtime.Close(ctx)
	if m.cache != nil {
		err = errors.Join(err, m.cache.Close(ctx))
	}
	return err
}

// translate makes native code, or what the interpreter runs, of a module that
// Instrument wrote.
func (m *machine) translate(ctx context.Context, metered []byte) (wazero.CompiledModule, *Fault) {
	compiled, err := m.runtime.CompileModule(ctx, metered)
	if err != nil {
		return nil, &Fault{Code: abi.CodeCompile, Detail: "not a valid module", Err: err}
	}
	return compiled, nil
}

// instrument is wasm.Instrument under the limits of the module.
func (s settings) instrument(bin []byte, info *wasm.Info) ([]byte, *Fault) {
	metered, err := wasm.Instrument(bin, s.limitsFor(info).Module)
	if err != nil {
		return nil, refused(err)
	}
	return metered, nil
}

// outcome is what compiling a module and setting it up once tells of it.
type outcome struct {
	Code     abi.Code `json:",omitempty"` // "" = all is well
	Export   string   `json:",omitempty"`
	Detail   string   `json:",omitempty"`
	Manifest string   `json:",omitempty"`
	Minor    int
	Fuel     int64 // of set-up
}

func (o outcome) fault() *Fault {
	if o.Code == "" {
		return nil
	}
	return &Fault{Code: o.Code, Export: o.Export, Detail: o.Detail}
}

// examine verifies, compiles and sets up a module that nothing is known of. The
// code goes to dir, if there is one.
func examine(ctx context.Context, bin []byte, s settings, dir string) outcome {
	m, err := newMachine(ctx, s, dir, nil)
	if err != nil {
		return outcome{Code: abi.CodeCompile, Detail: err.Error()}
	}
	// What is left of it goes with the process or the garbage collector.
	defer m.close(ctx)
	c := &code{digest: digestOf(bin)}
	if f := m.build(ctx, c, bin); f != nil {
		return outcome{Code: f.Code, Export: f.Export, Detail: f.reason()}
	}
	defer c.close(ctx)
	return m.try(c)
}

// try sets a module up once.
func (m *machine) try(c *code) outcome {
	in, text, minor, f := m.setUp(c)
	if f != nil {
		return outcome{Code: f.Code, Export: f.Export, Detail: f.reason()}
	}
	defer in.close()
	return outcome{Manifest: string(text), Minor: minor, Fuel: m.Limits.SetupFuel - in.setup}
}

// reason is the detail and the cause in one text.
func (f *Fault) reason() string {
	switch {
	case f.Err == nil:
		return f.Detail
	case f.Detail == "":
		return f.Err.Error()
	}
	return f.Detail + ": " + f.Err.Error()
}

// build makes a code of a module in this process.
func (m *machine) build(ctx context.Context, c *code, bin []byte) *Fault {
	info, f := m.verify(bin)
	if f != nil {
		return f
	}
	metered, f := m.instrument(bin, info)
	if f != nil {
		return f
	}
	c.info = info
	c.compiled, f = m.translate(ctx, metered)
	return f
}

// compile makes the code of a module: from the cache if the module is known to
// compile, else after a child process, or examine, has shown that it does.
func (e *Engine) compile(ctx context.Context, c *code, bin []byte) *Fault {
	m := e.machine
	info, f := m.verify(bin)
	if f != nil {
		return f
	}
	c.info = info
	out, metered, known := e.store.find(c.digest)
	if !known {
		if metered, f = m.instrument(bin, info); f != nil {
			return f
		}
		if out, f = e.prove(ctx, c, bin, metered); f != nil {
			return f
		}
	}
	if f := c.describe(out); f != nil {
		return f
	}
	if c.compiled == nil {
		c.compiled, f = m.translate(ctx, metered)
	}
	return f
}

// prove finds out whether a module compiles and sets itself up within the
// limits, and leaves its code in the cache. Without cache and child the code is
// in c when it is done.
func (e *Engine) prove(ctx context.Context, c *code, bin, metered []byte) (outcome, *Fault) {
	if e.store == nil && e.child == nil {
		var f *Fault
		if c.compiled, f = e.machine.translate(ctx, metered); f != nil {
			return outcome{}, f
		}
		out := e.machine.try(c)
		if out.Code != "" {
			c.close(ctx)
		}
		return out, out.fault()
	}
	dir, err := e.store.workspace()
	if err != nil {
		return outcome{}, &Fault{Code: abi.CodeCompile, Err: err}
	}
	defer e.store.discard(dir)
	var out outcome
	if e.child == nil {
		out = examine(ctx, bin, e.machine.settings, dir)
	} else {
		var f *Fault
		out, f = runChild(ctx, e.child, bin, e.machine.settings, dir)
		if f != nil {
			return outcome{}, f
		}
	}
	if f := out.fault(); f != nil {
		return outcome{}, f
	}
	if err := e.store.keep(c.digest, metered, out, dir); err != nil {
		return outcome{}, &Fault{Code: abi.CodeCompile, Detail: "keep compiled code", Err: err}
	}
	return out, nil
}

// describe reads the manifest that set-up gave and compares it with what the
// module exports.
func (c *code) describe(out outcome) *Fault {
	m, err := abi.ParseManifest([]byte(out.Manifest))
	if err != nil {
		return &Fault{Code: abi.CodeConfigure, Export: abi.Describe, Err: err}
	}
	scores := slices.ContainsFunc(c.info.Exports, func(e wasm.Export) bool { return e.Name == abi.Score })
	if m.ChoosesDevices && !scores {
		return &Fault{Code: abi.CodeConfigure, Export: abi.Describe, Detail: "chooses_devices: true, expected " + abi.Score + " to be exported"}
	}
	c.manifest, c.text, c.minor = m, out.Manifest, out.Minor
	return nil
}
