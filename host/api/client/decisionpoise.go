package client

import (
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Reason is why a node was refused.
type Reason string

// reasons are the names of poise.ReasonCode on the wire.
var reasons = [poise.ReasonCodes]Reason{
	poise.Fits:                "fits",
	poise.SelectorMismatch:    "selector-mismatch",
	poise.TaintNotTolerated:   "taint-not-tolerated",
	poise.DeviceKindMissing:   "device-kind-missing",
	poise.DeviceModelMismatch: "device-model-mismatch",
	poise.DeviceExclusive:     "device-exclusive",
	poise.CapacityShort:       "capacity-short",
	poise.DeviceCapacityShort: "device-capacity-short",
	poise.NodeNotReady:        "node-not-ready",
	poise.NodeDrained:         "node-drained",
	poise.IdleShort:           "idle-short",
	poise.DeviceIdleShort:     "device-idle-short",
	poise.PolicyRefused:       "policy-refused",
	poise.PolicyFaulted:       "policy-faulted",
	poise.PoolOverQuota:       "pool-over-quota",
	poise.Reserved:            "reserved",
	poise.NoTopologyLabel:     "no-topology-label",
	poise.OtherDomain:         "other-domain",
	poise.SkewReached:         "skew-reached",
	poise.PortTaken:           "port-taken",
	poise.NoDomain:            "no-domain",
	poise.FarFromPods:         "far-from-pods",
	poise.NearPods:            "near-pods",
	poise.KeptAway:            "kept-away",
	poise.Uneven:              "uneven",
}

// Text says the reason in words; one that this version does not know by its name.
func (r Reason) Text() string {
	if i := slices.Index(reasons[:], r); i >= 0 {
		return poise.ReasonCode(i).String()
	}
	return string(r)
}

// verdicts are the names of poise.Verdict on the wire.
var verdicts = [...]string{poise.Placed: "placed", poise.FitsNotNow: "fits-not-now", poise.NeverFits: "never-fits", poise.OverQuota: "over-quota", poise.BehindOthers: "behind-others"}

// NewDecision gives a decision as it goes over the wire.
func NewDecision(d *poise.Decision) *Decision {
	w := &Decision{
		Job: string(d.Job), Verdict: verdicts[d.Verdict], Node: d.Node, Devices: slices.Clone(d.Devices),
		Now: At(d.Now), Policy: d.Policy, Ties: d.Ties, Seed: d.Seed, Version: d.Version, Epoch: d.Epoch,
		Nodes: d.Nodes, Fitting: d.Fitting, Fault: d.Fault, Looked: d.Looked,
		Plugins:  each(d.Plugins, func(p poise.PluginUse) PluginUse { return PluginUse(p) }),
		Reasons:  each(d.Reasons, func(r poise.Reason) uint32 { return uint32(r) }),
		Refused:  each(d.Refused, func(c poise.ReasonCount) ReasonCount { return ReasonCount{reasons[c.Code], c.Dim, c.Text, c.Nodes} }),
		LeftOut:  each(d.LeftOut, func(l poise.LeftOut) LeftOut { return LeftOut{l.Class, reasons[l.Code], l.Dim, l.Nodes} }),
		Ranked:   each(d.Ranked, newRanked),
		Refusals: each(d.Refusals, func(r poise.Refusal) Refusal { return Refusal{r.Node, reasons[r.Code], r.Dim, r.Text} }),
	}
	w.Misses = each(d.Misses, NewMiss)
	w.Helps = each(d.Helps, func(h poise.Help) Help { return Help{reasons[h.Code], h.Dim, h.What, h.Beyond, h.Node, h.Nodes} })
	if d.Nearest != nil {
		m := NewMiss(*d.Nearest)
		w.Nearest = &m
	}
	if d.Gang != nil {
		g := GangPart(*d.Gang)
		w.Gang = &g
	}
	if q := d.Quota; q != nil {
		w.Quota = &QuotaMiss{string(q.Tenant), q.Resource, q.Used, q.Ask, q.Limit, q.Withheld}
	}
	return w
}

// NewMiss gives a miss as it goes over the wire.
func NewMiss(m poise.Miss) Miss {
	return Miss{m.Node, reasons[m.Code], m.Dim, m.Text, m.Ask, m.Have, m.Beyond}
}

func newRanked(r poise.Ranked) Ranked {
	return Ranked{
		Node: r.Node, Tier: r.Tier, Near: r.Near, Uneven: r.Uneven, Loss: r.Loss, Devices: slices.Clone(r.Devices), Formula: r.Formula,
		Columns: each(r.Columns, func(c poise.Column) Column { return Column(c) }),
		Seen:    each(r.Seen, func(s poise.Reading) Reading { return Reading(s) }),
	}
}

// Poise gives the decision that NewDecision was given. It is an error if the
// daemon knows a verdict or a reason that this program does not.
func (w *Decision) Poise() (*poise.Decision, error) {
	verdict := slices.Index(verdicts[:], w.Verdict)
	if verdict < 0 {
		return nil, newer("verdict", w.Verdict)
	}
	var unknown error
	code := func(r Reason) poise.ReasonCode {
		i := slices.Index(reasons[:], r)
		if i < 0 {
			unknown = newer("reason", string(r))
		}
		return poise.ReasonCode(max(i, 0))
	}
	d := &poise.Decision{
		Job: poise.JobID(w.Job), Verdict: poise.Verdict(verdict), Node: w.Node, Devices: slices.Clone(w.Devices),
		Now: Moment(w.Now), Policy: w.Policy, Ties: w.Ties, Seed: w.Seed, Version: w.Version, Epoch: w.Epoch,
		Nodes: w.Nodes, Fitting: w.Fitting, Fault: w.Fault, Looked: w.Looked,
		Plugins: each(w.Plugins, func(p PluginUse) poise.PluginUse { return poise.PluginUse(p) }),
		Reasons: each(w.Reasons, func(r uint32) poise.Reason { return poise.Reason(r) }),
		Refused: each(w.Refused, func(c ReasonCount) poise.ReasonCount {
			return poise.ReasonCount{Code: code(c.Code), Dim: c.Dim, Text: c.Text, Nodes: c.Nodes}
		}),
		LeftOut: each(w.LeftOut, func(l LeftOut) poise.LeftOut {
			return poise.LeftOut{Class: l.Class, Code: code(l.Code), Dim: l.Dim, Nodes: l.Nodes}
		}),
		Ranked: each(w.Ranked, Ranked.poise),
		Refusals: each(w.Refusals, func(r Refusal) poise.Refusal {
			return poise.Refusal{Node: r.Node, Code: code(r.Code), Dim: r.Dim, Text: r.Text}
		}),
	}
	miss := func(m Miss) poise.Miss {
		return poise.Miss{Node: m.Node, Code: code(m.Code), Dim: m.Dim, Text: m.Text, Ask: m.Ask, Have: m.Have, Beyond: m.Beyond}
	}
	if w.Gang != nil {
		g := poise.GangPart(*w.Gang)
		d.Gang = &g
	}
	d.Misses = each(w.Misses, miss)
	d.Helps = each(w.Helps, func(h Help) poise.Help {
		return poise.Help{Code: code(h.Code), Dim: h.Dim, What: h.What, Beyond: h.Beyond, Node: h.Node, Nodes: h.Nodes}
	})
	if w.Nearest != nil {
		m := miss(*w.Nearest)
		d.Nearest = &m
	}
	if q := w.Quota; q != nil {
		d.Quota = &poise.QuotaMiss{Tenant: poise.TenantID(q.Tenant), Resource: q.Resource, Used: q.Used, Ask: q.Ask, Limit: q.Limit, Withheld: q.Withheld}
	}
	return d, unknown
}

func (r Ranked) poise() poise.Ranked {
	return poise.Ranked{
		Node: r.Node, Tier: r.Tier, Near: r.Near, Uneven: r.Uneven, Loss: r.Loss, Devices: slices.Clone(r.Devices), Formula: r.Formula,
		Columns: each(r.Columns, func(c Column) poise.Column { return poise.Column(c) }),
		Seen:    each(r.Seen, func(s Reading) poise.Reading { return poise.Reading(s) }),
	}
}

func newer(field, value string) error {
	return &poise.Error{Kind: poise.Internal, Op: "read decision", Detail: fmt.Sprintf("%s: %q, which this version does not know; the daemon is of a later one", field, value)}
}

// each maps a list; nil stays nil.
func each[A, B any](list []A, f func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i := range list {
		out[i] = f(list[i])
	}
	return out
}
