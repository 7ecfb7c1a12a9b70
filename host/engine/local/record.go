//go:build linux

package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
)

// format is the version of the records. A shim may be older than the daemon
// that reads them, so fields are added, never changed.
const format = 1

// Names in a task's folder.
const (
	specFile   = "spec.json"
	aliveFifo  = "alive"
	claimFile  = "claim.json"
	evictFile  = "evict.json"
	statusFile = "status.json"
	shimLog    = "shim.log"
	workDir    = "work"
	tmpDir     = "tmp"
)

// spec is what the daemon tells the shim.
type spec struct {
	Format   int
	Binding  engine.Binding
	LogLimit int64
	Cgroup   string `json:",omitempty"` // folder to make for the task, "" = none
	CPU      bool   `json:",omitempty"` // the cgroup can limit cpu
	Memory   bool   `json:",omitempty"` // the cgroup can limit memory
	UID      uint32 `json:",omitempty"` // user and group of the task, 0 = the daemon's
}

// claim is what the shim tells the daemon: who it is, and who the task is.
type claim struct {
	Format  int
	Shim    ident
	Task    ident      // zero until the command runs
	Started poise.Time // 0 until the command runs
}

// evict asks the shim to end the task. Number tells one request from the next.
type evict struct {
	Format int
	Number int64
	Grace  poise.Span
}

// end is a status on disk.
type end struct {
	Format int
	engine.Status
}

func (s *spec) check() error {
	if s.Format != format {
		return fmt.Errorf("format: %d, expected %d", s.Format, format)
	}
	return s.Binding.Validate()
}

func (c *claim) check() error {
	if c.Format != format || c.Shim.PID <= 1 || c.Task.PID == 1 || c.Task.PID < 0 {
		return fmt.Errorf("format %d, shim %d, task %d, expected format %d and process ids", c.Format, c.Shim.PID, c.Task.PID, format)
	}
	return nil
}

func (e *evict) check() error {
	if e.Format != format || e.Grace < 0 {
		return fmt.Errorf("format %d, grace %d ms, expected format %d and a grace of 0 or more", e.Format, e.Grace, format)
	}
	return nil
}

func (e *end) check() error {
	if e.Format != format || !e.State.Ended() {
		return fmt.Errorf("format %d, state %s, expected format %d and an end", e.Format, e.State, format)
	}
	return nil
}

// record is a kind of state file.
type record interface{ check() error }

// read fills r from a state file; found is false where there is none.
func read(dir, name string, r record) (found bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if err := decode(text, r); err != nil {
		return true, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

func decode(text []byte, r record) error {
	if err := json.Unmarshal(text, r); err != nil {
		return err
	}
	return r.check()
}

// write puts a state file in place, whole or not at all. With once it refuses
// to replace one. With durable it is on the disk when write returns.
func write(dir, name string, r record, once, durable bool) (err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, name+".*.part")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error is the one to tell
		}
	}()
	_, err = f.Write(append(text, '\n'))
	if err == nil && durable {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	if once {
		// A link never replaces a file, a rename does.
		if err = os.Link(f.Name(), path); err == nil {
			err = os.Remove(f.Name())
		}
	} else {
		err = os.Rename(f.Name(), path)
	}
	if err == nil && durable {
		err = syncDir(dir)
	}
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
