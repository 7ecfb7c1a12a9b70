package client

import "time"

// ShadowSpec says what plugin is to run beside the policy in force.
type ShadowSpec struct {
	Plugin    string            `json:"plugin" example:"cost@1.2.0" doc:"NAME, NAME@VERSION, NAME:TAG or NAME@sha256:DIGITS"`
	Params    map[string]string `json:"params,omitempty"`
	Weight    float64           `json:"weight,omitempty" doc:"Of its loss beside the base's; 0 is in its place"`
	OnFailure string            `json:"on_failure,omitempty" doc:"fallback, reject or last-good; reject where it is not given and the plugin filters, else fallback"`
}

// Shadow is a plugin that runs beside the policy in force, decides nothing, and
// what it has shown.
type Shadow struct {
	Tenant      string             `json:"tenant,omitempty" doc:"Nothing for the cluster's: it is shown the jobs of tenants without a policy of their own"`
	Plugin      string             `json:"plugin"`
	Version     string             `json:"version"`
	Digest      string             `json:"digest"`
	Params      map[string]string  `json:"params,omitempty"`
	Weight      float64            `json:"weight,omitempty"`
	OnFailure   string             `json:"on_failure"`
	By          string             `json:"by,omitempty" doc:"Who started it"`
	Since       time.Time          `json:"since" doc:"When it began, or what is in force beside it changed: then the figures begin anew"`
	Decisions   int64              `json:"decisions" doc:"Live decisions that were compared"`
	Dropped     int64              `json:"dropped" doc:"Those that it was too busy for"`
	Agreed      int64              `json:"agreed" doc:"Same node and devices, or none"`
	Agreement   float64            `json:"agreement" doc:"As a part of the decisions"`
	SameVerdict int64              `json:"same_verdict" doc:"Placed by both or by none, for the same kind of wait"`
	Verdicts    float64            `json:"verdict_agreement" doc:"As a part of the decisions"`
	Faulted     int64              `json:"faulted" doc:"Decisions with a fault of the plugin"`
	Faults      map[string]int64   `json:"faults,omitempty" doc:"By code"`
	Fuel        ShadowFuel         `json:"fuel"`
	Cost        ShadowSpread       `json:"cost" doc:"How much more the shadow's node loses by the policy in force, where they differ"`
	Gain        ShadowSpread       `json:"gain" doc:"How much more the live node loses by the shadow, where they differ"`
	Latest      []ShadowDifference `json:"latest" doc:"Decisions that differ, the latest first"`
	Largest     []ShadowDifference `json:"largest" doc:"Those that differ most, the largest first"`
	Fleet       *ShadowRerun       `json:"fleet,omitempty" doc:"What the fleet would be like, where that was asked for"`
}

// ShadowFuel is what a shadow's plugin uses, in weighted units.
type ShadowFuel struct {
	PerDecision float64 `json:"per_decision" doc:"Mean"`
	Most        int64   `json:"most" doc:"Of one decision"`
	Budget      int64   `json:"budget" doc:"For one decision about every node"`
	PerSecond   int64   `json:"per_second" doc:"That it may use"`
}

// ShadowSpread is how losses are spread.
type ShadowSpread struct {
	Count int64        `json:"count"`
	Mean  float64      `json:"mean"`
	Most  float64      `json:"most"`
	Bands []ShadowBand `json:"bands,omitempty"`
}

// ShadowBand counts losses up to an end and above the one before.
type ShadowBand struct {
	UpTo  *float64 `json:"up_to,omitempty" doc:"Nothing for the last band, which has no end"`
	Count int64    `json:"count"`
}

// ShadowChoice is what one policy made of a job.
type ShadowChoice struct {
	Verdict string   `json:"verdict" enum:"placed,fits-not-now,never-fits,over-quota,behind-others"`
	Node    string   `json:"node,omitempty"`
	Devices []uint16 `json:"devices,omitempty"`
	Domain  string   `json:"domain,omitempty" doc:"That a member of a gang with a topology goes to"`
	Reason  string   `json:"reason,omitempty" doc:"Why it was not placed"`
}

// ShadowOpinion is what a policy says of a node: a loss, the reason why it is
// refused, or nothing where that is not known.
type ShadowOpinion struct {
	Tier    uint16   `json:"tier,omitempty" doc:"A node of a lower one is better whatever its loss"`
	Loss    *float64 `json:"loss,omitempty"`
	Refused string   `json:"refused,omitempty"`
}

// ShadowGang is how the shadow differs on a gang that was to start.
type ShadowGang struct {
	Tasks   int32          `json:"tasks" doc:"That start together"`
	Differ  int32          `json:"differ" doc:"Of these, tasks that go elsewhere; all where only one of the two starts the gang"`
	Members []ShadowMember `json:"members" doc:"The first 16 of them, by index"`
}

// ShadowMember is a member of a gang for which the shadow chooses otherwise.
type ShadowMember struct {
	Job   string       `json:"job" doc:"Id"`
	Index int32        `json:"index"`
	Live  ShadowChoice `json:"live"`
	Would ShadowChoice `json:"would"`
}

// ShadowDifference is a decision on which the shadow differs. A gang that was to start
// is one decision: its losses are of the first member, in the order in which they are
// placed, on which the two differ.
type ShadowDifference struct {
	Index       uint64        `json:"index" doc:"Of the last event that both had seen"`
	At          time.Time     `json:"at"`
	Job         string        `json:"job" doc:"Id; of a gang, of the member whose losses these are"`
	Name        string        `json:"name" doc:"Of the job or the gang"`
	Gang        *ShadowGang   `json:"gang,omitempty" doc:"Nothing for a single job"`
	Live        ShadowChoice  `json:"live"`
	Would       ShadowChoice  `json:"would"`
	LiveOnLive  ShadowOpinion `json:"live_on_live" doc:"What the policy in force says of its node"`
	LiveOnWould ShadowOpinion `json:"live_on_would" doc:"And of the shadow's"`
	WouldOnLive ShadowOpinion `json:"would_on_live" doc:"What the shadow says of the live node"`
	WouldOnOwn  ShadowOpinion `json:"would_on_would" doc:"And of its own"`
}

// ShadowRerun is what the fleet is like, and would be if the shadow had decided
// the recorded jobs.
type ShadowRerun struct {
	Running   bool        `json:"running" doc:"It is not done yet"`
	Error     string      `json:"error,omitempty"`
	From      uint64      `json:"from" doc:"Index of the event after which jobs were decided anew"`
	To        uint64      `json:"to" doc:"Index of the last event that it has seen"`
	Live      ShadowFleet `json:"live"`
	Would     ShadowFleet `json:"would"`
	Decided   int         `json:"decided" doc:"Placements of the tenant that were decided anew"`
	Moved     int         `json:"moved" doc:"Of these, to another node or to none"`
	Displaced int         `json:"displaced" doc:"Others' tasks that were in the way and went elsewhere"`
	Waiting   int         `json:"waiting" doc:"Jobs that have a place in fact and would wait"`
	Placed    int         `json:"placed" doc:"Jobs that wait in fact and would have a place"`
}

// ShadowFleet says how full and balanced a fleet is.
type ShadowFleet struct {
	Fill     map[string]float64 `json:"fill" doc:"Allocated part by resource"`
	Stranded int64              `json:"stranded" doc:"Free devices on nodes where nothing fits that was asked for"`
	Balance  float64            `json:"balance" doc:"Mean balance degree of the nodes, 1 is best"`
}

// Gate is what a shadow must have shown for its plugin to be put in force.
type Gate struct {
	Agreement    float64 `json:"agreement" doc:"At least, 0 to 1"`
	MinDecisions int64   `json:"min_decisions" doc:"At least"`
	MaxFaults    *int64  `json:"max_faults,omitempty" doc:"Decisions with a fault, at most; any number where it is not given"`
}
