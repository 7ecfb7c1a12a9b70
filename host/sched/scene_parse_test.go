package sched

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// deviceKinds are the names in scenes that mean devices and not amounts.
var deviceKinds = []string{"gpu", "npu"}

// parseNode reads the words of a node.
func parseNode(t fataler, name string, fields []string) poise.Node {
	t.Helper()
	n := poise.Node{Name: name}
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		switch {
		case key == "exclusive":
			n.Devices.Exclusive = true
		case key == "drained":
			n.Drained = true
		case key == "notready":
			n.NotReady = true
		case key == "label":
			k, v, _ := strings.Cut(value, ":")
			n.Labels = append(n.Labels, poise.Label{Key: k, Value: v})
		case key == "taint":
			k, v, effect := three(value)
			n.Taints = append(n.Taints, poise.Taint{Key: k, Value: v, Effect: poise.Effect(cmp.Or(effect, string(poise.NoSchedule)))})
		case slices.Contains(deviceKinds, key):
			count, model, _ := strings.Cut(value, ":")
			n.Devices.Kind, n.Devices.Model, n.Devices.Count = key, model, int32(number(t, count))
		default:
			n.Capacity = append(n.Capacity, amount(t, key, value, resource.ParseCapacity))
		}
	}
	slices.SortFunc(n.Labels, func(a, b poise.Label) int { return cmp.Compare(a.Key, b.Key) })
	sortAmounts(n.Capacity)
	return n
}

// parseJob reads the words of a job.
func parseJob(t fataler, name string, fields []string) poise.Job {
	t.Helper()
	j := poise.Job{ID: poise.JobID(name)}
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		switch {
		case key == "select":
			k, op, values := three(value)
			j.Selectors = append(j.Selectors, poise.Selector{Key: k, Op: poise.Op(op), Values: list(values)})
		case key == "tolerate":
			k, v, effect := three(value)
			j.Tolerations = append(j.Tolerations, poise.Toleration{Key: k, Value: v, Exists: v == "", Effect: poise.Effect(effect)})
		case slices.Contains(deviceKinds, key):
			text, models, _ := strings.Cut(value, ":")
			count, milli, err := resource.ParseDevices(key, text)
			if err != nil {
				t.Fatalf("%v", err)
			}
			j.Request.Device = poise.DeviceRequest{Kind: key, Count: count, Milli: milli, Models: list(models)}
		default:
			j.Request.Amounts = append(j.Request.Amounts, amount(t, key, value, resource.ParseRequest))
		}
	}
	sortAmounts(j.Request.Amounts)
	return j
}

// parsePlace reads NODE or NODE[0,1].
func parsePlace(t fataler, id poise.JobID, text string) poise.Placement {
	t.Helper()
	name, rest, _ := strings.Cut(text, "[")
	p := poise.Placement{Job: id, Node: name}
	for _, d := range list(strings.TrimSuffix(rest, "]")) {
		p.Devices = append(p.Devices, uint16(number(t, d)))
	}
	return p
}

func amount(t fataler, name, text string, parse func(name, text string) (int64, error)) resource.Amount {
	t.Helper()
	v, err := parse(name, text)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return resource.Amount{Name: name, Value: v}
}

func sortAmounts(l resource.List) {
	slices.SortFunc(l, func(a, b resource.Amount) int { return cmp.Compare(a.Name, b.Name) })
}

// three cuts a:b:c, whatever is missing being "".
func three(text string) (a, b, c string) {
	a, rest, _ := strings.Cut(text, ":")
	b, c, _ = strings.Cut(rest, ":")
	return a, b, c
}

// list cuts a,b,c, which is empty for "".
func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func number(t fataler, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%q: expected a number", text)
	}
	return n
}
