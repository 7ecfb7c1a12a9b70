package poise

import "fmt"

// GangPart is what a decision about a member of a gang says of the gang. Where the
// gang was not placed, one decision speaks for all: Index is then the member that
// did not fit.
type GangPart struct {
	ID       string
	Index    int32
	Size     int32
	Min      int32
	Fitted   int32  // members that had a place before this one
	Topology string `json:",omitempty"` // mode and key, "" = none
	Domain   string `json:",omitempty"` // that this member went to
	Held     bool   `json:",omitempty"` // it went to the node that was kept for it
}

// String says how far a gang came that was not placed.
func (g *GangPart) String() string {
	topology := ""
	if g.Topology != "" {
		topology = " (" + g.Topology + ")"
	}
	return fmt.Sprintf("gang of %d%s: %d of the %d that start together fit, then task %d did not", g.Size, topology, g.Fitted, g.Min, g.Index)
}
