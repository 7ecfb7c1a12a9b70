package poise

import (
	"fmt"
	"slices"
)

// Pod is what a job asks beyond amounts, devices, selectors and tolerations, in
// the terms of Kubernetes. It is immutable. Its labels, by which rules of others
// find it, are those of the job.
type Pod struct {
	Cluster string       // that it belongs to: what rules count is on nodes of that
	Space   string       // namespace that it is in
	AnyOf   []Term       `json:",omitempty"` // the node matches one of them; none = every node does
	Prefer  []Preference `json:",omitempty"`
	Ports   []Port       `json:",omitempty"` // of the node, that it takes
	Rules   []PodRule    `json:",omitempty"`
	Spread  []SpreadRule `json:",omitempty"`
	// NoPreemption: nobody ends for it, as preemptionPolicy Never has it.
	NoPreemption bool `json:",omitempty"`
}

// Term is requirements on a node's labels that all have to match.
type Term []Selector

// Preference is a Term that a node had better match, the more the larger its
// weight.
type Preference struct {
	Weight int32 // 1 to 100
	Term   Term
}

// Port is a port of a node. Two tasks of one node may not have the same one of
// the same protocol, on one address or where one of them takes all addresses.
type Port struct {
	Protocol string // "TCP", "UDP" or "SCTP"
	IP       string // "" = all addresses of the node
	Number   int32  // 1 to 65535
}

// PodRule has a job near others or away from them. Near is a node with the same
// value of a label; a node without the label is near nothing.
type PodRule struct {
	Key    string     // of the label
	Apart  bool       // away from them
	Spaces []string   `json:",omitempty"` // namespaces that they are in, sorted; none = any
	Labels []Selector `json:",omitempty"` // all match theirs; none = any
	// Weight is how much it matters, 1 to 100; 0 = it is required. A job's required
	// rule to keep away holds for others as well: they keep away from it.
	Weight int32 `json:",omitempty"`
}

// SpreadRule keeps jobs of the same namespace even over the domains of a label:
// where the job goes, those that match may be at most MaxSkew more than where they
// are fewest. PodTopologySpread of Kubernetes is where its fields are from.
type SpreadRule struct {
	Key         string     // of the label; a node without it is no candidate
	MaxSkew     int32      // 1 or more
	MinDomains  int32      `json:",omitempty"` // with fewer, the fewest count as 0
	Labels      []Selector `json:",omitempty"` // all match those that are counted; none = any
	Soft        bool       `json:",omitempty"` // it had better be, and need not
	AnyNode     bool       `json:",omitempty"` // nodes count that the job's selectors and terms refuse
	HonorTaints bool       `json:",omitempty"` // nodes do not count whose taints it does not tolerate
}

// Occupant is what takes of a node without a decision of this scheduler: a pod of
// a DaemonSet or of another scheduler. It may take more than there is.
type Occupant struct {
	ID      string // unique among those that are there
	Name    string // what people call it
	Node    string
	Request Request
	Labels  []Label `json:",omitempty"`
	Pod     *Pod    `json:",omitempty"` // nil: it is in no namespace, and no rule finds it
	Ending  bool    `json:",omitempty"` // it is told to end: spread rules pass it over
}

// NodeOccupied says that an occupant is on a node. It replaces what was said of it
// before, on whichever node.
type NodeOccupied struct{ Occupant Occupant }

// NodeVacated says that an occupant is gone.
type NodeVacated struct{ ID string }

// EventKind implements Body.
func (NodeOccupied) EventKind() string { return "node-occupied" }

// EventKind implements Body.
func (NodeVacated) EventKind() string { return "node-vacated" }

// maxPodRules bounds each list of a Pod.
const maxPodRules = 256

// Matches says whether a node with these labels (sorted by key) matches the term.
func (t Term) Matches(labels []Label) bool { return matchesAll(t, labels) }

func matchesAll(selectors []Selector, labels []Label) bool {
	for i := range selectors {
		if !selectors[i].Matches(labels) {
			return false
		}
	}
	return true
}

// String gives the port as "TCP 8080" or "TCP 10.0.0.1:8080".
func (p *Port) String() string {
	if p.IP == "" {
		return fmt.Sprintf("%s %d", p.Protocol, p.Number)
	}
	return fmt.Sprintf("%s %s:%d", p.Protocol, p.IP, p.Number)
}

// Overlaps says whether two ports cannot both be taken of one node.
func (p *Port) Overlaps(o *Port) bool {
	return p.Number == o.Number && p.Protocol == o.Protocol && (p.IP == "" || o.IP == "" || p.IP == o.IP)
}

// Finds says whether the rule is about a job with these labels in a namespace.
func (r *PodRule) Finds(space string, labels []Label) bool {
	if len(r.Spaces) > 0 {
		if _, found := slices.BinarySearch(r.Spaces, space); !found {
			return false
		}
	}
	return matchesAll(r.Labels, labels)
}

// Required says whether the rule is no mere preference.
func (r *PodRule) Required() bool { return r.Weight == 0 }

// Validate checks every field; op names the owner in errors.
func (p *Pod) Validate(op string) error {
	if err := validName(op, "cluster", p.Cluster); err != nil {
		return err
	}
	if err := validName(op, "namespace", p.Space); err != nil {
		return err
	}
	for _, n := range []int{len(p.AnyOf), len(p.Prefer), len(p.Ports), len(p.Rules), len(p.Spread)} {
		if n > maxPodRules {
			return invalid(op, fmt.Sprintf("pod: %d rules of one kind, expected at most %d", n, maxPodRules))
		}
	}
	for i := range p.AnyOf {
		if err := validTerm(op, p.AnyOf[i]); err != nil {
			return err
		}
	}
	for i := range p.Prefer {
		if w := p.Prefer[i].Weight; w < 1 || w > 100 {
			return invalid(op, fmt.Sprintf("preference: weight %d, expected 1 to 100", w))
		}
		if err := validTerm(op, p.Prefer[i].Term); err != nil {
			return err
		}
	}
	for i := range p.Ports {
		if err := p.Ports[i].validate(op); err != nil {
			return err
		}
	}
	for i := range p.Rules {
		if err := p.Rules[i].validate(op); err != nil {
			return err
		}
	}
	for i := range p.Spread {
		if err := p.Spread[i].validate(op); err != nil {
			return err
		}
	}
	return nil
}

func validTerm(op string, selectors []Selector) error {
	for i := range selectors {
		if err := selectors[i].Validate(); err != nil {
			return &Error{Kind: Invalid, Op: op, Err: err}
		}
	}
	return nil
}

func (p *Port) validate(op string) error {
	switch {
	case p.Protocol != "TCP" && p.Protocol != "UDP" && p.Protocol != "SCTP":
		return invalid(op, fmt.Sprintf("port: protocol %q, expected TCP, UDP or SCTP", p.Protocol))
	case p.Number < 1 || p.Number > 65535:
		return invalid(op, fmt.Sprintf("port: %d, expected 1 to 65535", p.Number))
	}
	return nil
}

func (r *PodRule) validate(op string) error {
	switch {
	case r.Key == "":
		return invalid(op, "pod rule: key: empty, expected a label key of nodes")
	case r.Weight < 0 || r.Weight > 100:
		return invalid(op, fmt.Sprintf("pod rule: weight %d, expected 0 for required or 1 to 100", r.Weight))
	case !slices.IsSorted(r.Spaces):
		return invalid(op, fmt.Sprintf("pod rule: namespaces %q, expected them sorted", r.Spaces))
	}
	return validTerm(op, r.Labels)
}

func (r *SpreadRule) validate(op string) error {
	switch {
	case r.Key == "":
		return invalid(op, "spread: key: empty, expected a label key of nodes")
	case r.MaxSkew < 1:
		return invalid(op, fmt.Sprintf("spread: max skew %d, expected 1 or more", r.MaxSkew))
	case r.MinDomains < 0:
		return invalid(op, fmt.Sprintf("spread: min domains %d, expected 0 or more", r.MinDomains))
	}
	return validTerm(op, r.Labels)
}

// Validate checks every field and names the first that is wrong.
func (o *Occupant) Validate() error {
	op := fmt.Sprintf("occupant %q", o.ID)
	for _, f := range []struct{ field, text string }{{"id", o.ID}, {"name", o.Name}, {"node", o.Node}} {
		if err := validName(op, f.field, f.text); err != nil {
			return err
		}
	}
	if err := o.Request.Validate(op); err != nil {
		return err
	}
	if err := validLabels(op, o.Labels); err != nil {
		return err
	}
	if o.Pod == nil {
		return nil
	}
	return o.Pod.Validate(op)
}
