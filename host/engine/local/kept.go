//go:build linux

package local

import (
	"os"
	"path/filepath"
	"slices"
	"time"
)

// kept are the folders of forgotten tasks, the oldest first.
type kept struct {
	folders []keptFolder
	bytes   int64
}

type keptFolder struct {
	path  string
	bytes int64
	at    time.Time
}

// load finds the folders that are there.
func (k *kept) load(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		k.add(filepath.Join(dir, entry.Name()))
	}
	slices.SortStableFunc(k.folders, func(a, b keptFolder) int { return a.at.Compare(b.at) })
	return nil
}

// add counts one more folder in.
func (k *kept) add(path string) {
	f := keptFolder{path: path, bytes: 4096} // the folder itself
	if info, err := os.Stat(path); err == nil {
		f.at = info.ModTime()
	}
	for _, n := range logNumbers(path) {
		if info, err := os.Stat(logPath(path, n)); err == nil {
			f.bytes += info.Size()
		}
	}
	k.folders = append(k.folders, f)
	k.bytes += f.bytes
}

// trim removes the oldest folders until the limit holds.
func (k *kept) trim(limit int64) {
	for len(k.folders) > 0 && k.bytes > limit {
		_ = os.RemoveAll(k.folders[0].path) // what is left is tried again by the next daemon
		k.bytes -= k.folders[0].bytes
		k.folders = k.folders[1:]
	}
}

// retire takes a task's folder out of those that are taken up again, in one
// step, and leaves nothing in it but its output: the rest may hold secrets, and
// may be large.
func (e *Engine) retire(placement string) error {
	dir := e.endedFolder(placement)
	if err := os.Rename(e.taskFolder(placement), dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if match, _ := filepath.Match(logPrefix+"*", entry.Name()); match {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	e.kept.add(dir)
	e.kept.trim(e.opt.KeepLogs)
	return nil
}
