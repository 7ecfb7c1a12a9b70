package state

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// driver applies events to a state and numbers them.
type driver struct {
	*State
	now poise.Time
	log []poise.Event // those that applied
}

// fataler is a test, a benchmark or a property.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newDriver(t fataler, halfLife float64) *driver {
	t.Helper()
	s, err := New(Settings{DemandHalfLife: halfLife})
	if err != nil {
		t.Fatal(err)
	}
	return &driver{State: s}
}

// try applies an event, a millisecond after the one before.
func (d *driver) try(body poise.Body) error {
	ev := poise.Event{Index: d.Index() + 1, At: d.now + 1, Body: body}
	err := d.Apply(ev)
	if err == nil {
		d.now++
		d.log = append(d.log, ev)
	}
	return err
}

// do applies events that must apply.
func (d *driver) do(t fataler, bodies ...poise.Body) {
	t.Helper()
	for _, body := range bodies {
		if err := d.try(body); err != nil {
			t.Fatal(err)
		}
	}
}

// refused checks that an event is refused with this text and changes nothing.
func (d *driver) refused(t fataler, want string, body poise.Body) {
	t.Helper()
	before := dumpState(d.State)
	err := d.try(body)
	if err == nil || err.Error() != want {
		t.Fatalf("%T: %v, expected %s", body, err, want)
	}
	if after := dumpState(d.State); after != before {
		t.Fatalf("%T was refused and changed the state from\n%s\nto\n%s", body, before, after)
	}
}

// row gives the row of a node that must be there.
func (d *driver) row(t fataler, node string) uint32 {
	t.Helper()
	row, ok := d.Row(node)
	if !ok {
		t.Fatalf("node %s is not there", node)
	}
	return row
}

// amounts makes a list from names and values by turns.
func amounts(pairs ...any) resource.List {
	var l resource.List
	for i := 0; i < len(pairs); i += 2 {
		l = append(l, resource.Amount{Name: pairs[i].(string), Value: int64(pairs[i+1].(int))})
	}
	return l
}

func job(id string, r poise.Request) poise.Job {
	return poise.Job{ID: poise.JobID(id), Name: id, Tenant: "t", Tasks: 1, Request: r}
}

// submitted and placed shorten the most frequent events.
func submitted(id string, r poise.Request) poise.Body {
	return poise.JobSubmitted{Job: job(id, r)}
}

func placed(id, node string, devices ...uint16) poise.Body {
	return poise.JobPlaced{Placement: poise.Placement{Job: poise.JobID(id), Node: node, Devices: devices}}
}
