package manifest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/abi"
)

// Expect is what a case wants to happen. What is nil (Fault: empty) may be
// anything, but a fault that is not expected is never right.
type Expect struct {
	Node    *string  // "" = none fits
	Devices []uint16 // indexes of the chosen devices
	Order   []string // all candidates, best first
	Refused map[string]string
	Losses  map[string]float64
	Fault   abi.Code
}

// Empty says whether the case expects nothing, which no case should.
func (e *Expect) Empty() bool {
	return e.Node == nil && e.Devices == nil && e.Order == nil && e.Refused == nil && e.Losses == nil && e.Fault == ""
}

// expect reads the field of that name of the document n.
func (d *cases) expect(o *object, n *yaml.Node) {
	c := &d.c
	for i := 0; i < len(n.Content); i += 2 {
		switch {
		case n.Content[i].Value == "expect":
			c.key, c.expect = n.Content[i], n.Content[i+1]
		case c.key != nil && c.next == 0:
			c.next = n.Content[i].Line
		}
	}
	e, ok := o.object("expect", "node", "devices", "order", "refused", "losses", "fault")
	if !ok {
		return
	}
	x := &c.Expect
	if e.has("node") {
		text, ok := textOf(e.values["node"])
		if !ok {
			e.wrong("node", `the name of a node, or "" for none`)
		}
		x.Node = &text
	}
	x.Devices = deviceIndexes(&e, "devices")
	if e.has("order") {
		x.Order = []string{}
		for i, n := range e.list("order") {
			name, ok := textOf(n)
			if !ok {
				d.add(n.Line, fmt.Sprintf("expect.order[%d]", i), describe(n), "the name of a node")
			}
			x.Order = append(x.Order, name)
		}
	}
	if refused, ok := e.object("refused"); ok {
		x.Refused = map[string]string{}
		for _, node := range refused.keys {
			x.Refused[node] = refused.text(node)
		}
	}
	if losses, ok := e.object("losses"); ok {
		x.Losses = map[string]float64{}
		for _, node := range losses.keys {
			n := losses.values[node]
			v, err := strconv.ParseFloat(n.Value, 64)
			if n.Kind != yaml.ScalarNode || err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
				losses.wrong(node, "a finite number")
			}
			x.Losses[node] = v
		}
	}
	if e.has("fault") {
		text, ok := textOf(e.values["fault"])
		x.Fault = abi.Code(text)
		if !ok || !slices.Contains(abi.Codes(), x.Fault) {
			codes := make([]string, len(abi.Codes()))
			for i, code := range abi.Codes() {
				codes[i] = string(code)
			}
			e.wrong("fault", "one of "+strings.Join(codes, ", "))
		}
	}
}

// checkExpect refuses what cannot happen, whatever the plugin does. Every node
// of the case is in names.
func (d *cases) checkExpect(names map[string]bool) {
	c, x := &d.c, &d.c.Expect
	wrong := func(key, value, want string) { d.add(c.lineOf(key), "expect."+key, value, want) }
	known := func(key, node, orElse string) {
		if !names[node] {
			wrong(key, quote(node)+", which no node of the case is named", d.oneOf()+orElse)
		}
	}
	chosen := ""
	if x.Node != nil {
		if chosen = *x.Node; chosen != "" {
			known("node", chosen, `, or "" for none`)
		}
	}
	none := x.Node != nil && chosen == ""
	if ask := &c.Job.Request.Device; x.Devices != nil && len(x.Devices) != int(ask.Count) {
		wrong("devices", fmt.Sprintf("%d of them", len(x.Devices)), fmt.Sprintf("%d, as many as the job asks for", ask.Count))
	} else if len(x.Devices) > 0 && none {
		wrong("devices", "chosen on no node", `none beside node: ""`)
	}
	for i, node := range x.Order {
		known("order", node, "")
		if slices.Contains(x.Order[:i], node) {
			wrong("order", quote(node)+" twice", "every candidate once")
		}
	}
	switch {
	case x.Order == nil || x.Node == nil:
	case len(x.Order) == 0 && !none:
		wrong("order", "no candidate", quote(chosen)+" at least, the chosen node")
	case len(x.Order) > 0 && x.Order[0] != chosen:
		wrong("order", quote(x.Order[0])+" first", quote(chosen)+" first, the chosen node")
	}
	for _, node := range slices.Sorted(maps.Keys(x.Refused)) {
		known("refused", node, "")
		if slices.Contains(x.Order, node) || node == chosen {
			wrong("refused", quote(node)+", which is a candidate too", "nodes that are neither chosen nor in order")
		}
	}
	for _, node := range slices.Sorted(maps.Keys(x.Losses)) {
		known("losses", node, "")
		if _, refused := x.Refused[node]; refused || none || x.Order != nil && !slices.Contains(x.Order, node) {
			wrong("losses", quote(node)+", which is no candidate", "losses of candidates")
		}
	}
}

// lineOf gives the line of a key of expect.
func (c *Case) lineOf(key string) int {
	for i := 0; i < len(c.expect.Content); i += 2 {
		if c.expect.Content[i].Value == key {
			return c.expect.Content[i].Line
		}
	}
	return c.key.Line
}
