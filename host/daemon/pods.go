package daemon

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
)

// unboundAgain is how long a pod whose bind was refused is left alone: what stood
// in the way is seen by then.
const unboundAgain poise.Span = 1000

// absorb takes in what a cluster of Kubernetes tells. A change that the state
// refuses is passed over: the error names the last one.
func (c *core) absorb(k *kubeCluster, changes []kube.Change) (failed error) {
	for _, change := range changes {
		var err error
		switch b := change.(type) {
		case kube.Synced:
			err = c.reconcile(k, &b)
		case kube.NodeSeen:
			err = c.nodeSeen(k, b.Node)
		case kube.NodeGone:
			delete(k.nodes, b.Name)
			err = c.leave(b.Name)
		case kube.SpaceOf:
			err = c.spaceOf(k.name, b)
		case kube.PodWaits:
			err = c.podWaits(k, &b, 0)
		case kube.PodOccupies:
			err = c.podOccupies(&b)
		case kube.PodBound:
			err = c.podBound(k, &b)
		case kube.PodGone:
			delete(k.held, b.ID)
			err = c.podGone(b.ID)
		case kube.Lost:
			k.lost = true
			k.is("lost", b.Reason)
			err = c.vouch(k)
		case kube.Back:
			k.lost = false
			k.is("joined", "")
			err = c.vouch(k)
		}
		if err != nil {
			failed = err
		}
	}
	return failed
}

// reconcile makes the state what the cluster is.
func (c *core) reconcile(k *kubeCluster, all *kube.Synced) (failed error) {
	note := func(err error) {
		if err != nil {
			failed = err
		}
	}
	k.lost = false
	clear(k.nodes)
	clear(k.held)
	for _, n := range all.Nodes {
		note(c.nodeSeen(k, n))
	}
	note(c.spacesOf(k.name, all.Spaces))
	there, waits := map[string]bool{}, map[poise.JobID]bool{}
	for i := range all.Occupants {
		there[all.Occupants[i].ID] = true
	}
	for i := range all.Waiting {
		waits[all.Waiting[i].Job.ID] = true
	}
	for _, id := range c.loop.State().Occupants(k.name) {
		if !there[id] {
			note(c.event(poise.NodeVacated{ID: id}))
		}
	}
	for i := range all.Occupants {
		note(c.podOccupies(&kube.PodOccupies{Occupant: all.Occupants[i]}))
	}
	note(c.adoptHere(k.name, k))
	for i := range all.Bound {
		b := &all.Bound[i]
		waits[b.Job.ID] = true
		if c.placed(b.Placement) == nil && c.jobs[b.Job.ID] == nil && b.Of == "" {
			was, err := c.wasCancelled(b.Job.ID)
			if note(err); !was {
				note(c.adoptPod(k, b)) // one that cannot be taken over occupies its node
			}
		}
		note(c.podBound(k, b))
	}
	for i := range all.Waiting {
		off, err := c.keepsOff(k, all.Waiting[i].Job.ID)
		if note(err); !off {
			note(c.podWaits(k, &all.Waiting[i], all.Waiting[i].Created))
		}
	}
	for _, j := range c.loop.State().All() {
		if p := c.jobs[j.ID].spec.Job.Pod; p != nil && p.Cluster == k.name && !waits[j.ID] {
			note(c.podGone(j.ID))
		}
	}
	for _, n := range c.nodes() {
		if _, known := k.nodes[n.Name]; n.Cluster == k.name && !known {
			note(c.leave(n.Name))
		}
	}
	k.is("joined", "")
	select {
	case <-k.synced:
	default:
		c.then(func() { close(k.synced) }, nil)
	}
	return failed
}

// nodeSeen takes in a node. While its cluster is lost nothing new goes there.
func (c *core) nodeSeen(k *kubeCluster, n poise.Node) error {
	k.nodes[n.Name] = !n.NotReady
	n.NotReady = n.NotReady || k.lost
	return c.join(n)
}

// vouch marks the nodes of a cluster as what they are now that it is lost or back.
func (c *core) vouch(k *kubeCluster) error {
	for _, n := range c.nodes() {
		if n.Cluster == k.name {
			notReady := k.lost || !k.nodes[n.Name]
			if err := c.mark(n.Name, nil, &notReady); err != nil {
				return err
			}
		}
	}
	return nil
}

// podWaits takes in a pod that waits, and has since a time that is 0 for now. One that
// has changed waits anew.
func (c *core) podWaits(k *kubeCluster, p *kube.PodWaits, since poise.Time) error {
	live := c.jobs[p.Job.ID]
	if live == nil && c.cancelled[p.Job.ID] {
		return nil
	}
	if live != nil && live.place.ID != "" { // its bind is under way
		live.missed = func() error { return c.podWaits(k, p, since) }
		return nil
	}
	delete(k.held, p.Job.ID)
	if len(p.Refused) > 0 {
		why := "not for Poise to place: " + strings.Join(p.Refused, "; ")
		if live != nil {
			c.end(live, stateWithdrawn, nil, why)
		}
		c.tellPod(c.engines(k.name), p.Job.ID, why, "")
		return nil
	}
	if p.Until != "" {
		c.podHeld(k, p)
		return nil
	}
	var others []*liveJob
	if live != nil {
		if reflect.DeepEqual(live.spec.Job, p.Job) { // it was there before a start
			if live.decision != nil && live.decision.Verdict != poise.Placed {
				c.tellWaiting(live, live.decision)
			} else {
				c.silence(p.Job.ID)
			}
			return nil
		}
		if was := live.spec.Job.Gang; was != nil && p.Job.Gang != nil && was.ID == p.Job.Gang.ID {
			others = c.beside(live) // those of another gang are told
		}
		c.end(live, stateWithdrawn, nil, "its pod has changed, and waits anew")
	}
	if err := c.knowTenant(p.Job.Tenant); err != nil {
		return err
	}
	for _, other := range others {
		if _, err := c.accept(&other.spec, "", poise.Time(other.row.Submitted)); err != nil {
			return err
		}
		c.silence(other.spec.Job.ID)
	}
	if _, err := c.accept(&Spec{Job: p.Job}, "", since); err != nil {
		return err
	}
	c.silence(p.Job.ID)
	return nil
}

// heldFor is how long a pod that waits for others of its group is left alone before it
// is told so: they mostly come at once.
const heldFor = 5 * time.Second

// podHeld takes in a pod that is not to be placed yet.
func (c *core) podHeld(k *kubeCluster, p *kube.PodWaits) {
	id, why := p.Job.ID, p.Until
	if live := c.jobs[id]; live != nil {
		c.end(live, stateWithdrawn, nil, why)
	}
	k.held[id] = why
	c.after(heldFor, func() {
		c.tell(func(c *core) {
			if k.held[id] == why {
				c.tellPod(c.engines(k.name), id, why, "")
			}
		})
	})
}

// knowTenant makes a tenant of a namespace when its first pod comes.
func (c *core) knowTenant(id poise.TenantID) error {
	if id == poise.DefaultTenant || c.loop.State().Policies().Tenant(id) != nil {
		return nil
	}
	return c.event(poise.TenantSet{Tenant: poise.Tenant{ID: id}})
}

// podOccupies takes in a pod that somebody else has put on a node.
func (c *core) podOccupies(p *kube.PodOccupies) error {
	if live := c.jobs[poise.JobID(p.Occupant.ID)]; live != nil {
		if live.place.ID != "" {
			c.end(live, stateLost, nil, fmt.Sprintf("another scheduler has put its pod on node %s", p.Occupant.Node))
		} else {
			c.end(live, stateWithdrawn, nil, fmt.Sprintf("another scheduler has put its pod on node %s", p.Occupant.Node))
		}
	}
	if had := c.loop.State().Occupant(p.Occupant.ID); had != nil && reflect.DeepEqual(*had, p.Occupant) {
		return nil
	}
	return c.event(poise.NodeOccupied{Occupant: p.Occupant})
}

// podBound takes in a pod that Poise has put on a node. One that is not known, as
// after a start without the history, holds what it holds.
func (c *core) podBound(k *kubeCluster, p *kube.PodBound) error {
	if live := c.placed(p.Placement); live != nil {
		return c.podEnding(live, p.Ending)
	}
	switch stray, err := c.stray(p); { // it was given up, and came into being all the same
	case err != nil:
		return err
	case stray:
		c.evictStray(k, p.Placement, 1)
	}
	live := c.jobs[p.Job.ID]
	if live != nil { // it was placed elsewhere, or not yet, as far as is known
		state := stateWithdrawn
		if live.place.ID != "" {
			state = stateLost
		}
		c.end(live, state, nil, fmt.Sprintf("its pod is on node %s by placement %s", p.Node, p.Placement))
	}
	return c.podOccupies(&kube.PodOccupies{Occupant: poise.Occupant{
		ID: string(p.Job.ID), Name: p.Job.Name, Node: p.Node, Request: p.Job.Request, Labels: p.Job.Labels, Pod: p.Job.Pod,
		Ending: p.Ending,
	}})
}

// podEnding takes in whether the pod of a placed job is told to end.
func (c *core) podEnding(live *liveJob, ending bool) error {
	if id := live.spec.Job.ID; ending && !c.loop.State().Job(id).Task().Ending {
		return c.event(poise.JobEnding{Job: id})
	}
	return nil
}

// podGone takes in that a pod is gone. Of a job that is placed the end comes with the
// status of its placement.
func (c *core) podGone(id poise.JobID) error {
	delete(c.cancelled, id)
	switch live := c.jobs[id]; {
	case live == nil:
	case live.place.ID == "":
		c.end(live, stateWithdrawn, nil, "its pod is gone")
	default:
		live.missed = func() error { return c.podGone(id) }
	}
	if c.loop.State().Occupant(string(id)) == nil {
		return nil
	}
	return c.event(poise.NodeVacated{ID: string(id)})
}

// dropPods withdraws the jobs that wait of the pods of a cluster that leaves.
func (c *core) dropPods(cluster string) {
	for _, j := range c.loop.State().Waiting() {
		if p := c.jobs[j.ID].spec.Job.Pod; p != nil && p.Cluster == cluster {
			c.end(c.jobs[j.ID], stateWithdrawn, nil, fmt.Sprintf("cluster %s left", cluster))
		}
	}
}

// ofNodes says whether a change may be one of nodes.
func ofNodes(change kube.Change) bool {
	switch change.(type) {
	case kube.Synced, kube.NodeSeen, kube.NodeGone:
		return true
	}
	return false
}

// podUnbound takes note that a pod could not be bound and never will be by this
// placement.
func (c *core) podUnbound(live *liveJob, cause error) {
	switch {
	case live.stop != "":
		c.end(live, stateFailed, nil, live.stop)
		return
	case poise.KindOf(cause) == poise.NotFound:
		c.end(live, stateWithdrawn, nil, "its pod is gone")
		return
	}
	if err := c.event(poise.JobRequeued{Job: live.spec.Job.ID, NotBefore: c.now() + poise.Time(unboundAgain)}); err != nil {
		panic(fmt.Sprintf("BUG: a placed job cannot wait again: %v", err))
	}
	c.leavePlace(live, stateLost)
	live.row.State, live.row.Node, live.row.Reason = stateWaiting, "", cause.Error()
	c.keep(live)
	c.resumePod(live)
}

// resumePod takes in what became of the pod of a job that waits again.
func (c *core) resumePod(live *liveJob) {
	missed := live.missed
	if live.missed = nil; missed == nil {
		return
	}
	if err := missed(); err != nil {
		c.log.Error("a change of a pod is not taken in", "pod", string(live.spec.Job.ID), "error", err)
	}
}

// notes are what the decision about a job says, for whoever reads its task.
func (j *liveJob) notes() map[string]string {
	d := j.decision
	if d == nil {
		return nil
	}
	notes := map[string]string{"decision": fmt.Sprint(j.place.Decision), "policy": d.Policy}
	if len(d.Ranked) > 0 {
		notes["loss"] = fmt.Sprint(d.Ranked[0].Loss)
	}
	if j.class != "" {
		notes["class"] = j.class
	}
	for _, p := range d.Plugins {
		notes["policy"] = strings.Replace(p.Name, " ", "@", 1) + " " + p.Digest
	}
	return notes
}
