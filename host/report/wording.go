package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// requestText gives what a request asks for, devices last.
func requestText(r *poise.Request) string {
	var parts []string
	for _, a := range r.Amounts {
		parts = append(parts, resource.Format(a.Name, a.Value)+" "+plain(a.Name))
	}
	if r.Device.Count > 0 {
		parts = append(parts, deviceText(&r.Device))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func deviceText(d *poise.DeviceRequest) string {
	text := deviceAmount(d)
	if len(d.Models) > 0 {
		text += " of model " + plainAll(d.Models, " or ")
	}
	return text
}

func deviceAmount(d *poise.DeviceRequest) string {
	if d.Shared() {
		return fmt.Sprintf("%s of one %s", resource.Format(d.Kind, d.Total()), plain(d.Kind))
	}
	return fmt.Sprintf("%d whole %s", d.Count, plain(d.Kind))
}

func selectorText(s *poise.Selector) string {
	key, values := plain(s.Key), plainAll(s.Values, ", ")
	switch s.Op {
	case poise.In:
		return key + " is one of " + values
	case poise.NotIn:
		return key + " is none of " + values
	case poise.Exists:
		return key + " is set"
	case poise.DoesNotExist:
		return key + " is not set"
	case poise.Gt:
		return key + " is above " + values
	case poise.Lt:
		return key + " is below " + values
	case poise.Prefix:
		return key + " begins with " + values
	}
	return key + " " + plain(string(s.Op)) + " " + values
}

func tolerationText(t *poise.Toleration) string {
	text := "every taint"
	switch {
	case t.Key != "" && t.Exists:
		text = "taint " + plain(t.Key) + " of any value"
	case t.Key != "":
		text = "taint " + plain(t.Key) + "=" + t.Value
		if t.Value != "" {
			text = "taint " + plain(t.Key) + "=" + plain(t.Value)
		}
	}
	if t.Effect != "" {
		text += " with effect " + plain(string(t.Effect))
	}
	return text
}

// refusalText says why nodes were refused, with what was asked of them. dim is
// the dimension or device kind, where the reason has one.
func refusalText(ask *poise.Request, code poise.ReasonCode, dim string) string {
	name, device := plain(dim), &ask.Device
	switch code {
	case poise.SelectorMismatch:
		return "labels do not match what the job selects"
	case poise.TaintNotTolerated:
		return "a taint that the job does not tolerate"
	case poise.DeviceKindMissing:
		return "no " + name + " at all"
	case poise.DeviceModelMismatch:
		return fmt.Sprintf("%s of another model than %s", name, plainAll(device.Models, " or "))
	case poise.DeviceExclusive:
		return fmt.Sprintf("whole %s only, and the job asks for %s", name, deviceAmount(device))
	case poise.CapacityShort:
		return fmt.Sprintf("too small, even empty: less than %s", amountText(ask, dim))
	case poise.DeviceCapacityShort:
		return fmt.Sprintf("too few devices, even empty: less than %s", deviceAmount(device))
	case poise.NodeNotReady:
		return "not ready: its engine does not vouch for it now"
	case poise.NodeDrained:
		return "drained: an operator wants no new jobs on it"
	case poise.IdleShort:
		return fmt.Sprintf("too little idle now: less than %s", amountText(ask, dim))
	case poise.DeviceIdleShort:
		return fmt.Sprintf("too few devices idle now: less than %s", deviceAmount(device))
	case poise.PolicyRefused:
		return "the filter of a policy refuses it"
	case poise.PolicyFaulted:
		return "the policy of the job failed, and its rule is to wait"
	case poise.PoolOverQuota:
		return "over the quota of its device model or class"
	case poise.Reserved:
		return "kept for jobs that go before"
	case poise.NoTopologyLabel:
		return "the node lacks the label that the topology of the gang goes by"
	case poise.OtherDomain:
		return "the gang goes to another domain of its topology"
	case poise.SkewReached:
		return "enough tasks of the gang are in its domain already"
	case poise.PortTaken:
		return "a port of the node that the job asks for is taken"
	case poise.NoDomain:
		return "the node lacks a label that the job's rules about pods go by"
	case poise.FarFromPods:
		return "no pod is near that the job has to be near (podAffinity)"
	case poise.NearPods:
		return "a pod is near that the job keeps away from (podAntiAffinity)"
	case poise.KeptAway:
		return "a pod is near whose podAntiAffinity keeps the job away"
	case poise.Uneven:
		return "one more there would be uneven (topology spread)"
	}
	return code.String()
}

// policyText puts a policy's own words behind the reason that it refused.
func policyText(text, own string) string {
	if own == "" {
		return text
	}
	return text + ": " + plain(own)
}

func amountText(ask *poise.Request, dim string) string {
	amount, _ := ask.Amounts.Find(dim)
	return resource.Format(dim, amount) + " " + plain(dim)
}

// missText says by what the nearest node missed.
func missText(ask *poise.Request, m *poise.Miss) string {
	node, dim := "node "+plain(m.Node), plain(m.Dim)
	amount := func(v int64) string { return resource.Format(m.Dim, v) }
	switch m.Code {
	case poise.IdleShort:
		return fmt.Sprintf("%s has %s of %s %s idle: %s too little", node, amount(m.Have), amount(m.Ask), dim, amount(m.Beyond))
	case poise.CapacityShort:
		return fmt.Sprintf("%s has %s of %s %s in all: %s too little", node, amount(m.Have), amount(m.Ask), dim, amount(m.Beyond))
	case poise.DeviceIdleShort:
		if ask.Device.Shared() {
			return fmt.Sprintf("%s has at most %s of one %s idle, of the %s asked for: %s too little",
				node, amount(m.Have), dim, amount(m.Ask), amount(m.Beyond))
		}
		return fmt.Sprintf("%s has %s of %s whole %s idle: %s too few", node, amount(m.Have), amount(m.Ask), dim, amount(m.Beyond))
	case poise.DeviceCapacityShort:
		return fmt.Sprintf("%s has %s of %s %s in all: %s too few", node, amount(m.Have), amount(m.Ask), dim, amount(m.Beyond))
	}
	return node + ": " + policyText(refusalText(ask, m.Code, m.Dim), m.Text)
}

// helpText says what one change would do.
func helpText(ask *poise.Request, h *poise.Help) string {
	amount, what := resource.Format(h.Dim, h.Beyond), plain(h.What)
	where := "on node " + plain(h.Node)
	if h.Nodes > 1 {
		where += fmt.Sprintf(", the nearest of %s", nodes(h.Nodes))
	}
	switch h.Code {
	case poise.SelectorMismatch:
		return fmt.Sprintf("without what it selects by label %s: it fits %s", what, where)
	case poise.TaintNotTolerated:
		return fmt.Sprintf("if it tolerated the taint %s: it fits %s", what, where)
	case poise.DeviceKindMissing:
		return fmt.Sprintf("if it asked for no %s: it fits %s", plain(h.Dim), where)
	case poise.DeviceModelMismatch:
		if h.What == "" {
			return fmt.Sprintf("if it took %s of a model that is not stated: it fits %s", plain(h.Dim), where)
		}
		return fmt.Sprintf("if it took %s of model %s: it fits %s", plain(h.Dim), what, where)
	case poise.DeviceExclusive:
		return fmt.Sprintf("if it asked for a whole %s: it fits %s", plain(h.Dim), where)
	case poise.NodeNotReady:
		return "once the node is ready again: it fits " + where
	case poise.NodeDrained:
		return "once the node is no longer drained: it fits " + where
	case poise.IdleShort:
		return fmt.Sprintf("%s %s less: it fits %s", amount, plain(h.Dim), where)
	case poise.DeviceIdleShort:
		if !ask.Device.Shared() {
			return fmt.Sprintf("%s whole %s fewer: it fits %s", amount, plain(h.Dim), where)
		}
		return fmt.Sprintf("%s of a %s less: it fits %s", amount, plain(h.Dim), where)
	case poise.PolicyRefused:
		if h.What == "" {
			return "if the policy did not refuse it: it fits " + where
		}
		return fmt.Sprintf("if the policy did not refuse it (%s): it fits %s", what, where)
	}
	return fmt.Sprintf("without this: %s, it fits %s", refusalText(ask, h.Code, h.Dim), where)
}

// devicesText gives the chosen devices as part of a sentence.
func devicesText(kind string, devices []uint16) string {
	if len(devices) == 0 {
		return ""
	}
	return ", " + plain(kind) + " " + indexes(devices)
}

func indexes(devices []uint16) string {
	if len(devices) == 0 {
		return "-"
	}
	list := make([]string, len(devices))
	for i, d := range devices {
		list[i] = strconv.Itoa(int(d))
	}
	return strings.Join(list, ",")
}
