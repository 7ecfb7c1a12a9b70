package poise

import "fmt"

// Gang says that a job is one of several that belong together: the first Min of
// them start at one moment or not at all, the others, which are extra, follow one
// by one where there is room. All members have one tenant and the same
// Gang but for Index.
type Gang struct {
	ID       string    // unique among the gangs of the tenant that wait or run
	Size     int32     // how many members, 2 to MaxGang
	Min      int32     // how many start together, 1 to Size; 0 = Size
	Index    int32     // of this member, 0 to Size-1
	Name     string    `json:",omitempty"` // what people call it; several may share one
	Topology *Topology `json:",omitempty"` // nil: members go wherever there is room
}

// Topology says where the members of a gang go beside each other. A domain is the
// nodes with one value of a label; a node without the label is no candidate.
type Topology struct {
	Key  string // of the label
	Mode string // TopologyPack or TopologySpread
	// MaxSkew is, for TopologySpread, by how much the members in one domain may be
	// more than those in another, 1 or more; for TopologyPack it is 0.
	MaxSkew int32 `json:",omitempty"`
}

// The modes of a Topology: all members in one domain, or evenly over the domains
// that have a node for one.
const (
	TopologyPack   = "pack"
	TopologySpread = "spread"
)

// MaxGang bounds the members of a gang.
const MaxGang = 4096

// GangPlaced commits the decision to start a gang: each request is taken from its
// node, all of them or none.
type GangPlaced struct {
	Placements []Placement // of the first Min members at least, by index
}

// EventKind implements Body.
func (GangPlaced) EventKind() string { return "gang-placed" }

// Least is how many members start together, 1 to Size.
func (g *Gang) Least() int32 {
	if g.Min == 0 {
		return g.Size
	}
	return g.Min
}

// Extra says whether the member is beyond those that start together.
func (g *Gang) Extra() bool { return g.Index >= g.Least() }

// Same says whether two members can be of one gang.
func (g *Gang) Same(o *Gang) bool {
	if g.ID != o.ID || g.Name != o.Name || g.Size != o.Size || g.Least() != o.Least() || (g.Topology == nil) != (o.Topology == nil) {
		return false
	}
	return g.Topology == nil || *g.Topology == *o.Topology
}

// Validate checks every field and names the first that is wrong.
func (g *Gang) Validate(op string) error {
	if err := validName(op, "gang: id", g.ID); err != nil {
		return err
	}
	if g.Size < 2 || g.Size > MaxGang {
		return invalid(op, fmt.Sprintf("gang: size: %d, expected 2 to %d", g.Size, MaxGang))
	}
	if g.Min < 0 || g.Min > g.Size {
		return invalid(op, fmt.Sprintf("gang: min: %d, expected 1 to the size of %d", g.Min, g.Size))
	}
	if g.Index < 0 || g.Index >= g.Size {
		return invalid(op, fmt.Sprintf("gang: index: %d, expected 0 to %d", g.Index, g.Size-1))
	}
	if g.Name != "" {
		if err := validName(op, "gang: name", g.Name); err != nil {
			return err
		}
	}
	if g.Topology == nil {
		return nil
	}
	return g.Topology.Validate(op)
}

// Validate checks key, mode and skew.
func (t *Topology) Validate(op string) error {
	if err := validName(op, "topology: key", t.Key); err != nil {
		return err
	}
	switch t.Mode {
	case TopologyPack:
		if t.MaxSkew != 0 {
			return invalid(op, fmt.Sprintf("topology: max_skew: %d with mode %s, expected none", t.MaxSkew, t.Mode))
		}
	case TopologySpread:
		if t.MaxSkew < 1 || t.MaxSkew > MaxGang {
			return invalid(op, fmt.Sprintf("topology: max_skew: %d, expected 1 to %d", t.MaxSkew, MaxGang))
		}
	default:
		return invalid(op, fmt.Sprintf("topology: mode: %q, expected %s or %s", t.Mode, TopologyPack, TopologySpread))
	}
	return nil
}
