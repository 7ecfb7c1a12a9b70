//go:build linux

package local

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/poise-sched/poise/host/resource"
)

// ownLeaf is the cgroup that the daemon moves itself to where it shares one
// with the tasks': the kernel hands controllers only to groups without
// processes of their own.
const ownLeaf = "poise-daemon"

// cgroups finds out what is permitted below parent, the cgroup v2 folder that
// the daemon may manage, or below its own cgroup where parent is "". Engines of
// different folders use different groups.
func cgroups(parent, dir string) Facts {
	own := parent == ""
	if own {
		var err error
		if parent, err = ownCgroup(); err != nil {
			return Facts{Why: "cgroup v2: " + err.Error()}
		}
		if filepath.Base(parent) == ownLeaf {
			parent = filepath.Dir(parent)
		}
	}
	sum := sha256.Sum256([]byte(dir))
	base := filepath.Join(parent, "poise-"+hex.EncodeToString(sum[:4]))
	if err := makeGroup(base); err != nil {
		return Facts{Why: "cgroup v2: " + err.Error()}
	}
	if err := tryGroup(base); err != nil {
		return Facts{Why: "cgroup v2: start a process in " + base + ": " + err.Error()}
	}
	f := Facts{Cgroup: base}
	var why []string
	for _, c := range []struct {
		name string
		to   *bool
	}{{"cpu", &f.CPU}, {"memory", &f.Memory}} {
		if err := enable(parent, base, c.name, own); err != nil {
			why = append(why, c.name+": "+err.Error())
		} else {
			*c.to = true
		}
	}
	f.Why = strings.Join(why, "; ")
	return f
}

// ownCgroup gives the folder of the process's cgroup.
func ownCgroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	return findCgroup(string(mounts), string(groups))
}

// findCgroup puts mount point and group together. Mount points with spaces,
// which the kernel escapes, are none that a cgroup file system has.
func findCgroup(mounts, groups string) (string, error) {
	var point string
	for line := range strings.Lines(mounts) {
		left, right, _ := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) > 4 && len(r) > 0 && r[0] == "cgroup2" {
			point = l[4]
			break
		}
	}
	if point == "" {
		return "", errors.New("not mounted")
	}
	for line := range strings.Lines(groups) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return filepath.Join(point, path), nil
		}
	}
	return "", errors.New("this process is in none")
}

func makeGroup(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// tryGroup starts a process in the group: the call for it is newer than cgroup
// v2 itself, and some sandboxes forbid it.
func tryGroup(base string) error {
	d, err := os.Open(base)
	if err != nil {
		return err
	}
	defer d.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{null, null, null}, Sys: intoGroup(d),
	})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// enable hands a controller to the tasks' groups.
func enable(parent, base, controller string, own bool) error {
	text, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(string(text)), controller) {
		return fmt.Errorf("cgroup v2: %s has no such controller; cgroup v1 may hold it, or it is not delegated", parent)
	}
	hand := func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0)
	}
	err = hand(parent)
	if errors.Is(err, syscall.EBUSY) && own {
		leaf := filepath.Join(parent, ownLeaf)
		if err = makeGroup(leaf); err == nil {
			err = os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte("0"), 0)
		}
		if err == nil {
			err = hand(parent)
		}
	}
	if errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("cgroup v2: %s holds other processes, expected a group delegated to the daemon alone", parent)
	}
	if err != nil {
		return err
	}
	return hand(base)
}

// setting is one file of a cgroup and what to write to it.
type setting struct {
	file, value string
	must        bool // the file is there on every kernel that has the controller
}

// limits gives the settings that hold a task to its amounts.
func limits(amounts resource.List, cpu, memory bool) []setting {
	const period = 100_000 // microseconds
	var s []setting
	if milli, ok := amounts.Find("cpu"); ok && cpu && milli > 0 {
		// The kernel takes no quota below a millisecond.
		quota := max(1_000, min(milli, 1<<40)*(period/1_000)) // no node has a thousand million cores
		s = append(s, setting{"cpu.max", fmt.Sprintf("%d %d", quota, period), true})
	}
	if bytes, ok := amounts.Find("memory"); ok && memory && bytes > 0 {
		s = append(s,
			setting{"memory.max", strconv.FormatInt(bytes, 10), true},
			// Without these a task would go on in swap, or lose only some processes.
			setting{"memory.swap.max", "0", false},
			setting{"memory.oom.group", "1", false})
	}
	return s
}

// openGroup makes a task's cgroup with its limits.
func openGroup(dir string, settings []setting) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, s := range settings {
		err := os.WriteFile(filepath.Join(dir, s.file), []byte(s.value), 0)
		if err != nil && (s.must || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
	}
	return os.Open(dir)
}

// killCgroup kills all in a cgroup.
func killCgroup(dir string) {
	if dir != "" {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) // older kernels have none; the callers look for themselves
	}
}

// outOfMemory says whether the kernel killed a process of the group for memory.
func outOfMemory(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "memory.events"))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if f := strings.Fields(string(line)); len(f) == 2 && f[0] == "oom_kill" {
			return f[1] != "0"
		}
	}
	return false
}

// closeGroup kills what is in a task's cgroup and removes it, as far as that
// comes to pass in time: killed processes take a moment to be gone.
func closeGroup(dir string) {
	if dir == "" {
		return
	}
	pause := time.Millisecond
	for began := time.Now(); time.Since(began) < sweepTime; pause = min(2*pause, 100*time.Millisecond) {
		killCgroup(dir)
		if err := os.Remove(dir); !errors.Is(err, syscall.EBUSY) {
			return
		}
		time.Sleep(pause)
	}
}
