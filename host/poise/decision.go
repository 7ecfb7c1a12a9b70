package poise

// Verdict is the outcome of one attempt to place a job.
type Verdict uint8

// The verdicts.
const (
	Placed Verdict = iota
	FitsNotNow
	NeverFits // no present node could hold it, even empty
	OverQuota // a tenant would hold more than it may
	// BehindOthers: some nodes could hold it now, and all of these are kept for
	// jobs that go before.
	BehindOthers
	Verdicts // how many there are
)

var verdictNames = [...]string{"placed", "fits, but not now", "never fits the present nodes", "over quota", "behind others"}

// String gives the verdict as a person reads it.
func (v Verdict) String() string { return verdictNames[v] }

// Decision records one attempt to place a job, with all that is needed to
// explain it. Snapshot, configuration and seed give the same Decision again. The
// history keeps it as JSON, where a list that is empty takes no room.
type Decision struct {
	Job     JobID
	Verdict Verdict
	Node    string   // "" unless placed
	Devices []uint16 `json:",omitempty"` // indexes of the chosen devices, ascending

	Now     Time `json:",omitempty"` // when it was made
	Policy  string
	Ties    string // name of the tie rule
	Seed    uint64
	Version uint64 // row version counter of the snapshot
	Epoch   uint64 // demand profile in force
	Nodes   int    // nodes in the fleet
	Fitting int    // nodes that passed the filters and are not kept from the job

	// Quota is what is in the way of a job that is over quota. No node was looked at
	// then, unless it is the quota of a pool that keeps it off every node that has
	// room.
	Quota *QuotaMiss `json:",omitempty"`

	// Gang is set for a member of a gang that starts, or waits to.
	Gang *GangPart `json:",omitempty"`

	// Plugins are the plugins that were asked, and what they used.
	Plugins []PluginUse `json:",omitempty"`
	// Fault is why a policy's answer is not in this decision, "" = none failed.
	Fault string

	// Looked counts the rows whose answer was computed for this decision; the
	// others were known from before.
	Looked int

	// Reasons are the distinct reasons of the refused nodes, in no order that
	// matters, where the job was not placed: what could help it.
	Reasons []Reason `json:",omitempty"`

	// Filled where the full decision was asked for.
	Refused []ReasonCount `json:",omitempty"` // by falling count, then code, then dimension
	LeftOut []LeftOut     `json:",omitempty"` // of these, what the model of node classes showed without a look at the node
	Nearest *Miss         `json:",omitempty"` // nil when placed or behind others
	// Misses has, per dimension and for the devices, the node that misses least in
	// it, of those that only amounts keep the job off. Empty when placed or behind
	// others, as is Helps.
	Misses []Miss   `json:",omitempty"`
	Helps  []Help   `json:",omitempty"` // the single changes that would help now, most nodes first, and last to do without a device; empty when placed
	Ranked []Ranked `json:",omitempty"` // the best candidates, best first; all of them where everything was asked for

	// Refusals are all refused nodes, by name, where everything was asked for.
	Refusals []Refusal `json:",omitempty"`
}

// Cause gives the refusal that the verdict rests on, nil where no node was refused:
// of a job that no node could hold, what the nodes lack that came furthest in the
// order of the tests, and nothing where only its gang is too large; of another one
// that waits, what keeps it off most nodes of those that could hold it when they are
// empty.
func (d *Decision) Cause() *ReasonCount {
	var cause *ReasonCount
	for i := range d.Refused {
		c := &d.Refused[i]
		switch {
		case d.Verdict == NeverFits:
			if c.Code.Lasting() && (cause == nil || c.Code > cause.Code) {
				cause = c
			}
		case d.Verdict == BehindOthers && c.Code == Reserved, d.Verdict == OverQuota && c.Code == PoolOverQuota:
			return c
		case cause == nil, c.Code.depth() < cause.Code.depth():
			cause = c
		}
	}
	return cause
}

// depth ranks reasons as causes of a wait: what may change, then where the rest of the
// gang goes, which follows from that, then what lasts.
func (c ReasonCode) depth() int {
	switch {
	case c.Lasting():
		return 2
	case c == OtherDomain:
		return 1
	}
	return 0
}

// Summary says in a line why a decision found no place: the verdict, what it rests
// on, and how far its gang came.
func (d *Decision) Summary() string {
	text := d.Verdict.String()
	if d.Fault != "" && len(d.Refused) == 0 { // the rule of a plugin that failed
		return text + ": policy failed: " + d.Fault
	}
	if d.Verdict == OverQuota && d.Quota != nil {
		text += " of " + d.Quota.Resource
	} else if c := d.Cause(); c != nil {
		text += ": " + c.Code.String()
		if c.Dim != "" {
			text += " (" + c.Dim + ")"
		}
		if c.Text != "" {
			text += ": " + c.Text
		}
	}
	if d.Gang != nil && d.Verdict != Placed {
		text += "; " + d.Gang.String()
	}
	return text
}

// ReasonCount is how many nodes were refused for one reason.
type ReasonCount struct {
	Code  ReasonCode
	Dim   string // for CapacityShort and IdleShort
	Text  string // for PolicyRefused: the policy's own words
	Nodes int
}

// Refusal is one node that was refused, with its reason as in ReasonCount.
type Refusal struct {
	Node      string
	Code      ReasonCode
	Dim, Text string
}

// PluginUse is what one plugin did for one decision.
type PluginUse struct {
	Name   string
	Digest string // sha256 of its module, in hex
	Calls  int
	Rows   int
	Fuel   int64 // weighted units
}

// LeftOut is how many nodes of a class were left out for one reason that holds
// for all of them: each may have another one that is tested first.
type LeftOut struct {
	Class string
	Code  ReasonCode
	Dim   string // as in ReasonCount
	Nodes int
}

// Miss is the node that came nearest to fitting, and by what it missed.
type Miss struct {
	Node   string
	Code   ReasonCode
	Dim    string // dimension or device kind
	Text   string // for PolicyRefused: the policy's own words
	Ask    int64  // base units
	Have   int64
	Beyond int64 // Ask - Have: what is missing
}

// Ranked is one candidate with its loss and how it came about.
type Ranked struct {
	Node string
	Tier uint16
	Loss float64 // rounded as ranked
	// Near and Uneven come between tier and loss, where a pod prefers places by what
	// is there: a larger Near is better, then a smaller Uneven.
	Near, Uneven int64     `json:",omitempty"`
	Devices      []uint16  `json:",omitempty"`
	Formula      string    // "spread", "demand", or the name of another scorer
	Columns      []Column  `json:",omitempty"` // empty for scorers that do not explain themselves
	Seen         []Reading `json:",omitempty"` // what plugins saw of the node
}

// Reading is one value that a plugin saw, as a person reads it: a column of the
// node's row, or a count of a domain that the node is in.
type Reading struct {
	Name string
	Text string // "" = absent
}

// Column is one column of the two matrices of the idle-balance loss for one
// candidate: idle weight, balance degree before and after the placement, and
// the entries M1 = Weight*Before and M2 = Weight*After. The loss is the sum
// over columns of Factor * (M1 - M2).
type Column struct {
	Name          string
	Factor        float64
	Weight        float64
	Before, After float64
	M1, M2        float64
}
