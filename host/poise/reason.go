package poise

// ReasonCode says why a row is not a candidate. The order of the codes is the
// order in which a row is tested, so each row has one reason: what lasts as
// long as the node describes itself as it does comes first, what passes last, which is
// IdleShort, DeviceIdleShort and PortTaken. Those from PoolOverQuota on, but for
// PortTaken, are of what keeps one job or gang off, which is asked last.
type ReasonCode uint8

// The reasons of the native filters.
const (
	Fits ReasonCode = iota
	SelectorMismatch
	TaintNotTolerated
	DeviceKindMissing
	DeviceModelMismatch
	DeviceExclusive // asks for a share where only whole devices are given out
	CapacityShort   // in one dimension the node is too small, even empty
	DeviceCapacityShort
	NodeNotReady
	NodeDrained
	IdleShort // in one dimension too little is idle now
	DeviceIdleShort
	PolicyRefused   // by a policy's filter, see NewPolicyReason
	PolicyFaulted   // a policy failed, and its failure rule is to wait
	PoolOverQuota   // of the node's device model or class, a tenant would hold more than it may
	Reserved        // kept for jobs that go before
	NoTopologyLabel // the node lacks the label that the gang's topology goes by
	OtherDomain     // its gang is in another domain of the topology
	SkewReached     // its domain has as many members of the gang as the others permit
	PortTaken       // of a port that it asks for, or one that stands in its way
	NoDomain        // the node lacks a label that a rule of the job about pods goes by
	FarFromPods     // nothing is near that the job has to be near
	NearPods        // near what the job keeps away from
	KeptAway        // near what keeps the job away
	Uneven          // its spread rule permits no more there
	ReasonCodes     // how many codes there are
)

var reasonTexts = [ReasonCodes]string{
	"fits", "selector does not match", "taint not tolerated", "no such device", "other device model",
	"gives out whole devices only", "node too small", "too few devices",
	"not ready", "drained", "not enough idle", "not enough idle devices", "refused by a policy", "its policy failed", "over the quota of its model or class", "kept for jobs before it",
	"without the label of the gang's topology", "in another domain than the gang", "enough of the gang in its domain",
	"port taken", "without a label that its rules go by", "not near what it has to be near", "near what it keeps away from", "near what keeps it away", "uneven by its spread rule",
}

// String gives the reason as a person reads it.
func (c ReasonCode) String() string {
	if c >= ReasonCodes {
		return "unknown reason"
	}
	return reasonTexts[c]
}

// Lasting says whether a row with this reason could not hold the job even if
// it were empty, ready and not drained.
func (c ReasonCode) Lasting() bool {
	return c != Fits && c < NodeNotReady || c == NoTopologyLabel || c == NoDomain
}

// NewPolicyReason packs the reason code of a policy's filter, 1 to 255, and which
// of the filters of the stack it is, from 0.
func NewPolicyReason(filter int, code uint8) Reason {
	return NewReason(PolicyRefused, filter<<8|int(code))
}

// Policy gives the filter and the code of a reason that a policy gave.
func (r Reason) Policy() (filter int, code uint8) { return r.Dim() >> 8, uint8(r.Dim()) }

// Reason is a code and, for CapacityShort and IdleShort, the index of the
// dimension in the snapshot; 0 keeps the row.
type Reason uint32

// Undeclared is the dimension of a CapacityShort in a name that no node has
// ever declared.
const Undeclared = 1<<24 - 1

// NewReason packs a code and a dimension index.
func NewReason(c ReasonCode, dim int) Reason { return Reason(c) | Reason(dim)<<8 }

// Code is the reason's code.
func (r Reason) Code() ReasonCode { return ReasonCode(r & 0xff) }

// Dim is the reason's dimension index; meaningless for codes without one.
func (r Reason) Dim() int { return int(r >> 8) }
