package node

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/poise-sched/poise/host/poise"
)

const gib = 1 << 30

// fake is a machine of 8 processors and 16 GiB without GPUs.
func fake() source {
	return source{
		root:     fstest.MapFS{},
		run:      func(context.Context, string, ...string) ([]byte, error) { return nil, exec.ErrNotFound },
		hostname: func() (string, error) { return "Node-1", nil },
		cpus:     8,
		memory:   func(context.Context) (uint64, error) { return 16 * gib, nil },
		free:     func(context.Context, string) (uint64, error) { return 100 * gib, nil },
		os:       "linux", arch: "arm64",
	}
}

func describe(t *testing.T, m source, s Settings) *Description {
	t.Helper()
	d, err := m.describe(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Node.Validate(); err != nil {
		t.Error(err)
	}
	return d
}

func amount(t *testing.T, d *Description, name string) int64 {
	t.Helper()
	v, ok := d.Node.Capacity.Find(name)
	if !ok {
		t.Errorf("%s: not in the capacity", name)
	}
	return v
}

// noted compares what each note starts with.
func noted(t *testing.T, d *Description, want ...string) {
	t.Helper()
	if len(d.Notes) != len(want) {
		t.Fatalf("notes %v, want %d", d.Notes, len(want))
	}
	for i, n := range d.Notes {
		if got := n.Field + ": " + n.Text; !strings.HasPrefix(got, want[i]) {
			t.Errorf("note %q, want %q…", got, want[i])
		}
	}
}

func TestDescribe(t *testing.T) {
	d := describe(t, fake(), Settings{Cluster: "local", ReserveMemory: gib})
	if d.Node.Name != "node-1" || d.Node.Cluster != "local" {
		t.Errorf("name %s in cluster %s, want node-1 in local", d.Node.Name, d.Node.Cluster)
	}
	if cpu, memory, storage := amount(t, d, "cpu"), amount(t, d, "memory"), amount(t, d, "storage"); cpu != 8000 || memory != 15*gib || storage != 100*gib {
		t.Errorf("cpu %d, memory %d, storage %d, want 8000, 15 Gi and 100 Gi", cpu, memory, storage)
	}
	want := []poise.Label{{Key: "kubernetes.io/arch", Value: "arm64"}, {Key: "kubernetes.io/hostname", Value: "node-1"}, {Key: "kubernetes.io/os", Value: "linux"}}
	if !reflect.DeepEqual(d.Node.Labels, want) {
		t.Errorf("labels %v, want %v", d.Node.Labels, want)
	}
	if d.Node.Devices != (poise.Devices{}) {
		t.Errorf("devices %v, want none", d.Node.Devices)
	}
	noted(t, d)
}

func TestReserve(t *testing.T) {
	d := describe(t, fake(), Settings{ReserveMemory: 5 * gib})
	if got := amount(t, d, "memory"); got != 12*gib {
		t.Errorf("memory %d, want three quarters of 16 Gi", got)
	}
	noted(t, d, "memory: a reserve of 5Gi is more than a quarter")
}

func TestControlGroups(t *testing.T) {
	f := func(cpu, memory int64, files ...string) {
		t.Helper()
		root := fstest.MapFS{}
		for i := 0; i < len(files); i += 2 {
			root[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
		}
		m := fake()
		m.root = root
		d := describe(t, m, Settings{})
		if got := amount(t, d, "cpu"); got != cpu {
			t.Errorf("cpu %d, want %d", got, cpu)
		}
		if got := amount(t, d, "memory"); got != memory {
			t.Errorf("memory %d, want %d", got, memory)
		}
		notes := 0
		if cpu != 8000 {
			notes++
		}
		if memory != 16*gib {
			notes++
		}
		if len(d.Notes) != notes {
			t.Errorf("notes %v, want %d", d.Notes, notes)
		}
	}
	const self = "proc/self/cgroup"
	f(8000, 16*gib, self, "0::/\n")
	f(1500, 4*gib, self, "0::/\n", "sys/fs/cgroup/cpu.max", "150000 100000\n", "sys/fs/cgroup/memory.max", "4294967296\n")
	f(8000, 16*gib, self, "0::/\n", "sys/fs/cgroup/cpu.max", "max 100000\n", "sys/fs/cgroup/memory.max", "max\n")
	f(8000, 16*gib, self, "0::/a\n", "sys/fs/cgroup/a/cpu.max", "1600000 100000\n", "sys/fs/cgroup/a/memory.max", "99999999999\n")
	// The least of all groups on the way up counts.
	f(500, 2*gib, self, "0::/a/b/c\n", "sys/fs/cgroup/a/b/c/cpu.max", "200000 100000\n", "sys/fs/cgroup/a/cpu.max", "50000 100000\n",
		"sys/fs/cgroup/a/b/memory.max", "2147483648\n", "sys/fs/cgroup/a/memory.max", "4294967296\n")
	// In a container the group's path is often not there, its limit at the top.
	f(2000, 16*gib, self, "0::/../../pod\n", "sys/fs/cgroup/cpu.max", "200000 100000")
	// Version 1.
	f(250, gib, self, "12:pids:/x\n3:cpu,cpuacct:/x\n2:memory:/x\n1:name=systemd:/\n",
		"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "25000\n", "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n",
		"sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1073741824\n")
	f(8000, 16*gib, self, "3:cpu:/\n2:memory:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
	// Nonsense limits nothing.
	f(8000, 16*gib, self, "0::/\nx\n", "sys/fs/cgroup/cpu.max", "100 0\n", "sys/fs/cgroup/memory.max", "-5\n")
	f(8000, 16*gib, self, "0::/\n", "sys/fs/cgroup/cpu.max", "9223372036854775807 1\n", "sys/fs/cgroup/memory.max", "lots")
}

func TestUnknown(t *testing.T) {
	f := func(change func(*source), want string) {
		t.Helper()
		m := fake()
		change(&m)
		_, err := m.describe(t.Context(), Settings{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	broken := errors.New("broken")
	f(func(m *source) { m.hostname = func() (string, error) { return "", broken } }, "describe this machine: name: broken")
	f(func(m *source) { m.hostname = func() (string, error) { return "", nil } }, "name: empty")
	f(func(m *source) { m.memory = func(context.Context) (uint64, error) { return 0, broken } }, "memory: broken")

	m := fake()
	m.free = func(context.Context, string) (uint64, error) { return 0, broken }
	d := describe(t, m, Settings{DataDir: "/data"})
	if _, ok := d.Node.Capacity.Find("storage"); ok {
		t.Error("storage is offered, want none")
	}
	noted(t, d, "storage: /data: broken")
}

// This machine, whatever it is.
func TestThisMachine(t *testing.T) {
	dir := t.TempDir()
	d, err := Machine(t.Context(), Settings{Cluster: "local", DataDir: dir + "/not/there/yet", ReserveMemory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if d.Node.Name != strings.ToLower(name) {
		t.Errorf("name %s, want %s", d.Node.Name, name)
	}
	if cpu := amount(t, d, "cpu"); cpu < 1 || cpu > int64(runtime.NumCPU())*1000 {
		t.Errorf("cpu %d, want at most %d processors", cpu, runtime.NumCPU())
	}
	if memory := amount(t, d, "memory"); memory < 64<<20 || memory > 1<<50 {
		t.Errorf("memory %d", memory)
	}
	if storage := amount(t, d, "storage"); storage < 1 || storage > 1<<60 {
		t.Errorf("storage %d", storage)
	}
	if int(d.Node.Devices.Count) != len(d.GPUs) {
		t.Errorf("%d devices of %d GPUs", d.Node.Devices.Count, len(d.GPUs))
	}
	t.Logf("%+v", d)
}

func groupFiles(paths, cpu, memory string) fstest.MapFS {
	return fstest.MapFS{
		"proc/self/cgroup":         {Data: []byte(paths)},
		"sys/fs/cgroup/cpu.max":    {Data: []byte(cpu)},
		"sys/fs/cgroup/memory.max": {Data: []byte(memory)},
	}
}
