package loop

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
)

// pooledNode is a node with devices of a model, of a class.
func pooledNode(name, class, model string, cpu int64, devices int32) poise.NodeJoined {
	n := poise.Node{Name: name, Capacity: resource.List{{Name: "cpu", Value: cpu}}, Labels: []poise.Label{{Key: poise.ClassLabel, Value: class}}}
	if devices > 0 {
		n.Devices = poise.Devices{Kind: "gpu", Model: model, Count: devices}
	}
	return poise.NodeJoined{Node: n}
}

// gpus submits a job that asks for whole devices of any of the models.
func (d *driver) gpus(tenant string, devices int32, models ...string) poise.JobID {
	d.jobs++
	id := poise.JobID(fmt.Sprint("j", d.jobs))
	d.apply(poise.JobSubmitted{Job: poise.Job{ID: id, Name: "j", Tenant: poise.TenantID(tenant), Tasks: 1, Request: poise.Request{
		Device: poise.DeviceRequest{Kind: "gpu", Count: devices, Milli: poise.WholeDevice, Models: models},
	}}})
	return id
}

// verdict tells what is decided of a job that waits, or where it runs.
func (d *driver) verdict(id poise.JobID) string {
	d.t.Helper()
	j := d.loop.State().Job(id)
	if t := j.Task(); t != nil {
		row, _ := t.Row(d.loop.State().View())
		return "on " + d.loop.State().View().Name(row)
	}
	decision, err := d.loop.Try(j, d.now, sched.Brief)
	if err != nil {
		d.t.Fatal(err)
	}
	text := decision.Verdict.String()
	if q := decision.Quota; q != nil {
		text += fmt.Sprintf(": %s holds %d+%d of %d %s, %d withheld", q.Tenant, q.Used, q.Ask, q.Limit, q.Resource, q.Withheld)
	}
	return text
}

// A tenant at its limit of a model goes to others; where every node that has room
// is of such a model, it is over quota, and told by how much.
func TestPoolLimits(t *testing.T) {
	for _, lane := range []string{"here", "away"} {
		d := newDriver(t)
		f := func(id poise.JobID, want string) {
			t.Helper()
			d.quiet()
			if got := d.verdict(id); got != want {
				t.Errorf("%s in %s: %s, expected %s", id, lane, got, want)
			}
		}
		d.apply(pooledNode("big", "gpu-g2", "H100", 64, 8))
		d.apply(pooledNode("small", "gpu-t4", "T4", 64, 2))
		d.apply(poise.TenantSet{Tenant: poise.Tenant{ID: poise.TenantID(lane), Quotas: []poise.Quota{{Resource: "gpu/H100", Limit: 4000}, {Resource: "gpu@gpu-t4", Limit: 1000}}}})
		first := d.gpus(lane, 4, "H100")
		f(first, "on big")
		f(d.gpus(lane, 1), "on small")
		over := d.gpus(lane, 1)
		f(over, fmt.Sprintf("over quota: %s holds 4000+1000 of 4000 gpu/H100, 0 withheld", lane))
		f(d.gpus(lane, 3, "T4"), "never fits the present nodes")
		f(d.submit(lane, 1), "on big") // what it does not ask for does not count
		d.apply(poise.JobFinished{Job: first})
		f(over, "on big")
		// Of what others have reserved of a pool nothing is left to borrow.
		d.apply(poise.TenantSet{Tenant: poise.Tenant{ID: poise.TenantID(lane)}})
		d.apply(poise.TenantSet{Tenant: poise.Tenant{ID: "other", Quotas: []poise.Quota{{Resource: "gpu/H100", Guaranteed: 7000, Reserved: 7000}}}})
		f(d.gpus(lane, 1, "H100"), fmt.Sprintf("over quota: %s holds 1000+1000 of 1000 gpu/H100, 7000 withheld", lane))
	}
}

// Whatever happens, no placement takes a tenant beyond its limit of a pool, and at
// rest no job waits that fits where its quotas let it.
func TestPoolQuotas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t)
		d.placing = func(p poise.Placement) {
			j := d.loop.State().Job(p.Job)
			row, _ := d.loop.State().Row(p.Node)
			if b := d.loop.State().PoolBar(d.loop.State().View(), j); b != nil && b.Refuses(row) != 0 {
				t.Fatalf("job %s is placed on %s and over quota: %+v", p.Job, p.Node, b.Miss(row))
			}
		}
		models, classes := []string{"H100", "T4"}, []string{"big", "small"}
		for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
			d.apply(pooledNode(fmt.Sprint("n", i), rapid.SampledFrom(classes).Draw(t, "class"), rapid.SampledFrom(models).Draw(t, "model"), 8, 4))
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			tenant := rapid.SampledFrom([]string{"here", "away"}).Draw(t, "tenant")
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				set := poise.Tenant{ID: poise.TenantID(tenant)}
				for _, name := range []string{"gpu/H100", "gpu/T4", "gpu@big", "cpu@small"} {
					if rapid.Bool().Draw(t, name) {
						q := poise.Quota{Resource: name, Guaranteed: rapid.Int64Range(0, 8).Draw(t, "guaranteed") * 500}
						q.Reserved = rapid.SampledFrom([]int64{0, q.Guaranteed}).Draw(t, "reserved")
						q.Limit = max(q.Guaranteed, rapid.Int64Range(0, 8).Draw(t, "limit")*500)
						set.Quotas = append(set.Quotas, q)
					}
				}
				d.apply(poise.TenantSet{Tenant: set})
			case 1:
				id := poise.JobID(fmt.Sprint("j", rapid.IntRange(1, max(d.jobs, 1)).Draw(t, "job")))
				if j := d.loop.State().Job(id); j != nil && !j.Waiting() {
					d.apply(poise.JobFinished{Job: id})
				}
			case 2:
				d.land()
			case 3:
				d.gpus(tenant, int32(rapid.IntRange(1, 4).Draw(t, "devices")), rapid.SampledFrom([][]string{nil, {"H100"}, {"T4"}}).Draw(t, "models")...)
			case 4:
				d.submit(tenant, rapid.Int64Range(1, 6).Draw(t, "cpu"))
			default:
				d.next()
			}
		}
		d.quiet()
		for _, j := range d.loop.State().Waiting() {
			decision, err := d.loop.Try(j, d.now, sched.Brief)
			if err != nil || decision.Verdict == poise.Placed {
				t.Fatalf("job %s waits, is within its quotas and fits on %s (%v)", j.ID, decision.Node, err)
			}
		}
	})
}
