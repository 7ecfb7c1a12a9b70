package poise

import "fmt"

// GangPart is what a decision about a member of a gang says of the gang. Where the
// gang was not placed, one decision speaks for all: Index is then the member that
// did not fit.
type GangPart struct {
	ID     string
	Index  int32
	Size   int32
	Min    int32
	Fitted int32  // members that had a place before this one
	Domain string `json:",omitempty"` // that this member went to, of the key of its topology
}

// String says how far a gang came that was not placed.
func (g *GangPart) String() string {
	return fmt.Sprintf("gang of %d: %d of the %d that start together fit, then member %d did not", g.Size, g.Fitted, g.Min, g.Index)
}
