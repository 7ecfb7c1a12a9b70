package manifest

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// maxCopies is the largest count of a document.
const maxCopies = 1_000_000

// nodes collects the fleet of a file. Copies of a node share their slices.
type nodes struct {
	problems
	names  names
	fields []string // in place of nodeFields
	list   []poise.Node
}

var _ decoder = (*nodes)(nil)

// nodeFields are the fields of a node.
var nodeFields = []string{"node", "count", "cluster", "capacity", "devices", "labels", "taints", "drained", "ready"}

func (d *nodes) size() int { return len(d.list) }

func (d *nodes) document(n *yaml.Node) {
	before := d.count
	fields := nodeFields
	if d.fields != nil {
		fields = d.fields
	}
	o, ok := d.object(n, "", fields...)
	if !ok {
		return
	}
	node := poise.Node{
		Cluster:  o.text("cluster"),
		Devices:  nodeDevices(&o),
		Labels:   nodeLabels(&o),
		Taints:   nodeTaints(&o),
		NotReady: !o.flag("ready", true),
		Drained:  o.flag("drained", false),
	}
	node.Capacity = nodeCapacity(&o, node.Devices.Kind)
	count := int(o.integer("count", 1, 1, maxCopies))
	if o.require("node", "a name") {
		node.Name = o.text("node")
	}
	if d.count == before {
		d.add(o.lineOf("node"), "node", "capacity", node, count)
	}
}

// add checks the node and takes count copies of it; name and amounts are the
// fields that errors name.
func (d *nodes) add(line int, name, amounts string, node poise.Node, count int) {
	if len(node.Capacity) == 0 && node.Devices.Count == 0 {
		d.problems.add(line, amounts, "nothing above 0", "at least one amount or device")
		return
	}
	base := node.Name
	node.Name = copyName(base, 0, count)
	if err := node.Validate(); err != nil {
		d.invalid(line, "name", name, err)
		return
	}
	for _, node.Name = range d.names.take(&d.problems, line, name, base, count, copyName) {
		d.list = append(d.list, node)
	}
}

// invalid adds what a noun's Validate says; what it calls own is the field that
// the file calls field.
func (p *problems) invalid(line int, own, field string, err error) {
	var e *poise.Error
	if !errors.As(err, &e) {
		panic("BUG: Validate gave " + err.Error())
	}
	where, text, _ := strings.Cut((&poise.Error{Detail: e.Detail, Err: e.Err}).Error(), ": ")
	if where == own {
		where = field
	}
	p.refuse(line, where, text)
}

func nodeDevices(o *object) poise.Devices {
	d, ok := o.object("devices", "kind", "model", "count", "exclusive")
	if !ok {
		return poise.Devices{}
	}
	d.require("kind", "a device kind such as gpu")
	d.require("count", fmt.Sprintf("a whole number from 1 to %d", poise.MaxDevices))
	return poise.Devices{
		Kind:      deviceKind(&d),
		Model:     d.text("model"),
		Count:     int32(d.integer("count", 1, 1, poise.MaxDevices)),
		Exclusive: d.flag("exclusive", false),
	}
}

// deviceKind reads the kind of a devices mapping; "" where it is not there. What
// every node has cannot be a device.
func deviceKind(d *object) string {
	kind := d.text("kind")
	if kind == "cpu" || kind == "memory" {
		d.wrong("kind", "a device kind such as gpu")
	}
	return kind
}

// isDevice says whether a name in an amount list means a device kind: the
// common ones do, and the kind that the document declares.
func isDevice(name, declared string) bool {
	return name == "gpu" || name == "npu" || name == declared
}

func nodeCapacity(o *object, kind string) resource.List {
	c, _ := o.object("capacity")
	var list resource.List
	for _, key := range c.keys {
		if isDevice(key, kind) {
			c.wrong(key, fmt.Sprintf("devices: {kind: %s, count: N} beside capacity", key))
			continue
		}
		if n := c.amount(key, offered); n > 0 {
			list = append(list, resource.Amount{Name: key, Value: n})
		}
	}
	return sorted(list)
}

// sorted puts amounts with distinct names in order.
func sorted(list resource.List) resource.List {
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

func nodeLabels(o *object) []poise.Label {
	m, _ := o.object("labels")
	var labels []poise.Label
	for _, key := range m.keys {
		labels = append(labels, poise.Label{Key: key, Value: m.labelText(key)})
	}
	sort.Slice(labels, func(i, j int) bool { return labels[i].Key < labels[j].Key })
	return labels
}

func nodeTaints(o *object) []poise.Taint {
	var taints []poise.Taint
	for i, n := range o.list("taints") {
		path := fmt.Sprintf("taints[%d]", i)
		t, ok := o.found.object(n, path, "key", "value", "effect")
		if !ok {
			continue
		}
		taint := poise.Taint{Key: t.text("key"), Value: t.labelText("value"), Effect: poise.Effect(t.text("effect"))}
		o.found.check(n.Line, path, taint.Validate())
		taints = append(taints, taint)
	}
	return taints
}

// check adds what the Validate of a selector, taint or toleration says.
func (p *problems) check(line int, field string, err error) {
	var e *poise.Error
	if errors.As(err, &e) {
		p.refuse(line, field, e.Detail)
	}
}
