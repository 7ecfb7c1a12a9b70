package poise

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/resource"
)

// goodNode uses every field.
func goodNode() Node {
	return Node{
		Name: "n1", Cluster: "east",
		Capacity: resource.List{{Name: "cpu", Value: 64_000}, {Name: "memory", Value: 256 << 30}},
		Devices:  Devices{Kind: "gpu", Model: "A100", Count: 8, Exclusive: true},
		Labels:   []Label{{"rack", "r1"}, {"zone", ""}},
		Taints:   []Taint{{"gpu", "yes", NoSchedule}, {"gpu", "yes", NoExecute}},
		NotReady: true, Drained: true,
	}
}

func TestNodeValidate(t *testing.T) {
	f := func(want string, change func(n *Node)) {
		t.Helper()
		n := goodNode()
		change(&n)
		refuses(t, n.Validate(), want)
	}
	f("", func(n *Node) {})
	f("", func(n *Node) { *n = Node{Name: "n1"} })
	f("", func(n *Node) { n.Name = strings.Repeat("n", 253) })
	f("", func(n *Node) { n.Capacity[0].Value, n.Capacity[1].Value = 0, math.MaxInt64 })

	f(`node "": name: empty, expected a name`, func(n *Node) { n.Name = "" })
	f(fmt.Sprintf("node %q: name: 254 bytes, expected at most 253", strings.Repeat("n", 254)), func(n *Node) { n.Name = strings.Repeat("n", 254) })
	f(`node "n\n1": name: "n\n1" has a space or control character at byte 1, expected none`, func(n *Node) { n.Name = "n\n1" })
	f(`node "n1": cluster: "e w" has a space or control character at byte 1, expected none`, func(n *Node) { n.Cluster = "e w" })

	f(`node "n1": capacity: cpu: -1, expected 0 or more`, func(n *Node) { n.Capacity[0].Value = -1 })
	f(`node "n1": capacity: cpu after memory, expected names in order`, func(n *Node) { n.Capacity[0], n.Capacity[1] = n.Capacity[1], n.Capacity[0] })
	f(`node "n1": capacity: cpu: given twice, expected once`, func(n *Node) { n.Capacity[1].Name = "cpu" })

	f(`node "n1": labels: empty key, expected a label key`, func(n *Node) { n.Labels[0].Key = "" })
	f(`node "n1": labels: "rack" after "zone", expected sorted and distinct`, func(n *Node) { n.Labels[0], n.Labels[1] = n.Labels[1], n.Labels[0] })
	f(`node "n1": labels: "rack" after "rack", expected sorted and distinct`, func(n *Node) { n.Labels[1].Key = "rack" })

	f(`node "n1": taint: key: empty, expected a taint key`, func(n *Node) { n.Taints[1].Key = "" })
	f(`node "n1": taint: gpu: effect "Prefer", expected NoSchedule, NoExecute or PreferNoSchedule`, func(n *Node) { n.Taints[0].Effect = "Prefer" })
}

func TestNodeValidatesDevices(t *testing.T) {
	f := func(want string, d Devices) {
		t.Helper()
		n := goodNode()
		n.Devices = d
		refuses(t, n.Validate(), want)
	}
	f("", Devices{})
	f("", Devices{Kind: "gpu", Count: 1})
	f("", Devices{Kind: "npu", Model: "x/2", Count: 32})

	const noCount = `node "n1": devices: kind or model without a count, expected a count of 1 or more`
	f(noCount, Devices{Kind: "gpu"})
	f(noCount, Devices{Model: "A100"})
	f(`node "n1": devices: count 33, expected 1 to 32`, Devices{Kind: "gpu", Count: 33})
	f(`node "n1": devices: count -1, expected 1 to 32`, Devices{Kind: "gpu", Count: -1})
	f(`node "n1": devices: kind: empty, expected a name`, Devices{Count: 1})
	f(`node "n1": devices: kind: "g\x00" has a space or control character at byte 1, expected none`, Devices{Kind: "g\x00", Count: 1})
	f(`node "n1": devices: model: "A 100" has a space or control character at byte 1, expected none`, Devices{Kind: "gpu", Model: "A 100", Count: 1})
	f(`node "n1": devices: cpu: both a capacity and a device kind, expected one of them`, Devices{Kind: "cpu", Count: 1})
}
