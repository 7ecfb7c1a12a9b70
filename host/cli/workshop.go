package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
)

// compileCommand is the hidden command that the compile child runs.
const compileCommand = "plugin-compile"

// workshop runs plugins from files, for the commands that need no daemon.
type workshop struct {
	engine *policy.Engine
	limits policy.Limits
}

// openWorkshop makes a workshop. Compiled code is kept in the user's cache
// directory; where there is none, in memory. log takes what guests print, nil
// refuses modules that do.
func openWorkshop(log func(line string)) (*workshop, error) {
	o := policy.Options{Limits: policy.Defaults(), Log: log}
	if self, err := os.Executable(); err == nil {
		o.Child = []string{self, compileCommand}
	}
	if dir, err := os.UserCacheDir(); err == nil {
		o.Cache = filepath.Join(dir, "poise", "plugins")
	}
	engine, err := policy.NewEngine(context.Background(), o)
	if err != nil {
		return nil, err
	}
	return &workshop{engine: engine, limits: o.Limits}, nil
}

// load reads, verifies and compiles a module.
func (w *workshop) load(path string) (*policy.Module, error) {
	bin, err := readModule(path, int64(w.limits.Module.Bytes))
	if err != nil {
		return nil, err
	}
	return w.loadBytes(path, bin)
}

// loadBytes verifies and compiles a module that came from where name says.
func (w *workshop) loadBytes(name string, bin []byte) (*policy.Module, error) {
	m, err := w.engine.Load(context.Background(), bin)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

func (w *workshop) close() { _ = w.engine.Close(context.Background()) }

// readModule reads a file of at most so many bytes, and one more, so that the
// verifier can say that it is too large.
func readModule(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &poise.Error{Kind: poise.NotFound, Op: "read plugin", Detail: fmt.Sprintf("%s: no such file, expected a .wasm module", path)}
	}
	if err != nil {
		return nil, fmt.Errorf("read plugin %s: %w", path, err)
	}
	defer f.Close()
	bin, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("read plugin %s: %w", path, err)
	}
	return bin, nil
}
