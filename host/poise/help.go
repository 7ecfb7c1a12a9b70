package poise

// Help is one thing that, by itself, would let a job fit on a node now: nothing
// else stands in the way there. What is said of a job that waits is made of it.
type Help struct {
	Code ReasonCode // what stands in the way
	Dim  string     // dimension or device kind, where the reason has one
	// What is the one thing meant, where there may be several: the key of a
	// selector, a taint, a policy's own words.
	What string `json:",omitempty"`
	// Beyond is the least that the job asks for too much on such a node, in base
	// units; 0 for what is not an amount.
	Beyond int64  `json:",omitempty"`
	Node   string // the node of that; of equal ones the first by name
	Nodes  int    // on how many nodes nothing else is in the way
}
