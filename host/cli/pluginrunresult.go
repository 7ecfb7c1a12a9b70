package cli

import (
	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
)

// pluginRunResult is a decision as plugin run prints it in JSON. Its keys stay;
// others may come.
type pluginRunResult struct {
	Plugin  string            `json:"plugin"`
	Version string            `json:"version"`
	Digest  string            `json:"digest"`
	Job     string            `json:"job"`
	Verdict string            `json:"verdict"` // placed, waits, never-fits
	Node    string            `json:"node"`    // "" unless placed
	Devices []uint16          `json:"devices"`
	Policy  string            `json:"policy"` // that decided: the plugin, or what stands in for it
	Ties    string            `json:"ties"`
	Nodes   int               `json:"nodes"`
	Fitting int               `json:"fitting"`
	Ranked  []pluginRunRanked `json:"ranked"` // the best ones, best first
	Refused []pluginRunRefuse `json:"refused"`
	Nearest *pluginRunMiss    `json:"nearest"` // null where the job was placed
	Fault   *pluginRunFault   `json:"fault"`   // null = none
	Calls   int               `json:"calls"`
	Rows    int               `json:"rows"`
	Fuel    int64             `json:"fuel"`
	// Tasks are those of a gang that start together; what stands above is of the first
	// of them, or of all where the gang waits.
	Tasks []pluginRunTask `json:"tasks,omitempty"`
}

type pluginRunTask struct {
	Task    int      `json:"task"`
	Job     string   `json:"job"`
	Node    string   `json:"node"`
	Devices []uint16 `json:"devices"`
	Domain  string   `json:"domain,omitempty"`
}

type pluginRunRanked struct {
	Node    string   `json:"node"`
	Tier    uint16   `json:"tier"`
	Loss    float64  `json:"loss"`
	Devices []uint16 `json:"devices"`
	// Seen is what the plugin saw of the node, by column; "" = absent. Empty where
	// another policy decided.
	Seen map[string]string `json:"seen"`
}

type pluginRunRefuse struct {
	Reason string `json:"reason"`
	Dim    string `json:"dim,omitempty"`
	Text   string `json:"text,omitempty"` // the plugin's own
	Nodes  int    `json:"nodes"`
}

type pluginRunMiss struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
	Dim    string `json:"dim,omitempty"`
	Text   string `json:"text,omitempty"`
	Ask    int64  `json:"ask,omitempty"` // base units
	Have   int64  `json:"have,omitempty"`
}

type pluginRunFault struct {
	Code   abi.Code `json:"code"`
	Detail string   `json:"detail"`
	Rule   string   `json:"rule"`
	Effect string   `json:"effect"`
}

// verdictWords are the verdicts as JSON has them.
var verdictWords = [...]string{poise.Placed: "placed", poise.FitsNotNow: "waits", poise.NeverFits: "never-fits"}

func newPluginRunResult(m *policy.Module, t *trial) *pluginRunResult {
	d := &t.decision
	r := &pluginRunResult{
		Plugin: m.Manifest.Name, Version: m.Manifest.Version, Digest: m.Digest, Job: string(d.Job), Verdict: verdictWords[d.Verdict],
		Node: d.Node, Devices: append([]uint16{}, d.Devices...), Policy: d.Policy, Ties: d.Ties, Nodes: d.Nodes, Fitting: d.Fitting,
		Ranked: []pluginRunRanked{}, Refused: []pluginRunRefuse{},
	}
	for i := range d.Ranked {
		c := &d.Ranked[i]
		seen := map[string]string{}
		for _, s := range c.Seen {
			seen[s.Name] = s.Text
		}
		r.Ranked = append(r.Ranked, pluginRunRanked{Node: c.Node, Tier: c.Tier, Loss: c.Loss, Devices: append([]uint16{}, c.Devices...), Seen: seen})
	}
	for _, c := range d.Refused {
		r.Refused = append(r.Refused, pluginRunRefuse{Reason: c.Code.String(), Dim: c.Dim, Text: c.Text, Nodes: c.Nodes})
	}
	if m := d.Nearest; m != nil {
		r.Nearest = &pluginRunMiss{Node: m.Node, Reason: m.Code.String(), Dim: m.Dim, Text: m.Text, Ask: m.Ask, Have: m.Have}
	}
	for i, each := range t.decisions() {
		if t.members != nil {
			r.Tasks = append(r.Tasks, pluginRunTask{Task: i, Job: string(each.Job), Node: each.Node, Devices: append([]uint16{}, each.Devices...), Domain: each.Gang.Domain})
		}
		for _, u := range each.Plugins {
			r.Calls, r.Rows, r.Fuel = r.Calls+u.Calls, r.Rows+u.Rows, r.Fuel+u.Fuel
		}
	}
	if t.fault != "" {
		r.Fault = &pluginRunFault{Code: t.fault, Detail: d.Fault, Rule: ruleName(t.failure), Effect: t.ruled()}
	}
	return r
}
