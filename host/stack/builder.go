package stack

import (
	"context"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
)

// Modules has the bytes of plugins. A digest that it does not know is a NotFound.
type Modules interface {
	Module(ctx context.Context, digest string) ([]byte, error)
}

// Options say how a Builder loads plugins.
type Options struct {
	Cache         string   // directory of compiled code, "" = none
	Child         []string // command of the compile child, nil = compile in this process
	ModuleBytes   int      // largest plugin, 0 = the default
	Compile       time.Duration
	CompileMemory int64 // bytes
	Log           func(line string)
}

// Builder builds stacks. It is safe for concurrent use; a Stack belongs to one
// goroutine at a time.
type Builder struct {
	options Options
	modules Modules

	mu      sync.Mutex
	engines map[poise.PluginLimits]*policy.Engine // guarded by mu
}

// NewBuilder makes a Builder. Close it after its stacks.
func NewBuilder(o Options, m Modules) *Builder {
	return &Builder{options: o, modules: m, engines: map[poise.PluginLimits]*policy.Engine{}}
}

// Limits gives the limits of plugins as the recorded ones and the options make
// them.
func (b *Builder) Limits(recorded poise.PluginLimits) policy.Limits {
	const page = 1 << 16
	l := policy.Defaults()
	l.Module.MemoryPages, l.GoMemoryPages = uint32(recorded.Memory/page), uint32(recorded.GoMemory/page)
	l.CallFuel, l.GoCallFuel, l.SetupFuel = recorded.CallFuel, recorded.GoCallFuel, recorded.SetupFuel
	l.JobFuel, l.RowFuel, l.ShapeFuel = recorded.JobFuel, recorded.RowFuel, recorded.ShapeFuel
	if b.options.ModuleBytes > 0 {
		l.Module.Bytes = b.options.ModuleBytes
	}
	if b.options.Compile > 0 {
		l.Compile = b.options.Compile
	}
	if b.options.CompileMemory > 0 {
		l.CompileMemory = b.options.CompileMemory
	}
	return l
}

// engine gives the engine for these limits: one each, for limits change rarely.
func (b *Builder) engine(ctx context.Context, l poise.PluginLimits) (*policy.Engine, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.engines[l]; e != nil {
		return e, nil
	}
	e, err := policy.NewEngine(context.WithoutCancel(ctx), policy.Options{Cache: b.options.Cache, Child: b.options.Child, Limits: b.Limits(l), Log: b.options.Log})
	if err == nil {
		b.engines[l] = e
	}
	return e, err
}

// Load loads a module under the limits: verified, compiled, its manifest read.
func (b *Builder) Load(ctx context.Context, l poise.PluginLimits, bin []byte) (*policy.Module, error) {
	e, err := b.engine(ctx, l)
	if err != nil {
		return nil, err
	}
	return e.Load(ctx, bin)
}

// Drop removes the compiled code of a module that is not needed any more.
func (b *Builder) Drop(digest string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.engines {
		e.Drop(digest)
	}
}

// Close frees the compiled code.
func (b *Builder) Close(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.engines {
		_ = e.Close(ctx) // it has no error to give
	}
	clear(b.engines)
}
