package state

import (
	"math"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"pgregory.net/rapid"
)

// adopt makes a job known that waits or runs, whatever room there is.
func (m *model) adopt(b *poise.JobAdopted, at poise.Time) (kind poise.Kind, ok bool) {
	n := m.nodes[b.Node]
	switch {
	case b.Failures < 0 || b.Job.Validate() != nil:
		return poise.Invalid, false
	case b.Node == "":
	case n == nil:
		return poise.NotFound, false
	case b.Job.Held != "" || len(b.Job.After) > 0:
		return poise.Conflict, false
	}
	if n != nil {
		for _, a := range b.Job.Request.Amounts {
			if a.Value > 0 && (!m.declared(a.Name) || m.allocated(n, a.Name) > math.MaxInt64-a.Value) {
				return poise.Conflict, false
			}
		}
	}
	if kind, ok := m.submit(&b.Job); !ok {
		return kind, false
	}
	j := m.jobs[b.Job.ID]
	j.failures = b.Failures
	if g := m.gangOf(j); g != nil && (b.Started || n != nil) {
		g.started = true
	}
	if n != nil {
		var devices []uint16
		if j.Request.Device.Kind == n.Devices.Kind {
			devices = m.devices(j, n)
		}
		m.run(j, n, devices, at)
		m.begins(j)
	}
	return 0, true
}

func (c *machine) declared(resource string) bool {
	_, known := c.dims.Index(resource)
	return known
}

func (c *machine) adoptJob(t *rapid.T) {
	b := poise.JobAdopted{
		Job: c.someJob(t), Since: poise.Time(rapid.IntRange(0, 9).Draw(t, "since")), Failures: rapid.Int32Range(-1, 2).Draw(t, "failures"),
		Started: rapid.Bool().Draw(t, "started"),
	}
	if !rarely(t, "held all the same", 8) {
		b.Job.Held, b.Job.After = "", nil
	}
	if rapid.Bool().Draw(t, "runs") {
		b.Node = c.nodeName(t)
	}
	c.apply(t, b)
}

// Jobs that an earlier history had hold what they hold, also beyond what their node
// has, and keep their age.
func TestAdopt(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, poise.NodeJoined{Node: poise.Node{Name: "a", Capacity: amounts("cpu", 4)}})
	d.now = 9
	held := job("held", poise.Request{Amounts: amounts("cpu", 1)})
	held.Held = "bob"
	d.do(t,
		poise.JobAdopted{Job: job("runs", poise.Request{Amounts: amounts("cpu", 3)}), Since: 5, Node: "a"},
		poise.JobAdopted{Job: job("too", poise.Request{Amounts: amounts("cpu", 3)}), Since: 99, Node: "a"},
		poise.JobAdopted{Job: held, Since: 2, Failures: 3},
	)
	s := d.View()
	row, _ := d.Row("a")
	if s.Allocated(row, 0) != 6 || s.Idle(row, 0) > 0 || d.Job("runs").Submitted != 5 || d.Job("too").Submitted != 11 || d.Job("held").Failures != 3 {
		t.Errorf("allocated %d idle %d, submitted %d and %d, failures %d", s.Allocated(row, 0), s.Idle(row, 0), d.Job("runs").Submitted, d.Job("too").Submitted, d.Job("held").Failures)
	}
	d.refused(t, `adopt job "x": node "b": no such node`, poise.JobAdopted{Job: job("x", poise.Request{}), Node: "b"})
	d.refused(t, `adopt job "x": it is held or comes after another job, expected one that may run`, poise.JobAdopted{Job: func() poise.Job { j := held; j.ID = "x"; return j }(), Node: "a"})
	d.refused(t, `adopt job "x": qat: of no node, expected a resource that one declares`,
		poise.JobAdopted{Job: job("x", poise.Request{Amounts: resource.List{{Name: "qat", Value: 1}}}), Node: "a"})
	d.refused(t, `adopt job "x": cpu: request 9223372036854775.807 beside what the node holds, expected a sum below 2^63`, poise.JobAdopted{Job: job("x", poise.Request{Amounts: amounts("cpu", math.MaxInt64)}), Node: "a"})
}
