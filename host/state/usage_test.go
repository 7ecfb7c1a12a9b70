package state

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

func clamped(b *big.Int) int64 {
	switch {
	case b.IsInt64():
		return b.Int64()
	case b.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

func TestSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s sum
		want := new(big.Int)
		for _, v := range rapid.SliceOf(rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, -1, 0, 1}))).Draw(t, "amounts") {
			s.add(v)
			want.Add(want, big.NewInt(v))
			f, _ := new(big.Float).SetInt(want).Float64()
			if s.amount() != clamped(want) || math.Abs(s.float()-f) > 1e-15*math.Abs(f)+1e-15*0x1p64 {
				t.Fatalf("%d, %v, expected %v", s.amount(), s.float(), want)
			}
		}
	})
}

// checkUsage adds up what the model's nodes have and what its tenants hold
// (invariant 1 of the field cases: per tenant and dimension too).
func (c *machine) checkUsage(t *rapid.T) {
	total, used := map[string]*big.Int{}, map[string]*big.Int{}
	add := func(m map[string]*big.Int, key string, v int64) {
		if m[key] == nil {
			m[key] = new(big.Int)
		}
		m[key].Add(m[key], big.NewInt(v))
	}
	for _, n := range c.m.nodes {
		for _, a := range n.Capacity {
			add(total, a.Name, a.Value)
		}
		add(total, n.Devices.Kind, int64(n.Devices.Count)*poise.WholeDevice)
	}
	for _, j := range c.m.jobs {
		if !c.m.stays(j) {
			continue
		}
		for _, tenant := range someTenants {
			if !c.m.under(j.Tenant, tenant) {
				continue
			}
			for _, a := range j.Request.Amounts {
				add(used, string(tenant)+" "+a.Name, a.Value)
			}
			add(used, string(tenant)+" "+j.Request.Device.Kind, j.Request.Device.Total())
		}
	}
	for _, name := range []string{"cpu", "memory", "storage", "fpga", "gpu", "npu"} {
		want := int64(0)
		if b := total[name]; b != nil {
			want = clamped(b)
		}
		if got := c.Total(name); got != want {
			t.Fatalf("total of %s: %d, expected %d", name, got, want)
		}
		for _, tenant := range someTenants {
			want = 0
			if b := used[string(tenant)+" "+name]; b != nil {
				want = clamped(b)
			}
			if got := c.Used(tenant, name); got != want {
				t.Fatalf("tenant %s holds %d of %s, expected %d", tenant, got, name, want)
			}
		}
	}
}

// The parent of a tenant holds what the tenant does, however they came about.
func TestUsageOfParents(t *testing.T) {
	d := newDriver(t, 0)
	do := func(body poise.Body) {
		t.Helper()
		if err := d.Apply(poise.Event{Index: d.Index() + 1, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	f := func(tenant poise.TenantID, used int64, share float64, of string) {
		t.Helper()
		got, resource := d.Share(tenant)
		if d.Used(tenant, "cpu") != used || got != share || resource != of {
			t.Errorf("%s holds %d, share %v of %q, expected %d, %v of %q", tenant, d.Used(tenant, "cpu"), got, resource, used, share, of)
		}
	}
	job := func(id string, tenant poise.TenantID, cpu int64) {
		t.Helper()
		do(poise.JobSubmitted{Job: poise.Job{ID: poise.JobID(id), Name: id, Tenant: tenant, Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: cpu}}}}})
		do(poise.JobPlaced{Placement: poise.Placement{Job: poise.JobID(id), Node: "n"}})
	}
	do(poise.NodeJoined{Node: poise.Node{Name: "n", Capacity: resource.List{{Name: "cpu", Value: 16}}}})
	do(poise.TenantSet{Tenant: poise.Tenant{ID: "org"}})
	do(poise.TenantSet{Tenant: poise.Tenant{ID: "a", Parent: "org"}})
	job("1", "a", 2)
	job("2", "b", 4)
	f("org", 2, 0.125, "cpu")
	f("b", 4, 0.25, "cpu")
	do(poise.TenantSet{Tenant: poise.Tenant{ID: "b", Parent: "a", Weight: 2}})
	f("org", 6, 0.375, "cpu")
	f("a", 6, 0.375, "cpu")
	d.State = writtenDown(t, d.State, 0)
	f("org", 6, 0.375, "cpu")
	do(poise.NodeLeft{Name: "n"})
	f("org", 0, 0, "")
	do(poise.JobFinished{Job: "1"})
	f("a", 0, 0, "")

	for _, bad := range []poise.Tenant{{ID: "org", Parent: "b"}, {ID: "x", Parent: "nobody"}, {ID: "a", Weight: -1}, {ID: "a", Weight: math.NaN()}} {
		if err := d.Apply(poise.Event{Index: d.Index() + 1, Body: poise.TenantSet{Tenant: bad}}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
