package node

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Settings say what of the machine is offered.
type Settings struct {
	Cluster       string // that the node joins
	DataDir       string // the tasks' files lie on its file system; it need not be there yet
	ReserveMemory int64  // bytes that no task gets, a quarter of the memory at most
}

// Description is this machine.
type Description struct {
	Node  poise.Node
	GPUs  []GPU // device i of Node is GPUs[i]
	Notes []Note
}

// Note is something that a person who wonders about the node wants to know.
type Note struct {
	Field string // of the node, such as cpu
	Text  string
}

// source is what a machine is asked.
type source struct {
	root     fs.FS // of the file system, for /proc and /sys
	run      func(ctx context.Context, name string, args ...string) ([]byte, error)
	hostname func() (string, error)
	cpus     int // that this process may run on
	memory   func(ctx context.Context) (uint64, error)
	free     func(ctx context.Context, dir string) (uint64, error)
	os, arch string
}

// Machine describes this machine. It fails where name, processors or memory
// cannot be found out.
func Machine(ctx context.Context, s Settings) (*Description, error) {
	return source{
		root: os.DirFS("/"),
		run: func(ctx context.Context, name string, args ...string) ([]byte, error) {
			return exec.CommandContext(ctx, name, args...).Output()
		},
		hostname: os.Hostname,
		cpus:     runtime.NumCPU(),
		memory: func(ctx context.Context) (uint64, error) {
			m, err := mem.VirtualMemoryWithContext(ctx)
			if err != nil {
				return 0, err
			}
			return m.Total, nil
		},
		free: func(ctx context.Context, dir string) (uint64, error) {
			u, err := disk.UsageWithContext(ctx, existing(dir))
			if err != nil {
				return 0, err
			}
			return u.Free, nil
		},
		os: runtime.GOOS, arch: runtime.GOARCH,
	}.describe(ctx, s)
}

// existing gives the deepest folder on the way to dir that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func (m source) describe(ctx context.Context, s Settings) (*Description, error) {
	name, err := m.hostname()
	if err != nil {
		return nil, &poise.Error{Kind: poise.Unavailable, Op: "describe this machine", Detail: "name", Err: err}
	}
	total, err := m.memory(ctx)
	if err != nil {
		return nil, &poise.Error{Kind: poise.Unavailable, Op: "describe this machine", Detail: "memory", Err: err}
	}
	d := &Description{Node: poise.Node{Name: strings.ToLower(name), Cluster: s.Cluster}}
	labels := map[string]string{"kubernetes.io/arch": m.arch, "kubernetes.io/hostname": d.Node.Name, "kubernetes.io/os": m.os}

	groups := m.controlGroups()
	amounts := []resource.Amount{
		{Name: "cpu", Value: d.cpu(m.cpus, groups)},
		{Name: "memory", Value: d.memory(total, groups, s.ReserveMemory)},
	}
	if free, err := m.free(ctx, s.DataDir); err != nil {
		d.note("storage", "%s: %v; none is offered", s.DataDir, err)
	} else {
		amounts = append(amounts, resource.Amount{Name: "storage", Value: clamp(free)})
	}
	if d.Node.Capacity, err = resource.NewList(amounts...); err != nil {
		return nil, err
	}
	d.devices(m.gpus(ctx, d), labels)
	for key, value := range labels {
		d.Node.Labels = append(d.Node.Labels, poise.Label{Key: key, Value: value})
	}
	slices.SortFunc(d.Node.Labels, func(a, b poise.Label) int { return strings.Compare(a.Key, b.Key) })
	if err := d.Node.Validate(); err != nil {
		return nil, err
	}
	return d, nil
}

// cpu gives milli-cores.
func (d *Description) cpu(cpus int, g groups) int64 {
	all := int64(cpus) * 1000
	if g.cpu >= 0 && g.cpu < all {
		d.note("cpu", "the control group allows %dm of %dm", g.cpu, all)
		return g.cpu
	}
	return all
}

// memory gives bytes: what there is or what the control group allows, less the
// reserve.
func (d *Description) memory(total uint64, g groups, reserve int64) int64 {
	all := clamp(total)
	if g.memory >= 0 && g.memory < all {
		d.note("memory", "the control group allows %s of %s", resource.Format("memory", g.memory), resource.Format("memory", all))
		all = g.memory
	}
	if reserve > all/4 {
		d.note("memory", "a reserve of %s is more than a quarter, which is kept back instead", resource.Format("memory", reserve))
		reserve = all / 4
	}
	return all - reserve
}

// devices offers the GPUs of the most frequent model, since a node has one.
func (d *Description) devices(all []GPU, labels map[string]string) {
	if len(all) == 0 {
		return
	}
	count := map[string]int{}
	for _, g := range all {
		count[g.Model]++
	}
	most := all[0]
	for _, g := range all {
		if count[g.Model] > count[most.Model] {
			most = g
		}
	}
	for _, g := range all {
		switch {
		case g.Model != most.Model:
			d.note("gpu", "%s %s is not offered: a node has devices of one model, here %s", g.Model, g.UUID, most.Model)
		case len(d.GPUs) == poise.MaxDevices:
			d.note("gpu", "%s %s is not offered: a node has at most %d devices", g.Model, g.UUID, poise.MaxDevices)
		default:
			d.GPUs = append(d.GPUs, g)
		}
	}
	d.Node.Devices = poise.Devices{Kind: "gpu", Model: most.Model, Count: int32(len(d.GPUs))}
	labels["nvidia.com/gpu.product"] = most.Model
	if most.MemoryMiB > 0 {
		labels["nvidia.com/gpu.memory"] = strconv.FormatInt(most.MemoryMiB, 10)
	}
}

func (d *Description) note(field, format string, args ...any) {
	d.Notes = append(d.Notes, Note{field, fmt.Sprintf(format, args...)})
}

// clamp keeps an amount within what a capacity can hold.
func clamp(n uint64) int64 { return int64(min(n, 1<<62)) }
