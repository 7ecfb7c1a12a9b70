package state

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// A placement is refused where the request does not fit into what is idle,
// with what was asked and what there is; nothing is taken then.
func TestPlacementsThatDoNotFit(t *testing.T) {
	d := newDriver(t, 0)
	n := gpuNode("a", 4000, 4)
	d.do(t,
		poise.NodeJoined{Node: n}, poise.NodeJoined{Node: gpuNode("b", 4000, 0)},
		submitted("half", poise.Request{Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 500}}), placed("half", "a", 1),
	)
	ask := poise.Request{}
	f := func(node string, devices []uint16, want string) {
		t.Helper()
		id := fmt.Sprint("j", d.Index())
		d.do(t, submitted(id, ask))
		body := placed(id, node, devices...)
		if want == "" {
			d.do(t, body, poise.JobRequeued{Job: poise.JobID(id)})
		} else {
			d.refused(t, fmt.Sprintf("place job %q on node %q: %s", id, node, want), body)
		}
		d.do(t, poise.JobWithdrawn{Job: poise.JobID(id)})
	}

	f("a", nil, "")
	f("a", []uint16{0}, "devices: 1 given, expected 0")
	f("c", nil, "no such node")

	ask.Amounts = amounts("cpu", 4000, "memory", 1<<30)
	f("a", nil, "")
	ask.Amounts = amounts("cpu", 4001)
	f("a", nil, "cpu: request 4.001, idle 4")
	ask.Amounts = amounts("cpu", 1, "memory", 1<<30+1)
	f("a", nil, "memory: request 1073741825, idle 1Gi")

	ask = poise.Request{Device: poise.DeviceRequest{Kind: "gpu", Count: 2, Milli: 1000}}
	f("a", []uint16{0, 2}, "")
	f("a", []uint16{2, 3}, "")
	f("a", nil, "devices: 0 given, expected 2")
	f("a", []uint16{0}, "devices: 1 given, expected 2")
	f("a", []uint16{0, 2, 3}, "devices: 3 given, expected 2")
	f("a", []uint16{2, 0}, "devices: 0 after 2, expected ascending indexes")
	f("a", []uint16{2, 2}, "devices: 2 after 2, expected ascending indexes")
	f("a", []uint16{0, 1}, "device 1: fewer than 1000 milli free")
	f("a", []uint16{0, 4}, "device 4: fewer than 1000 milli free")
	f("a", []uint16{0, 65535}, "device 65535: fewer than 1000 milli free")
	f("b", []uint16{0, 1}, `devices: kind "", expected "gpu"`)

	ask.Device = poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 500}
	f("a", []uint16{1}, "")
	ask.Device.Milli = 501
	f("a", []uint16{1}, "device 1: fewer than 501 milli free")
	ask.Device.Kind = "npu"
	f("a", []uint16{0}, `devices: kind "gpu", expected "npu"`)
}

// The state keeps copies of what it is told: whoever sent an event may use its
// slices again.
func TestEventsAreCopied(t *testing.T) {
	d := newDriver(t, 0)
	n := gpuNode("a", 4000, 2)
	n.Labels = []poise.Label{{Key: "zone", Value: "x"}}
	n.Taints = []poise.Taint{{Key: "gpu", Effect: poise.NoSchedule}}
	j := job("j", poise.Request{Amounts: amounts("cpu", 1), Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 1000}})
	j.Selectors = []poise.Selector{{Key: "zone", Op: poise.Exists}}
	j.Tolerations = []poise.Toleration{{Key: "gpu", Exists: true}}
	devices := []uint16{1}
	d.do(t, poise.NodeJoined{Node: n}, poise.JobSubmitted{Job: j}, placed("j", "a", devices...))
	before := dumpState(d.State)
	n.Labels[0].Value, n.Taints[0].Key, n.Capacity[0].Value = "y", "npu", 1
	j.Selectors[0].Key, j.Tolerations[0].Key, j.Request.Amounts[0].Value = "rack", "npu", 2
	devices[0] = 0
	if after := dumpState(d.State); after != before {
		t.Errorf("the state follows slices of the events from\n%s\nto\n%s", before, after)
	}
}

// A share of a device that its node no longer has is not given back to the
// device that now has its number before the task ends, nor twice.
func TestDevicesOfAnotherKindUnderRunningTasks(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, poise.NodeJoined{Node: gpuNode("a", 4000, 2)})
	for i, milli := range []int32{300, 700} {
		id := fmt.Sprint("j", i)
		d.do(t, submitted(id, poise.Request{Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: milli}}), placed(id, "a", 1))
	}
	f := func(n poise.Node, want ...uint16) {
		t.Helper()
		d.do(t, poise.NodeChanged{Node: n})
		if got := d.View().Free(d.row(t, "a")); !slices.Equal(got, want) {
			t.Fatalf("free %v, expected %v", got, want)
		}
	}
	npus := gpuNode("a", 4000, 3)
	npus.Devices.Kind = "npu"
	f(gpuNode("a", 4000, 2), 1000, 0)
	f(npus, 1000, 0, 1000) // what held number 1 holds number 1 still
	f(gpuNode("a", 4000, 1), 1000)
	d.do(t, poise.JobFinished{Job: "j0"})
	f(gpuNode("a", 4000, 4), 1000, 300, 1000, 1000)
	f(gpuNode("a", 4000, 0))
	d.do(t, poise.JobRequeued{Job: "j1"})
	f(gpuNode("a", 4000, 2), 1000, 1000)
}
