package shadow

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
)

// Choice is what one policy made of a job.
type Choice struct {
	Verdict poise.Verdict
	Node    string   // "" unless placed
	Devices []uint16 `json:",omitempty"`
	Domain  string   `json:",omitempty"` // of a member of a gang with a topology
	Reason  string   `json:",omitempty"` // where it was not placed: what keeps it off most nodes
}

// Opinion is what a policy says of a node.
type Opinion struct {
	Tier    uint16   `json:",omitempty"` // a node of a lower one is better whatever its loss
	Loss    *float64 `json:",omitempty"` // nil where it is refused, or not known
	Refused string   `json:",omitempty"` // the reason
}

// Difference is a decision on which two policies differ.
type Difference struct {
	Index       uint64 // of the last event that both had seen
	At          poise.Time
	Job         poise.JobID
	Name        string
	Live, Would Choice
	// What each policy says of the node that the other chose, and of its own.
	LiveOnLive, LiveOnWould, WouldOnLive, WouldOnWould Opinion
	// Gang is set for a gang that was to start, which counts once, whatever number of
	// members goes elsewhere: what stands above is then of one member, see Apart.
	Gang *GangDifference `json:",omitempty"`
}

// Knows says whether a decision tells what its policy thinks of a node; "" is no
// node, of which there is nothing to know.
func Knows(d *poise.Decision, node string) bool {
	o := opinionOn(d, node)
	return node == "" || o.Loss != nil || o.Refused != ""
}

// NewDifference compares two decisions that are not the same. What they do not
// tell of a node is left open.
func NewDifference(index uint64, at poise.Time, name string, live, would *sched.GangPlan) Difference {
	l, w := Apart(live, would)
	id := l.Job
	if live.Members == nil {
		id = w.Job
	}
	return Difference{
		Index: index, At: at, Job: id, Name: name, Live: ChoiceOf(l), Would: ChoiceOf(w),
		LiveOnLive: opinionOn(l, l.Node), LiveOnWould: opinionOn(l, w.Node),
		WouldOnLive: opinionOn(w, l.Node), WouldOnWould: opinionOn(w, w.Node), Gang: gangDifference(live, would),
	}
}

// Cost is how much more the shadow's node loses by the policy in force; known is
// false where there is no such number, as between tiers.
func (d *Difference) Cost() (more float64, known bool) {
	return between(d.LiveOnWould, d.LiveOnLive)
}

// Gain is how much more the node of the policy in force loses by the shadow.
func (d *Difference) Gain() (more float64, known bool) {
	return between(d.WouldOnLive, d.WouldOnWould)
}

func between(other, own Opinion) (float64, bool) {
	if other.Loss == nil || own.Loss == nil || other.Tier != own.Tier {
		return 0, false
	}
	return *other.Loss - *own.Loss, true
}

// weight orders differences: one policy refuses what the other chooses, or has it
// in another tier, or the losses are far apart.
func (d *Difference) weight() float64 {
	if d.Live.Verdict != d.Would.Verdict || d.LiveOnWould.Refused != "" || d.WouldOnLive.Refused != "" ||
		d.LiveOnLive.Tier != d.LiveOnWould.Tier || d.WouldOnLive.Tier != d.WouldOnWould.Tier {
		return math.MaxFloat64
	}
	cost, _ := d.Cost()
	gain, _ := d.Gain()
	return max(math.Abs(cost), math.Abs(gain))
}

// ChoiceOf gives what a decision chose.
func ChoiceOf(d *poise.Decision) Choice {
	c := Choice{Verdict: d.Verdict, Node: d.Node, Devices: slices.Clone(d.Devices)}
	switch {
	case d.Verdict == poise.Placed:
	case d.Fault != "":
		c.Reason = short(d.Fault)
	case len(d.Refused) > 0:
		c.Reason = reasonText(d.Refused[0].Code, d.Refused[0].Dim, d.Refused[0].Text)
	}
	switch {
	case d.Gang == nil:
	case d.Verdict == poise.Placed:
		c.Domain = d.Gang.Domain
	case d.Fault == "":
		c.Reason += "; " + d.Gang.String()
	}
	return c
}

func opinionOn(d *poise.Decision, node string) Opinion {
	if node == "" {
		return Opinion{}
	}
	for i := range d.Ranked {
		if d.Ranked[i].Node == node {
			loss := d.Ranked[i].Loss
			return Opinion{Tier: d.Ranked[i].Tier, Loss: &loss}
		}
	}
	for i := range d.Refusals {
		if r := &d.Refusals[i]; r.Node == node {
			return Opinion{Refused: reasonText(r.Code, r.Dim, r.Text)}
		}
	}
	if d.Fault != "" && len(d.Ranked) == 0 {
		return Opinion{Refused: short(d.Fault)}
	}
	return Opinion{}
}

func reasonText(code poise.ReasonCode, dim, text string) string {
	return short(cmp.Or(text, code.String()+suffix(dim)))
}

// short bounds what is kept of a text that a plugin may have part in.
func short(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func suffix(dim string) string {
	if dim == "" {
		return ""
	}
	return ": " + dim
}
