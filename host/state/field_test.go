package state

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// onNode is what a node has of a dimension.
func (d *driver) onNode(t fataler, node, dim string) (capacity, allocated, idle int64) {
	t.Helper()
	s, row := d.View(), d.row(t, node)
	i := slices.Index(s.Dims(), dim)
	return s.Capacity(row, i), s.Allocated(row, i), s.Idle(row, i)
}

func (d *driver) wantOnNode(t fataler, node, dim string, capacity, allocated, idle int64) {
	t.Helper()
	if c, a, i := d.onNode(t, node, dim); c != capacity || a != allocated || i != idle {
		t.Fatalf("%s of %s: %d, allocated %d, idle %d; expected %d, %d, %d", dim, node, c, a, i, capacity, allocated, idle)
	}
}

func gpuNode(name string, cpu int, gpus int32) poise.Node {
	n := poise.Node{Name: name, Capacity: amounts("cpu", cpu, "memory", 1<<30)}
	if gpus > 0 {
		n.Devices = poise.Devices{Kind: "gpu", Count: gpus}
	}
	return n
}

// Nine jobs of a ninth of a device fit on it, and nothing of 1e5 random
// placements and ends stays behind.
func TestB4AccountingReturnsToZero(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, poise.NodeJoined{Node: gpuNode("a", 64_000, 4)})
	ninth := poise.Request{Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 111}}
	for i := range 9 {
		d.do(t, submitted(fmt.Sprint("ninth", i), ninth), placed(fmt.Sprint("ninth", i), "a", 0))
	}
	d.do(t, submitted("tenth", ninth))
	d.refused(t, `place job "tenth" on node "a": device 0: fewer than 111 milli free`, placed("tenth", "a", 0))
	for i := range 9 {
		d.do(t, poise.JobFinished{Job: poise.JobID(fmt.Sprint("ninth", i))})
	}
	d.do(t, poise.JobWithdrawn{Job: "tenth"})

	rng := rand.New(rand.NewSource(4))
	var running []poise.JobID
	end := func() {
		i := rng.Intn(len(running))
		body := poise.Body(poise.JobFinished{Job: running[i]})
		if rng.Intn(4) == 0 {
			d.do(t, poise.JobRequeued{Job: running[i]})
			body = poise.JobWithdrawn{Job: running[i]}
		}
		d.do(t, body)
		running = slices.Delete(running, i, i+1)
	}
	full := 0
	for i := range 100_000 {
		r := poise.Request{Amounts: amounts("cpu", rng.Intn(1000), "memory", rng.Intn(1<<24))}
		var devices []uint16
		if rng.Intn(2) == 0 {
			r.Device = poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: int32(1 + rng.Intn(300))}
			devices = []uint16{uint16(rng.Intn(4))}
		}
		id := poise.JobID(fmt.Sprint("j", i))
		d.do(t, submitted(string(id), r))
		for d.try(placed(string(id), "a", devices...)) != nil {
			full++
			end()
		}
		running = append(running, id)
		if len(running) > 60 {
			end()
		}
		d.log = d.log[:0]
	}
	if full < 100 {
		t.Errorf("the node was full %d times, expected more: the case is too easy", full)
	}
	for len(running) > 0 {
		end()
	}
	d.wantOnNode(t, "a", "cpu", 64_000, 0, 64_000)
	d.wantOnNode(t, "a", "memory", 1<<30, 0, 1<<30)
	s, row := d.View(), d.row(t, "a")
	if free := s.Free(row); !slices.Equal(free, []uint16{1000, 1000, 1000, 1000}) || s.Running(row) != 0 || s.Tasks(row) != nil || d.Shapes() != 0 {
		t.Errorf("free %v, %d running, %d shapes; expected all free", free, s.Running(row), d.Shapes())
	}
}

// A node shrinks below what runs on it: nothing is idle, nothing new is
// placed, what runs is not touched, and it can grow again or leave.
func TestB7CapacityBelowUse(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t,
		poise.NodeJoined{Node: gpuNode("a", 8000, 2)},
		submitted("big", poise.Request{Amounts: amounts("cpu", 6000), Device: poise.DeviceRequest{Kind: "gpu", Count: 2, Milli: 1000}}),
		placed("big", "a", 0, 1),
		submitted("one", poise.Request{Amounts: amounts("cpu", 1)}),
		submitted("share", poise.Request{Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 1}}),
		submitted("none", poise.Request{}),
		poise.NodeChanged{Node: gpuNode("a", 4000, 1)},
	)
	d.wantOnNode(t, "a", "cpu", 4000, 6000, 0)
	d.refused(t, `place job "one" on node "a": cpu: request 1m, idle 0`, placed("one", "a"))
	d.refused(t, `place job "share" on node "a": device 0: fewer than 1 milli free`, placed("share", "a", 0))
	d.refused(t, `place job "share" on node "a": device 1: fewer than 1 milli free`, placed("share", "a", 1))
	d.do(t, placed("none", "a")) // asks for nothing, so nothing is short
	s, row := d.View(), d.row(t, "a")
	if task := d.Job("big").Task(); task == nil || !slices.Equal(task.Devices, []uint16{0, 1}) || s.Running(row) != 2 || !slices.Equal(s.Free(row), []uint16{0}) {
		t.Fatalf("the running job holds %+v, free %v", task, s.Free(row))
	}

	// It drops the dimension and all devices, then has more than before.
	d.do(t, poise.NodeChanged{Node: poise.Node{Name: "a"}})
	d.wantOnNode(t, "a", "cpu", 0, 6000, 0)
	d.do(t, poise.NodeChanged{Node: gpuNode("a", 9000, 3)})
	d.wantOnNode(t, "a", "cpu", 9000, 6000, 3000)
	if s := d.View(); !slices.Equal(s.Free(row), []uint16{0, 0, 1000}) {
		t.Errorf("free %v after growing, expected the held devices to be held still", s.Free(row))
	}

	d.do(t, poise.NodeLeft{Name: "a"})
	if d.Job("big").Waiting() || d.Job("none").Waiting() {
		t.Error("jobs of a node that left wait, expected them to be on record until they are requeued")
	}
	// The same name is another machine: what ran on the first holds nothing of it.
	d.do(t, poise.NodeJoined{Node: gpuNode("a", 8000, 2)})
	d.wantOnNode(t, "a", "cpu", 8000, 0, 8000)
	d.do(t, poise.JobRequeued{Job: "big"}, poise.JobFinished{Job: "none"})
	d.wantOnNode(t, "a", "cpu", 8000, 0, 8000)
	d.do(t, placed("big", "a", 0, 1))
	d.wantOnNode(t, "a", "cpu", 8000, 6000, 2000)
}

// An oversubscribed node that gets its tasks back one by one is idle again
// only when they hold less than it has.
func TestB7IdleComesBackWithTheTasksThatEnd(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, poise.NodeJoined{Node: gpuNode("a", 4000, 0)})
	for i := range 4 {
		d.do(t, submitted(fmt.Sprint("j", i), poise.Request{Amounts: amounts("cpu", 1000)}), placed(fmt.Sprint("j", i), "a"))
	}
	d.do(t, poise.NodeChanged{Node: gpuNode("a", 2000, 0)})
	for i, idle := range []int64{0, 0, 1000, 2000} {
		d.do(t, poise.JobFinished{Job: poise.JobID(fmt.Sprint("j", i))})
		d.wantOnNode(t, "a", "cpu", 2000, int64(3-i)*1000, idle)
	}
}

// The largest amounts neither wrap nor lose a unit.
func TestB9ExtremeAmounts(t *testing.T) {
	d := newDriver(t, 0)
	n := gpuNode("a", math.MaxInt64, 0)
	n.Capacity[1].Value = math.MaxInt64
	d.do(t, poise.NodeJoined{Node: n}, submitted("most", poise.Request{Amounts: amounts("cpu", math.MaxInt64-1, "memory", math.MaxInt64)}), placed("most", "a"))
	d.wantOnNode(t, "a", "cpu", math.MaxInt64, math.MaxInt64-1, 1)
	d.wantOnNode(t, "a", "memory", math.MaxInt64, math.MaxInt64, 0)
	d.do(t, submitted("two", poise.Request{Amounts: amounts("cpu", 2)}), submitted("one", poise.Request{Amounts: amounts("cpu", 1)}))
	d.refused(t, `place job "two" on node "a": cpu: request 2m, idle 1m`, placed("two", "a"))
	d.do(t, placed("one", "a"))
	d.wantOnNode(t, "a", "cpu", math.MaxInt64, math.MaxInt64, 0)
	d.do(t, poise.NodeChanged{Node: gpuNode("a", 0, 0)})
	d.wantOnNode(t, "a", "cpu", 0, math.MaxInt64, 0)
	d.do(t, poise.JobFinished{Job: "most"}, poise.JobFinished{Job: "one"})
	d.wantOnNode(t, "a", "cpu", 0, 0, 0)
}

// A dimension that a node does not declare is 0, not without limit.
func TestB12UndeclaredIsNothing(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t,
		poise.NodeJoined{Node: gpuNode("a", 8000, 0)},
		submitted("fpga", poise.Request{Amounts: amounts("fpga", 1)}),
		submitted("zero", poise.Request{Amounts: amounts("fpga", 0)}),
		submitted("gpu", poise.Request{Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 1}}),
	)
	const none = `place job "fpga" on node "a": fpga: request 1m, idle 0`
	d.refused(t, none, placed("fpga", "a")) // nobody has declared it
	d.do(t, poise.NodeJoined{Node: poise.Node{Name: "b", Capacity: amounts("fpga", 1)}})
	d.refused(t, none, placed("fpga", "a")) // another node has
	n := gpuNode("a", 8000, 0)
	n.Capacity = amounts("cpu", 8000, "fpga", 0)
	d.do(t, poise.NodeChanged{Node: n})
	d.refused(t, none, placed("fpga", "a")) // declared as 0
	d.refused(t, `place job "gpu" on node "a": devices: kind "", expected "gpu"`, placed("gpu", "a", 0))
	d.do(t, placed("zero", "a"), placed("fpga", "b"))
	d.refused(t, `requeue job "gpu": the job waits, expected a placed job`, poise.JobRequeued{Job: "gpu"})
}

// Whatever is told twice is refused the second time and counted once.
func TestB44EventsAreNotAppliedTwice(t *testing.T) {
	d := newDriver(t, 0)
	r := poise.Request{Amounts: amounts("cpu", 1000), Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 500}}
	for _, name := range []string{"a", "b"} {
		d.do(t, poise.NodeJoined{Node: gpuNode(name, 8000, 1)})
		d.refused(t, fmt.Sprintf("join node %q: a node of that name is present, expected a new name", name), poise.NodeJoined{Node: gpuNode(name, 8000, 1)})
	}
	d.do(t, submitted("j", r))
	d.refused(t, `submit job "j": a job of that id is known, expected a new id`, submitted("j", r))
	d.do(t, placed("j", "a", 0))
	d.refused(t, `submit job "j": a job of that id is known, expected a new id`, submitted("j", r))
	d.refused(t, `place job "j" on node "a": the job is placed already, expected a waiting job`, placed("j", "a", 0))
	d.refused(t, `place job "j" on node "b": the job is placed already, expected a waiting job`, placed("j", "b", 0))
	d.wantOnNode(t, "a", "cpu", 8000, 1000, 7000)
	d.wantOnNode(t, "b", "cpu", 8000, 0, 8000)

	last := d.log[len(d.log)-1]
	before := dumpState(d.State)
	for _, index := range []uint64{0, last.Index, last.Index + 2} {
		ev := poise.Event{Index: index, Body: poise.NodeLeft{Name: "a"}}
		want := fmt.Sprintf("apply event: index %d, expected %d", index, last.Index+1)
		if err := d.Apply(ev); err == nil || err.Error() != want || poise.KindOf(err) != poise.Conflict || dumpState(d.State) != before {
			t.Errorf("event %d after %d: %v, expected %s and no change", index, last.Index, err, want)
		}
	}

	d.do(t, poise.JobFinished{Job: "j"})
	d.refused(t, `finish job "j": no such job`, poise.JobFinished{Job: "j"})
	d.refused(t, `requeue job "j": no such job`, poise.JobRequeued{Job: "j"})
	d.wantOnNode(t, "a", "cpu", 8000, 0, 8000)
	d.do(t, poise.NodeLeft{Name: "a"})
	d.refused(t, `remove node "a": no such node`, poise.NodeLeft{Name: "a"})
}

// Three running jobs and their nodes, from the log again: equal sums.
func TestB44RestartGivesTheSameSums(t *testing.T) {
	d := newDriver(t, 0)
	for i := range 3 {
		node, id := fmt.Sprint("n", i), fmt.Sprint("j", i)
		d.do(t, poise.NodeJoined{Node: gpuNode(node, 8000, 2)},
			submitted(id, poise.Request{Amounts: amounts("cpu", 1000*(i+1)), Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 300}}),
			placed(id, node, 1))
	}
	again := newDriver(t, 0)
	for _, ev := range d.log {
		if err := again.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		node, id := fmt.Sprint("n", i), fmt.Sprint("j", i)
		again.refused(t, fmt.Sprintf("place job %q on node %q: the job is placed already, expected a waiting job", id, node), placed(id, node, 1))
		again.wantOnNode(t, node, "cpu", 8000, int64(1000*(i+1)), int64(8000-1000*(i+1)))
	}
	if got, want := dumpState(again.State), dumpState(d.State); got != want {
		t.Errorf("after a restart\n%s\nexpected\n%s", got, want)
	}
}
