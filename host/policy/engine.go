// Package policy runs policy plugins: WebAssembly modules that filter and rank
// nodes for one tenant's jobs. It may import abi, state, poise, resource, its
// own package wasm, and wazero, which nothing else in Poise may.
//
// What it promises: a plugin is verified and rewritten before it is compiled,
// and compiled in a process of its own before it is loaded here; whatever it
// does then ends in an answer or in a Fault, within its fuel and its memory. An
// instance that faulted is never called again. Nothing that a guest says makes
// the host allocate.
package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
)

// Options say how an Engine works.
type Options struct {
	// Cache is the directory of compiled code. It holds native code, so nobody
	// else may write to it. "" = compile in memory.
	Cache string
	// Child is the command of the compile child; one argument is added. nil =
	// compile in this process, for plugins that are trusted not to be compile
	// bombs.
	Child []string
	// Interpreter runs plugins without native code: slower, equal to the bit.
	Interpreter bool
	// Log takes what a guest prints, line by line. nil = modules that import
	// poise.log are refused.
	Log    func(line string)
	Limits Limits
}

// Engine compiles plugins and holds their code. It is safe for concurrent use;
// an instance belongs to one goroutine at a time.
type Engine struct {
	machine *machine
	child   []string
	store   *store // nil = no cache

	mu    sync.Mutex
	codes map[string]*code // by digest; guarded by mu
}

// NewEngine makes an Engine. Close it after its modules.
func NewEngine(ctx context.Context, o Options) (*Engine, error) {
	if err := o.Limits.validate(); err != nil {
		return nil, err
	}
	e := &Engine{child: o.Child, codes: map[string]*code{}}
	s := settings{Limits: o.Limits, Interpreter: o.Interpreter, Log: o.Log != nil}
	if o.Cache != "" {
		st, err := openStore(ctx, o.Cache, s)
		if err != nil {
			return nil, err
		}
		e.store = st
	}
	m, err := newMachine(ctx, s, o.Cache, o.Log)
	if err != nil {
		return nil, err
	}
	e.machine = m
	return e, nil
}

// Close frees the compiled code. Calls that still run end in a Fault.
func (e *Engine) Close(ctx context.Context) error { return e.machine.close(ctx) }

// Load verifies, instruments and compiles a module and reads its manifest. A
// module that is loaded already, or that the cache knows, is not compiled again.
// The error is a *Fault.
func (e *Engine) Load(ctx context.Context, bin []byte) (*Module, error) {
	digest := digestOf(bin)
	for {
		c, first := e.acquire(digest)
		if first {
			c.fault = e.compile(ctx, c, bin)
			if c.fault != nil {
				c.fault.Digest = digest
				e.forget(c)
			}
			close(c.ready)
		}
		select {
		case <-c.ready:
		case <-ctx.Done():
			e.release(ctx, c)
			return nil, &Fault{Code: abi.CodeCompile, Digest: digest, Detail: "canceled", Err: ctx.Err()}
		}
		if c.fault == nil {
			return &Module{Digest: digest, Manifest: c.manifest, Info: c.info, Minor: c.minor, engine: e, code: c}, nil
		}
		// The one that compiled may have been canceled: that says nothing about
		// the plugin to another caller.
		if !first && errors.Is(c.fault, context.Canceled) && ctx.Err() == nil {
			continue
		}
		fault := *c.fault
		return nil, &fault
	}
}

// Drop removes the compiled code of a digest from the cache. One that the cache
// does not have is fine.
func (e *Engine) Drop(digest string) { e.store.drop(digest) }

// digestOf names a module by its bytes.
func digestOf(bin []byte) string {
	sum := sha256.Sum256(bin)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// acquire takes a reference to the code of a digest. first says that the caller
// is to compile it.
func (e *Engine) acquire(digest string) (c *code, first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, ok := e.codes[digest]
	if !ok {
		c = &code{digest: digest, ready: make(chan struct{})}
		e.codes[digest] = c
	}
	c.refs++
	return c, !ok
}

// release gives a reference back; the last one frees the code.
func (e *Engine) release(ctx context.Context, c *code) {
	e.mu.Lock()
	c.refs--
	last := c.refs == 0
	if last && e.codes[c.digest] == c {
		delete(e.codes, c.digest)
	}
	e.mu.Unlock()
	if last {
		c.close(ctx)
	}
}

// forget makes the next Load of a digest start anew.
func (e *Engine) forget(c *code) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.codes[c.digest] == c {
		delete(e.codes, c.digest)
	}
}

// invalid is an error of how an Engine is set up.
func invalid(op, detail string, err error) error {
	return &poise.Error{Kind: poise.Invalid, Op: op, Detail: detail, Err: err}
}
