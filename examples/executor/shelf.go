//go:build linux

package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/poise-sched/poise/host/api/client"
)

// shelf is the folder of an executor: tasks/ has those that the daemon knows,
// output/ what the others wrote.
type shelf struct {
	dir  string
	lock *os.File // as long as this executor has it
}

// openShelf opens a folder that no other executor has.
func openShelf(dir string) (*shelf, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"tasks", "output"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return nil, err
		}
	}
	lock, free, err := lockFile(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	if !free {
		return nil, fmt.Errorf("dir: %s is in use, expected one that no other executor uses", dir)
	}
	return &shelf{dir, lock}, nil
}

// task gives the task of a placement, which names its folder.
func (s *shelf) task(placement string) task {
	return task{filepath.Join(s.dir, "tasks", url.PathEscape(placement))}
}

// tidy lets go of tasks that the daemon does not know any more: their end is on
// its record. One that runs all the same is ended.
func (s *shelf) tidy(assigned []client.Assignment) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "tasks"))
	if err != nil {
		return // at the next look
	}
	for _, entry := range entries {
		placement, err := url.PathUnescape(entry.Name())
		if err != nil || slices.ContainsFunc(assigned, func(a client.Assignment) bool { return a.Placement == placement }) {
			continue
		}
		t := s.task(placement)
		now, err := t.status()
		if err == nil && now.State == client.Running {
			_ = t.end("the daemon does not know it any more")
			continue
		}
		_ = os.Rename(t.file("output"), filepath.Join(s.dir, "output", entry.Name()))
		_ = os.RemoveAll(t.dir)
	}
}

// lockFile opens a file and locks it, where nobody else has. The lock stays until
// all copies of the file are closed, in other processes too.
func lockFile(name string) (*os.File, bool, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
		_ = f.Close() // the first error is the one to tell
		return nil, false, err
	}
	return f, err == nil, nil
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// bootID tells one boot of the machine from the next.
func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
}
