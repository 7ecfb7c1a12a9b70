package node

import (
	"io/fs"
	"math/bits"
	"path"
	"slices"
	"strconv"
	"strings"
)

// groups is what the Linux control groups around this process allow; -1 = all.
type groups struct {
	cpu    int64 // milli-cores
	memory int64 // bytes
}

const mount = "sys/fs/cgroup"

// controlGroups reads the limits of this process's groups and of all above them.
// In a container the groups above it, and often its own path, are out of sight;
// what is not there limits nothing.
func (m source) controlGroups() groups {
	g := groups{-1, -1}
	paths, err := fs.ReadFile(m.root, "proc/self/cgroup")
	if err != nil {
		return g
	}
	for line := range strings.Lines(string(paths)) {
		// hierarchy:controllers:path, where version 2 has no controllers.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		controllers := strings.Split(parts[1], ",")
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			switch {
			case parts[1] == "":
				quota, period, _ := strings.Cut(m.word(path.Join(mount, dir, "cpu.max")), " ")
				g.limitCPU(quota, period)
				g.limitMemory(m.word(path.Join(mount, dir, "memory.max")))
			default:
				if slices.Contains(controllers, "cpu") {
					at := path.Join(mount, parts[1], dir)
					g.limitCPU(m.word(path.Join(at, "cpu.cfs_quota_us")), m.word(path.Join(at, "cpu.cfs_period_us")))
				}
				if slices.Contains(controllers, "memory") {
					g.limitMemory(m.word(path.Join(mount, parts[1], dir, "memory.limit_in_bytes")))
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return g
}

// word gives the one line of a file, or nothing.
func (m source) word(name string) string {
	b, err := fs.ReadFile(m.root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// limitCPU takes microseconds of CPU time per period; max, -1 and what is no
// number limit nothing.
func (g *groups) limitCPU(quota, period string) {
	q, err := strconv.ParseUint(quota, 10, 63)
	if err != nil {
		return
	}
	p, err := strconv.ParseUint(period, 10, 63)
	if err != nil || p == 0 {
		return
	}
	hi, lo := bits.Mul64(q, 1000)
	if hi != 0 {
		return // more than any machine has
	}
	g.cpu = least(g.cpu, clamp(lo/p))
}

// limitMemory takes bytes. Version 1 says "no limit" with a number near 2^63,
// which is more than any machine has.
func (g *groups) limitMemory(text string) {
	if n, err := strconv.ParseUint(text, 10, 63); err == nil {
		g.memory = least(g.memory, clamp(n))
	}
}

func least(limit, n int64) int64 {
	if limit < 0 {
		return n
	}
	return min(limit, n)
}
