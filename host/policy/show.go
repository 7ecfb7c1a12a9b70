package policy

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Show implements sched.Shower: what the plugin sees of a row in this pass, column
// by column, then the counts of the row's domains.
func (g *Guest) Show(row uint32) []poise.Reading {
	m := g.mirror
	all := make([]poise.Reading, 0, len(m.columns))
	for i, c := range m.columns {
		name := "label " + c.Name
		if i < len(m.manifest.Columns) {
			name = m.manifest.Columns[i]
		}
		all = append(all, poise.Reading{Name: name, Text: g.showColumn(i, row)})
	}
	for i := range m.domains {
		all = append(all, g.showDomain(&m.domains[i], m.seen[row].domain[i])...)
	}
	return all
}

// showColumn gives the row's element of column i as a person reads it.
func (g *Guest) showColumn(i int, row uint32) string {
	m := g.mirror
	c, b := m.columns[i], m.element(row, i)
	switch c.Kind {
	case abi.Capacity:
		return resource.Format(c.Name, m.seen[row].capacity[m.dim[i]])
	case abi.Allocated:
		_, allocated := m.amounts(g.pass.snap, row, m.dim[i])
		return resource.Format(c.Name, allocated)
	case abi.Class, abi.Label, abi.DeviceModel:
		return g.symbolText(binary.LittleEndian.Uint32(b))
	case abi.Devices:
		free := make([]string, min(g.pass.snap.Devices(row), len(b)/2))
		for d := range free {
			free[d] = strconv.Itoa(int(binary.LittleEndian.Uint16(b[2*d:])))
		}
		return strings.Join(free, ",")
	case abi.RunningTasks:
		return strconv.FormatUint(uint64(binary.LittleEndian.Uint32(b)), 10)
	case abi.TenantTasks, abi.JobTasks:
		return strconv.FormatUint(uint64(g.tasks(row, c.Kind)), 10)
	case abi.Age:
		return strconv.FormatInt(max(int64(g.pass.snap.At()-g.pass.snap.Joined(row)), 0), 10) + "ms"
	}
	return "0b" + strconv.FormatUint(g.bits(row, c.Kind), 2) // taints, selectors
}

// showDomain gives the counts of a domain's value, absent where the row has no
// such label.
func (g *Guest) showDomain(c *domainCounts, value uint32) []poise.Reading {
	prefix := "domain " + c.key
	all := []poise.Reading{{Name: prefix, Text: g.symbolText(value)}}
	v := c.values[value]
	add := func(name string, text func() string) {
		r := poise.Reading{Name: prefix + " " + name}
		if v != nil {
			r.Text = text()
		}
		all = append(all, r)
	}
	add("nodes", func() string { return strconv.Itoa(v.nodes) })
	add("tenant_tasks", func() string { return strconv.Itoa(v.tasks[g.pass.job.Tenant]) })
	for d, dim := range g.mirror.dims {
		add("capacity:"+dim, func() string { return showSum(dim, v.capacity[d]) })
		add("allocated:"+dim, func() string { return showSum(dim, v.allocated[d]) })
	}
	return all
}

// showSum gives a sum as amounts are written, one too large for them as a number.
func showSum(dim string, s sum) string {
	if s.hi != 0 || s.lo > math.MaxInt64 {
		return strconv.FormatFloat(s.double(), 'g', -1, 64)
	}
	return resource.Format(dim, int64(s.lo))
}

// symbolText gives the text of a symbol, "" for none.
func (g *Guest) symbolText(id uint32) string {
	symbols := g.pass.snap.Symbols()
	if int(id) >= len(symbols) {
		return ""
	}
	return symbols[id]
}
