package client

import "time"

// Decision is one attempt to place a job, with all that explains it.
type Decision struct {
	Job      string        `json:"job" doc:"Id of the job"`
	Verdict  string        `json:"verdict" enum:"placed,fits-not-now,never-fits,over-quota,behind-others"`
	Node     string        `json:"node,omitempty"`
	Devices  []uint16      `json:"devices,omitempty"`
	Now      time.Time     `json:"now,omitzero" doc:"When it was made"`
	Policy   string        `json:"policy"`
	Ties     string        `json:"ties" doc:"Name of the tie rule"`
	Seed     uint64        `json:"seed"`
	Version  uint64        `json:"version" doc:"Row version counter of the snapshot"`
	Epoch    uint64        `json:"epoch" doc:"Demand profile in force"`
	Nodes    int           `json:"nodes" doc:"Nodes in the fleet"`
	Fitting  int           `json:"fitting" doc:"Nodes that passed the filters and are not kept from the job"`
	Plugins  []PluginUse   `json:"plugins,omitempty"`
	Fault    string        `json:"fault,omitempty" doc:"Why a policy's answer is not in it"`
	Looked   int           `json:"looked" doc:"Rows whose answer was computed for it"`
	Reasons  []uint32      `json:"reasons,omitempty" doc:"Distinct reasons of the refused nodes, as the scheduler packs them"`
	Refused  []ReasonCount `json:"refused,omitempty"`
	LeftOut  []LeftOut     `json:"left_out,omitempty" doc:"Of the refused, what the model of node classes showed"`
	Nearest  *Miss         `json:"nearest,omitempty"`
	Misses   []Miss        `json:"misses,omitempty" doc:"Per resource, the node that misses least in it"`
	Helps    []Help        `json:"helps,omitempty" doc:"Single changes that would let it fit now"`
	Quota    *QuotaMiss    `json:"quota,omitempty" doc:"What is in the way of a job that is over quota"`
	Gang     *GangPart     `json:"gang,omitempty" doc:"Of a member of a gang that starts, or waits to; where the gang was not placed, this decision speaks for all of it"`
	Ranked   []Ranked      `json:"ranked,omitempty" doc:"The best candidates, best first"`
	Refusals []Refusal     `json:"refusals,omitempty"`
}

// GangPart is what a decision about a member of a gang says of the gang.
type GangPart struct {
	ID       string `json:"id"`
	Index    int32  `json:"index" doc:"Of the member; where the gang was not placed, of the first that did not fit"`
	Size     int32  `json:"size"`
	Min      int32  `json:"min" doc:"How many start together"`
	Fitted   int32  `json:"fitted" doc:"Members that had a place before this one"`
	Topology string `json:"topology,omitempty" example:"pack by rack"`
	Domain   string `json:"domain,omitempty" doc:"That the member went to"`
	Held     bool   `json:"held,omitempty" doc:"It went to the node that was kept for it"`
}

// PluginUse is what one plugin did for one decision.
type PluginUse struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Calls  int    `json:"calls"`
	Rows   int    `json:"rows"`
	Fuel   int64  `json:"fuel"`
}

// ReasonCount is how many nodes were refused for one reason.
type ReasonCount struct {
	Code  Reason `json:"code"`
	Dim   string `json:"resource,omitempty"`
	Text  string `json:"text,omitempty" doc:"A policy's own words"`
	Nodes int    `json:"nodes"`
}

// Refusal is one node that was refused.
type Refusal struct {
	Node string `json:"node"`
	Code Reason `json:"code"`
	Dim  string `json:"resource,omitempty"`
	Text string `json:"text,omitempty"`
}

// LeftOut is how many nodes of a class were left out for one reason.
type LeftOut struct {
	Class string `json:"class"`
	Code  Reason `json:"code"`
	Dim   string `json:"resource,omitempty"`
	Nodes int    `json:"nodes"`
}

// Miss is the node that came nearest, and by what it missed, in base units.
type Miss struct {
	Node   string `json:"node"`
	Code   Reason `json:"code"`
	Dim    string `json:"resource,omitempty"`
	Text   string `json:"text,omitempty"`
	Ask    int64  `json:"ask"`
	Have   int64  `json:"have"`
	Beyond int64  `json:"beyond"`
}

// Help is one thing that, by itself, would let the job fit on a node now.
type Help struct {
	Code   Reason `json:"code" doc:"What stands in the way"`
	Dim    string `json:"resource,omitempty"`
	What   string `json:"what,omitempty" doc:"The selector's key, the taint, the device model, or a policy's own words"`
	Beyond int64  `json:"beyond,omitempty" doc:"What it asks for too much there, in base units"`
	Node   string `json:"node"`
	Nodes  int    `json:"nodes" doc:"On how many nodes nothing else is in the way"`
}

// QuotaMiss is the quota in the way of a job, in base units.
type QuotaMiss struct {
	Tenant   string `json:"tenant" doc:"The job's own, or one above it"`
	Resource string `json:"resource"`
	Used     int64  `json:"used"`
	Ask      int64  `json:"ask"`
	Limit    int64  `json:"limit"`
	Withheld int64  `json:"withheld,omitempty" doc:"What the fleet keeps for the guarantees of others, where that is in the way"`
}

// Ranked is one candidate with its loss and how it came about.
type Ranked struct {
	Node    string    `json:"node"`
	Tier    uint16    `json:"tier"`
	Near    int64     `json:"near,omitempty" doc:"Weights of preferences about pods that are near, between tier and loss; larger is better"`
	Uneven  int64     `json:"uneven,omitempty" doc:"How many pods of a soft spread rule are there, weighed, after near; smaller is better"`
	Loss    float64   `json:"loss" doc:"Smaller is better"`
	Devices []uint16  `json:"devices,omitempty"`
	Formula string    `json:"formula,omitempty"`
	Columns []Column  `json:"columns,omitempty"`
	Seen    []Reading `json:"seen,omitempty" doc:"What plugins saw of the node"`
}

// Reading is one value that a plugin saw.
type Reading struct {
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
}

// Column is one column of the two matrices of the loss for one candidate.
type Column struct {
	Name   string  `json:"name"`
	Factor float64 `json:"factor"`
	Weight float64 `json:"weight"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	M1     float64 `json:"m1"`
	M2     float64 `json:"m2"`
}

// DecisionRecord is a decision with when it was made.
type DecisionRecord struct {
	Index    uint64    `json:"index" doc:"Of the event that committed it, or was the latest at the time"`
	At       time.Time `json:"at"`
	Name     string    `json:"name" doc:"The job's"`
	Tenant   string    `json:"tenant"`
	Attempt  int       `json:"attempt"`
	Decision Decision  `json:"decision"`
}

// DecisionFilter says which decisions are listed, newest first.
type DecisionFilter struct {
	Job     string // name or id, "" = any
	Node    string // that was chosen, "" = any
	Verdict string // "" = any
	Limit   int    // at most so many, 1 to MaxPage
	After   string // DecisionPage.Next of the page before, "" = from the first
}

// DecisionPage is some of the decisions that were asked for.
type DecisionPage struct {
	Decisions []DecisionRecord `json:"decisions"`
	Next      string           `json:"next,omitempty" doc:"The parameter after of the next page; nothing where this is the last"`
}
