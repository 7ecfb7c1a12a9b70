package state

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// pooled is a node of a class with cpu and devices.
func pooled(name, class, model string, devices int32) poise.Node {
	n := poise.Node{Name: name, Capacity: amounts("cpu", 8)}
	if class != "" {
		n.Labels = []poise.Label{{Key: poise.ClassLabel, Value: class}}
	}
	if devices > 0 {
		n.Devices = poise.Devices{Kind: "gpu", Model: model, Count: devices}
	}
	return n
}

// task makes a job of cpu and whole devices, and places it.
func (d *driver) task(t fataler, id string, tenant poise.TenantID, node string, cpu int, devices ...uint16) {
	t.Helper()
	j := poise.Job{ID: poise.JobID(id), Name: id, Tenant: tenant, Tasks: 1}
	if cpu > 0 {
		j.Request.Amounts = amounts("cpu", cpu)
	}
	if len(devices) > 0 {
		j.Request.Device = poise.DeviceRequest{Kind: "gpu", Count: int32(len(devices)), Milli: poise.WholeDevice}
	}
	d.do(t, poise.JobSubmitted{Job: j}, poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: node, Devices: devices}})
}

func TestPools(t *testing.T) {
	d := newDriver(t, 0)
	f := func(tenant poise.TenantID, name string, used, total int64) {
		t.Helper()
		if u, all := d.Used(tenant, name), d.Total(name); u != used || all != total {
			t.Errorf("%s holds %d of %d %s, expected %d of %d", tenant, u, all, name, used, total)
		}
	}
	d.do(t, poise.NodeJoined{Node: pooled("a", "big", "H100", 4)}, poise.NodeJoined{Node: pooled("b", "small", "T4", 2)},
		poise.NodeJoined{Node: pooled("c", "", "", 0)})
	d.task(t, "1", "u", "a", 2, 0, 1)
	f("u", "gpu/H100", 0, 0) // no quota asks for it
	quotas := []poise.Quota{{Resource: "gpu/H100", Limit: 4000}, {Resource: "cpu@big", Limit: 8}, {Resource: "gpu@small", Limit: 8000}}
	d.do(t, poise.TenantSet{Tenant: poise.Tenant{ID: "org", Quotas: quotas}}, poise.TenantSet{Tenant: poise.Tenant{ID: "u", Parent: "org"}})
	f("u", "gpu/H100", 2000, 4000)
	f("org", "gpu/H100", 2000, 4000)
	f("org", "cpu@big", 2, 8)
	f("org", "gpu@small", 0, 2000)
	f("org", "gpu/T4", 0, 0)
	d.task(t, "2", "u", "b", 1, 1)
	d.task(t, "3", "u", "c", 1)
	f("org", "gpu@small", 1000, 2000)
	f("org", "gpu", 3000, 6000)
	f("org", "cpu", 4, 24)

	// A task is charged to the pool that it was placed in, whatever becomes of the
	// node.
	d.do(t, poise.NodeChanged{Node: pooled("a", "small", "A100", 4)})
	f("org", "gpu/H100", 2000, 0)
	f("org", "gpu@small", 1000, 6000)
	d.State = writtenDown(t, d.State, 0)
	f("org", "gpu/H100", 2000, 0)
	f("org", "gpu@small", 1000, 6000)
	d.do(t, poise.JobRequeued{Job: "1"}, poise.JobPlaced{Placement: poise.Placement{Job: "1", Node: "a", Devices: []uint16{0, 1}}})
	f("org", "gpu/H100", 0, 0)
	f("org", "gpu@small", 3000, 6000)
	d.do(t, poise.NodeLeft{Name: "a"})
	f("org", "gpu@small", 1000, 2000)
	d.do(t, poise.TenantSet{Tenant: poise.Tenant{ID: "org"}})
	f("org", "gpu@small", 0, 0)
}

// What an earlier version kept of a task says nothing of its pool: it is that of
// its node.
func TestPoolOfOldTask(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, poise.TenantSet{Tenant: poise.Tenant{ID: "u", Quotas: []poise.Quota{{Resource: "gpu/H100"}}}}, poise.NodeJoined{Node: pooled("a", "big", "H100", 4)})
	d.task(t, "1", "u", "a", 0, 0, 1)
	im := d.Image()
	im.Jobs[0].Task.Pool = nil
	s, err := FromImage(im, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Used("u", "gpu/H100"); got != 2000 {
		t.Errorf("%d, expected 2000", got)
	}
}

func TestPoolBar(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, poise.NodeJoined{Node: pooled("big1", "big", "H100", 4)}, poise.NodeJoined{Node: pooled("big2", "big", "H100", 4)},
		poise.NodeJoined{Node: pooled("small", "small", "T4", 4)}, poise.NodeJoined{Node: pooled("plain", "", "", 0)})
	n := 0
	f := func(want string, cpu int, devices int32, models ...string) {
		t.Helper()
		n++
		j := poise.Job{ID: poise.JobID(fmt.Sprint("w", n)), Name: "w", Tenant: "u", Tasks: 1, Request: poise.Request{Amounts: amounts("cpu", cpu)}}
		if devices > 0 {
			j.Request.Device = poise.DeviceRequest{Kind: "gpu", Count: devices, Milli: poise.WholeDevice, Models: models}
		}
		draft, err := d.Draft(&j, d.now)
		if err != nil {
			t.Fatal(err)
		}
		bar := d.PoolBar(d.View(), draft)
		var got []string
		for _, name := range []string{"big1", "small", "plain"} {
			if bar == nil || bar.Refuses(d.row(t, name)) == 0 {
				continue
			}
			m := bar.Miss(d.row(t, name))
			got = append(got, fmt.Sprintf("%s: %s holds %d+%d of %d %s", name, m.Tenant, m.Used, m.Ask, m.Limit, m.Resource))
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("cpu %d, %d gpu %v: %q, expected %q", cpu, devices, models, text, want)
		}
	}
	f("", 1, 1)
	d.do(t, poise.TenantSet{Tenant: poise.Tenant{ID: "org", Quotas: []poise.Quota{{Resource: "gpu/H100", Limit: 3000}}}},
		poise.TenantSet{Tenant: poise.Tenant{ID: "u", Parent: "org", Quotas: []poise.Quota{{Resource: "cpu@small", Limit: 2}, {Resource: "gpu@big", Limit: 7000}}}})
	f("", 1, 1)
	f("big1: org holds 0+4000 of 3000 gpu/H100", 1, 4)
	f("small: u holds 0+3 of 2 cpu@small", 3, 0)
	d.task(t, "1", "u", "big1", 2, 0, 1, 2)
	f("big1: org holds 3000+1000 of 3000 gpu/H100", 1, 1)
	f("", 1, 0) // what is not asked for does not count
	d.do(t, poise.TenantSet{Tenant: poise.Tenant{ID: "org"}})
	f("", 1, 4)
	f("big1: u holds 3000+5000 of 7000 gpu@big", 1, 5)
	// What others have reserved of a pool is withheld.
	d.do(t, poise.TenantSet{Tenant: poise.Tenant{ID: "other", Quotas: []poise.Quota{{Resource: "gpu/T4", Guaranteed: 3000, Reserved: 3000}}}})
	f("", 1, 1)
	f("small: org holds 0+2000 of 1000 gpu/T4", 1, 2)
}

// Whatever happens, what is counted is the sum of what is there.
func TestPoolsAddUp(t *testing.T) {
	names := []string{"gpu/H100", "gpu/T4", "gpu@big", "gpu@small", "cpu@big", "cpu@small"}
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t, 0)
		one := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
		node := func() poise.Node {
			return pooled(one("node", "a", "b", "c"), one("class", "", "big", "small"), one("model", "", "H100", "T4"), int32(rapid.IntRange(0, 3).Draw(t, "devices")))
		}
		placed := map[poise.JobID]pool{}
		job := func() poise.JobID { return poise.JobID(one("job", "1", "2", "3", "4")) }
		t.Repeat(map[string]func(*rapid.T){
			"tenant": func(*rapid.T) {
				set := poise.Tenant{ID: poise.TenantID(one("tenant", "t", "u", "org"))}
				for _, name := range names {
					if rapid.Bool().Draw(t, name) {
						set.Quotas = append(set.Quotas, poise.Quota{Resource: name, Limit: 1})
					}
				}
				if set.ID != "org" && d.policies.Tenant("org") != nil && rapid.Bool().Draw(t, "nested") {
					set.Parent = "org"
				}
				_ = d.try(poise.TenantSet{Tenant: set})
			},
			"join":   func(*rapid.T) { _ = d.try(poise.NodeJoined{Node: node()}) },
			"change": func(*rapid.T) { _ = d.try(poise.NodeChanged{Node: node()}) },
			"leave":  func(*rapid.T) { _ = d.try(poise.NodeLeft{Name: one("node", "a", "b", "c")}) },
			"classes": func(*rapid.T) {
				_ = d.try(poise.ModelBuilt{Model: record(1), Labels: []poise.NodeLabels{{
					Node: one("node", "a", "b", "c"), Labels: []poise.Label{{Key: poise.ClassLabel, Value: one("class", "big", "small")}},
				}}})
			},
			"submit": func(*rapid.T) {
				j := poise.Job{ID: job(), Name: "j", Tenant: poise.TenantID(one("tenant", "t", "u", "org")), Tasks: 1}
				j.Request.Amounts = amounts("cpu", rapid.IntRange(1, 3).Draw(t, "cpu"))
				if rapid.Bool().Draw(t, "gpu") {
					j.Request.Device = poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 500}
				}
				_ = d.try(poise.JobSubmitted{Job: j})
			},
			"place": func(*rapid.T) {
				p := poise.Placement{Job: job(), Node: one("node", "a", "b", "c")}
				if j := d.Job(p.Job); j != nil && j.Shape.Request.Device.Count > 0 {
					p.Devices = []uint16{0}
				}
				if d.try(poise.JobPlaced{Placement: p}) == nil {
					placed[p.Job] = d.View().pool(d.row(t, p.Node))
				}
			},
			"finish":  func(*rapid.T) { _ = d.try(poise.JobFinished{Job: job()}) },
			"requeue": func(*rapid.T) { _ = d.try(poise.JobRequeued{Job: job()}) },
			"restart": func(*rapid.T) { d.State = writtenDown(t, d.State, 0) },
			"": func(t *rapid.T) {
				for _, name := range names {
					total, used := int64(0), map[poise.TenantID]int64{}
					for row := range uint32(d.live.rows) {
						if d.live.Present(row) {
							total += d.live.pool(row).has(name, d.live.Capacity(row, 0), int64(d.live.Devices(row))*poise.WholeDevice)
						}
					}
					for _, j := range d.All() {
						if j.task == nil || !d.live.Present(j.task.row) || d.live.Incarnation(j.task.row) != j.task.incarnation {
							continue
						}
						cpu, _ := j.Shape.Request.Amounts.Find("cpu")
						for id := j.Tenant; id != ""; {
							used[id] += placed[j.ID].has(name, cpu, j.Shape.Request.Device.Total())
							if k := d.policies.Tenant(id); k != nil {
								id = k.Parent
							} else {
								id = ""
							}
						}
					}
					known := false
					for _, k := range d.policies.Tenants() {
						known = known || k.Quota(name) != nil
					}
					if !known {
						continue
					}
					if got := d.Total(name); got != total {
						t.Fatalf("total of %s: %d, expected %d", name, got, total)
					}
					for _, id := range []poise.TenantID{"t", "u", "org"} {
						if got := d.Used(id, name); got != used[id] {
							t.Fatalf("%s holds %d of %s, expected %d", id, got, name, used[id])
						}
					}
				}
			},
		})
	})
}

// has is what of a node's or a task's cpu and devices a name of a pool covers.
func (p pool) has(name string, cpu, devices int64) int64 {
	switch name {
	case "gpu/" + p.model, "gpu@" + p.class:
		return devices
	case "cpu@" + p.class:
		return cpu
	}
	return 0
}

func TestWarningsOfPools(t *testing.T) {
	d := newDriver(t, 0)
	f := func(want ...string) {
		t.Helper()
		if got := d.QuotaWarnings(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%q, expected %q", got, want)
		}
	}
	d.do(t, poise.NodeJoined{Node: pooled("a", "big", "H100", 4)})
	d.task(t, "1", "u", "a", 1, 0, 1)
	d.do(t, poise.TenantSet{Tenant: poise.Tenant{ID: "u", Quotas: []poise.Quota{{Resource: "gpu/H100", Guaranteed: 3000}, {Resource: "gpu@big", Limit: 2000}}}})
	f()
	d.do(t, poise.TenantSet{Tenant: poise.Tenant{ID: "v", Quotas: []poise.Quota{{Resource: "gpu/H100", Guaranteed: 2000}, {Resource: "gpu/H1OO", Limit: 1}}}})
	f("gpu/H100: 5 are guaranteed, the fleet has 4: not all guarantees can hold at once",
		"gpu/H1OO: no node has it, expected a device model or a class of the fleet")
	d.do(t, poise.TenantSet{Tenant: poise.Tenant{ID: "v"}}, poise.TenantSet{Tenant: poise.Tenant{ID: "u", Quotas: []poise.Quota{{Resource: "gpu@big", Limit: 1000}}}})
	f(`tenant "u" holds 2 of gpu@big, more than its limit of 1: nothing is stopped, nothing more is placed`)
}
