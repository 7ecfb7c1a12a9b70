//go:build linux

package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/resource"
)

func TestLimits(t *testing.T) {
	f := func(cpu, memory int64, want string, have ...bool) {
		t.Helper()
		have = append(have, true, true)
		var amounts resource.List
		if cpu >= 0 {
			amounts = append(amounts, resource.Amount{Name: "cpu", Value: cpu})
		}
		if memory >= 0 {
			amounts = append(amounts, resource.Amount{Name: "memory", Value: memory})
		}
		var got []string
		for _, s := range limits(amounts, have[0], have[1]) {
			got = append(got, s.file+"="+s.value)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("cpu %d, memory %d: %q, expected %s", cpu, memory, got, want)
		}
	}
	f(1500, -1, "cpu.max=150000 100000")
	f(1, -1, "cpu.max=1000 100000")
	f(1<<62, -1, "cpu.max=109951162777600 100000")
	f(-1, 1<<30, "memory.max=1073741824, memory.swap.max=0, memory.oom.group=1")
	f(0, 0, "")
	f(-1, -1, "")
	f(100, 100, "", false, false)
	f(100, 100, "cpu.max=10000 100000", true, false)
}

func TestFindCgroup(t *testing.T) {
	const v1 = "30 25 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	const v2 = "26 22 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	f := func(mounts, groups, want string) {
		t.Helper()
		got, err := findCgroup(mounts, groups)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s, expected %s", got, want)
		}
	}
	f(v1+v2, "4:cpu:/x\n0::/system.slice/poise.service\n", "/sys/fs/cgroup/system.slice/poise.service")
	f(v2, "0::/\n", "/sys/fs/cgroup")
	f(v1, "0::/\n", "not mounted")
	f(v2, "4:cpu:/x\n", "this process is in none")
	f("", "", "not mounted")
	f("a - \n - cgroup2\n", "0::/", "not mounted")
}

func TestOutOfMemory(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "memory.events"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := outOfMemory(dir); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
	f("low 0\noom 1\noom_kill 0\noom_group_kill 0\n", false)
	f("low 0\noom 1\noom_kill 2\n", true)
	f("", false)
	if outOfMemory(t.TempDir()) {
		t.Error("a group without the file")
	}
}

// What is not permitted is said, and costs nothing else.
func TestFacts(t *testing.T) {
	w := open(t, withoutCgroup(options(t, t.TempDir())))
	if f := w.Facts(); f.Cgroup != "" || f.CPU || f.Memory || !strings.HasPrefix(f.Why, "cgroup v2: ") {
		t.Errorf("%+v", f)
	}
	w = fresh(t)
	f := w.Facts()
	t.Logf("this machine: %+v", f)
	if all := f.Cgroup != "" && f.CPU && f.Memory; all != (f.Why == "") {
		t.Errorf("%+v: the reason does not fit", f)
	}
	base := f.Cgroup
	if s := w.run(sh("p", "exit 0")); s.State != engine.Succeeded {
		t.Errorf("%+v", s)
	}
	w.stop()
	if base != "" {
		if _, err := os.Stat(base); err == nil {
			t.Errorf("%s is left", base)
		}
	}
}

func TestCgroupLimits(t *testing.T) {
	w := fresh(t)
	if f := w.Facts(); !f.CPU || !f.Memory {
		t.Skipf("this machine does not permit limits: %s", f.Why)
	}
	b := sh("p", `d=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup); cat $d/cpu.max $d/memory.max`)
	b.Amounts = resource.List{{Name: "cpu", Value: 1500}, {Name: "memory", Value: 64 << 20}}
	if s := w.run(b); s.State != engine.Succeeded {
		t.Fatalf("%+v", s)
	}
	if got, want := output(t, w, "p", LogOptions{}), fmt.Sprintf("150000 100000\n%d\n", 64<<20); got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	b.Placement, b.Command = "greedy", []string{"/bin/sh", "-c", "x=$(head -c 500000000 /dev/zero | tr '\\0' x); echo ${#x}"}
	s := w.run(b)
	if s.State != engine.Failed || s.Signal != "SIGKILL" || !strings.Contains(s.Detail, "memory: over the limit of 64Mi") {
		t.Errorf("%+v", s)
	}
}
