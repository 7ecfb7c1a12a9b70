package kube

import "github.com/poise-sched/poise/host/poise"

// Change is something that happened in a cluster, in the terms of the core. The
// rest of this file and SpaceOf are all there are.
type Change interface{ isChange() }

// Synced is all that is in the cluster. It comes once in each Follow, before any
// change but Lost and Back: what is not in it is gone.
type Synced struct {
	Identity  string       // see Cluster.Identity
	Nodes     []poise.Node // by name
	Spaces    []SpaceOf
	Occupants []poise.Occupant
	Waiting   []PodWaits
	Bound     []PodBound
}

// NodeSeen is a node that is new or has changed. It is there before anything that
// is said to be on it.
type NodeSeen struct{ Node poise.Node }

// NodeGone is a node that has left, and all that was on it. One that left while
// pods were on it is seen as not ready until they are gone.
type NodeGone struct{ Name string }

// PodWaits is a pod that asks for Poise, is new or has changed, and waits. With a
// reason in Refused it must not be placed, and with Until not yet. Those of a gang are
// told all at once, when all are there.
type PodWaits struct {
	Job     poise.Job
	Refused []string
	Created poise.Time // by the API server's clock
	Until   string
}

// PodOccupies is a pod that somebody else put on a node, or that has changed.
type PodOccupies struct{ Occupant poise.Occupant }

// PodBound is a pod that Poise has put on a node, as the cluster has it. It ends by
// Watch under its placement.
type PodBound struct {
	Job       poise.Job
	Node      string
	Placement string
	Ending    bool // it is told to end
	// Of is the job that Poise made the pod for, "" where the pod is the job itself.
	Of      poise.JobID
	Created poise.Time // by the API server's clock
}

// PodGone is a pod that waited, occupied or was bound, and is no more: deleted, or
// over. One whose bind is under way may have been bound all the same: Bind or Watch
// says so. How a placement ended is told by Watch, before or after this.
type PodGone struct{ ID poise.JobID }

// Lost says that the cluster has not been read for a while: what is known of it
// may be wrong, and nothing new should go there.
type Lost struct {
	Since  poise.Time
	Reason string
}

// Back says that the cluster is read again; what changed meanwhile follows.
type Back struct{}

func (Synced) isChange()      {}
func (NodeSeen) isChange()    {}
func (NodeGone) isChange()    {}
func (PodWaits) isChange()    {}
func (PodOccupies) isChange() {}
func (PodBound) isChange()    {}
func (PodGone) isChange()     {}
func (Lost) isChange()        {}
func (Back) isChange()        {}
