package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// clusterOf gives the name of the cluster of Kubernetes that a node would be of.
func clusterOf(node string) string {
	cluster, _, _ := strings.Cut(node, "/")
	return cluster
}

// adopting are the jobs of records that are not taken over yet: those that were placed
// in a cluster that is not read yet, and those that come after them.
type adopting struct {
	placed  map[string]*homeJob // by placement
	after   []*homeJob
	awaited map[poise.JobID]*homeJob // all of them
}

func newAdopting() adopting {
	return adopting{placed: map[string]*homeJob{}, awaited: map[poise.JobID]*homeJob{}}
}

// takeJobs takes over the jobs of records that this history does not know. One that
// was placed is taken over when its cluster was read.
func (d *Daemon) takeJobs(ctx context.Context, records []kube.Record) error {
	jobs, err := homeJobs(records)
	if err != nil {
		return err
	}
	c, all, left := d.core, map[poise.JobID]*homeJob{}, map[poise.JobID]bool{}
	for _, r := range jobs {
		all[r.ID], c.mirror.jobs[r.ID] = r, homed{key: r.Key}
		row, err := d.store.Job(ctx, string(r.ID))
		switch known := err == nil; {
		case err != nil && poise.KindOf(err) != poise.NotFound:
			return err
		case c.jobs[r.ID] != nil: // of this history
		case known && final(row.State): // its end is not at home yet
			c.batch.Jobs = append(c.batch.Jobs, row)
		case r.Ended > 0:
			c.takeEnded(r)
		default:
			left[r.ID] = true
		}
	}
	for _, r := range jobs {
		if left[r.ID] {
			if err := d.takeJob(r, all, left); err != nil {
				return err
			}
		}
	}
	return nil
}

// final says whether a job in this state has ended.
func final(state string) bool {
	return state != stateWaiting && state != stateStarting && state != stateRunning
}

// takeEnded takes over what became of a job.
func (c *core) takeEnded(r *homeJob) {
	c.mirror.ended = append(c.mirror.ended, endedRecord{r.ID, r.Ended})
	if err := json.Unmarshal(r.Spec, &r.spec); err != nil {
		c.log.Error("a job that has ended is not taken over", "job", string(r.ID), "error", err)
		return
	}
	row := r.row(c.loop.State().Index())
	row.State, row.Changed = r.State, int64(r.Ended)
	c.batch.Jobs = append(c.batch.Jobs, row)
	c.takeKey(r)
}

// row gives the row of a job that is taken over, waiting.
func (r *homeJob) row(index uint64) store.JobRow {
	s := &r.spec
	return store.JobRow{
		ID: string(r.ID), Name: s.Job.Name, Tenant: string(s.Job.Tenant), State: stateWaiting, Reason: r.Reason, Node: r.Node,
		Seq: int64(index), Submitted: int64(r.Submitted), Changed: int64(r.Submitted), Body: r.Spec, ExitCode: r.ExitCode, Signal: r.Signal,
		Group: r.Group, GroupName: r.Called,
	}
}

func (c *core) takeKey(r *homeJob) {
	if r.Key != nil {
		c.batch.Keys = append(c.batch.Keys, store.KeyRow{
			Key: r.Key.Key, Tenant: string(r.spec.Job.Tenant), Job: string(r.ID), Hash: r.Key.Hash, At: int64(r.Key.At),
		})
	}
}

// takeJob takes over a job that has not ended, after those that it comes after.
func (d *Daemon) takeJob(r *homeJob, all map[poise.JobID]*homeJob, left map[poise.JobID]bool) error {
	delete(left, r.ID)
	c := d.core
	if err := json.Unmarshal(r.Spec, &r.spec); err != nil {
		return &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("take over job %q", r.ID), Err: err}
	}
	if err := c.knowTenant(r.spec.Job.Tenant); err != nil {
		return err
	}
	c.takeKey(r)
	unmet, waits := "", false
	r.spec.Job.After = nil
	for _, id := range r.After {
		if left[id] {
			if err := d.takeJob(all[id], all, left); err != nil {
				return err
			}
		}
		switch other := all[id]; {
		case c.jobs[id] != nil, c.adopting.awaited[id] != nil:
			r.spec.Job.After = append(r.spec.Job.After, id)
			waits = waits || c.jobs[id] == nil
		case other != nil: // it has ended, and the record of this one does not say so yet
			unmet = cmp.Or(unmet, r.spec.unmet(id, string(id), other.State))
		}
	}
	switch {
	case r.Placement != nil && d.kube(clusterOf(r.Node)) != nil:
		c.adopting.placed[r.Placement.ID] = r
		c.await(r)
		return nil
	case r.Placement != nil:
		return c.adoptLost(r)
	case waits:
		c.adopting.after = append(c.adopting.after, r)
		c.await(r)
		return nil
	}
	err := c.adopt(r, "")
	if err == nil && unmet != "" {
		c.end(c.jobs[r.ID], stateWithdrawn, nil, unmet)
	}
	return err
}

// await has a job in the history that is taken over later.
func (c *core) await(r *homeJob) {
	c.adopting.awaited[r.ID] = r
	row := r.row(c.loop.State().Index())
	row.State, row.Reason = r.State, r.notRead()
	c.batch.Jobs = append(c.batch.Jobs, row)
}

// notRead says why a job is not taken over yet.
func (r *homeJob) notRead() string {
	if r.Placement == nil {
		return fmt.Sprintf("it comes after job %s, which another replica has placed in a cluster that is not read yet", r.spec.Job.After[0])
	}
	return fmt.Sprintf("the cluster of node %s, where it was placed, is not read yet", r.Node)
}

// adopt makes a job of a record known, waiting or on its node.
func (c *core) adopt(r *homeJob, node string) error {
	delete(c.adopting.awaited, r.ID)
	s := &r.spec
	body := poise.JobAdopted{Job: s.Job, Since: r.Submitted, Failures: r.Failures, Node: node, Started: r.Started}
	if err := c.event(body); err != nil {
		return err
	}
	live := &liveJob{spec: *s, row: r.row(c.loop.State().Index())}
	live.row.Reason, live.row.Node = "", ""
	c.jobs[r.ID] = live
	if node == "" {
		live.row.Reason = c.waitsFor(live)
		c.keep(live)
		return c.adoptNext()
	}
	live.row.State, live.row.Node = r.State, node
	if stopped(r.Reason) {
		live.stop, live.row.Reason = r.Reason, r.Reason
	}
	c.stands(live, r.Placement, r.State)
	return c.adoptNext()
}

// adoptNext takes over the jobs that come after others which are known by now.
func (c *core) adoptNext() error {
	for i, r := range c.adopting.after {
		if slices.ContainsFunc(r.spec.Job.After, func(id poise.JobID) bool { return c.adopting.awaited[id] != nil }) {
			continue
		}
		c.adopting.after = slices.Delete(slices.Clone(c.adopting.after), i, i+1)
		return c.adopt(r, "") // which looks again
	}
	return nil
}

// stands notes the placement of a job that was taken over.
func (c *core) stands(live *liveJob, p *homePlace, state string) {
	live.place = store.PlacementRow{
		ID: p.ID, Job: live.row.ID, Node: live.row.Node, Placed: int64(p.Placed), Started: int64(p.Starts), State: state,
	}
	live.engine, live.over, live.class = c.engineOf(live.row.Node), new(atomic.Bool), c.classOf(live.row.Node)
	c.byPlace[p.ID] = live.spec.Job.ID
	c.batch.Placements = append(c.batch.Placements, live.place)
	c.keep(live)
}

// adoptLost takes over a job whose node is gone: if it ran there, its task is lost.
func (c *core) adoptLost(r *homeJob) error {
	s := &r.spec
	began, reason := r.State == stateRunning, fmt.Sprintf("its node %s is gone", r.Node)
	again := s.Job.Retry != nil && r.Failures < s.Job.Retry.Limit
	if began && again {
		r.Failures++
	}
	if err := c.adopt(r, ""); err != nil {
		return err
	}
	if live := c.jobs[r.ID]; stopped(r.Reason) {
		c.end(live, stateFailed, nil, r.Reason)
	} else if began && !again {
		c.end(live, stateLost, nil, reason)
	}
	return nil
}

// adoptHere takes over the jobs that were placed on the nodes of a cluster that has
// been read now, or that has left, and is nil.
func (c *core) adoptHere(cluster string, k *kubeCluster) (failed error) {
	for _, placement := range slices.Sorted(maps.Keys(c.adopting.placed)) {
		r := c.adopting.placed[placement]
		if clusterOf(r.Node) != cluster {
			continue
		}
		delete(c.adopting.placed, placement)
		if _, there := c.loop.State().Row(r.Node); !there {
			if err := c.adoptLost(r); err != nil {
				failed = err
			}
			continue
		}
		if err := c.adopt(r, r.Node); err != nil {
			failed = err
			continue
		}
		live := c.jobs[r.ID]
		if live.stop != "" {
			c.stopSurely(placement, 1)
		} else {
			c.bind(live)
		}
		c.catchUp(k, placement)
	}
	return failed
}

// adoptPod takes over a pod that an earlier history has placed.
func (c *core) adoptPod(k *kubeCluster, p *kube.PodBound) error {
	id := p.Job.ID
	if c.loop.State().Occupant(string(id)) != nil {
		if err := c.event(poise.NodeVacated{ID: string(id)}); err != nil {
			return err
		}
	}
	if err := c.knowTenant(p.Job.Tenant); err != nil {
		return err
	}
	if err := c.event(poise.JobAdopted{Job: p.Job, Since: p.Created, Node: p.Node, Started: true}); err != nil {
		return err
	}
	body, err := json.Marshal(&Spec{Job: p.Job})
	if err != nil {
		return err
	}
	live := &liveJob{spec: Spec{Job: p.Job}, row: store.JobRow{
		ID: string(id), Name: p.Job.Name, Tenant: string(p.Job.Tenant), State: stateStarting, Node: p.Node,
		Seq: int64(c.loop.State().Index()), Submitted: int64(p.Created), Body: body,
	}}
	if g := p.Job.Gang; g != nil {
		live.row.Group, live.row.GroupName = g.ID, g.Name
	}
	c.jobs[id] = live
	c.stands(live, &homePlace{ID: p.Placement, Placed: c.at}, stateStarting)
	c.catchUp(k, p.Placement)
	return nil
}

// catchUp takes in what a cluster has said of a placement before it was known here.
func (c *core) catchUp(k *kubeCluster, placement string) {
	if s, known := k.Task(placement); known {
		c.status(k, s)
	}
}
