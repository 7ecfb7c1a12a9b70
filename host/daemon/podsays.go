package daemon

import (
	"context"

	"github.com/poise-sched/poise/host/poise"
)

// teller is an engine that can say on a pod why it waits, and on which node others make
// room for it, "" = on none; and on one that ends for whom it does.
type teller interface {
	Waits(ctx context.Context, job poise.JobID, reason, node string) error
	Preempted(placement, by string)
}

var _ teller = (*kubeCluster)(nil)

// said is what a pod says of its waiting, see teller.
type said struct{ why, node string }

// tellPod has a pod say why it waits, see teller. What cannot be written is tried again
// until it is, or something else is to be said.
func (c *core) tellPod(e binder, id poise.JobID, why, node string) {
	t, ok := e.(teller)
	if !ok {
		return
	}
	if c.says == nil {
		c.says = map[poise.JobID]said{}
	}
	c.says[id] = said{why, node}
	c.say(e, t, id, said{why, node}, 1)
}

func (c *core) say(e binder, t teller, id poise.JobID, what said, attempt int) {
	ended := func(c *core, err error) {
		switch {
		case c.says[id] != what:
		case err == nil:
			delete(c.says, id)
		default:
			c.log.Warn("say why a pod waits", "pod", string(id), "error", err)
			c.after(retryOf(e, c.retryIn(attempt)), func() {
				c.tell(func(c *core) {
					if c.says[id] == what {
						c.say(e, t, id, what, attempt+1)
					}
				})
			})
		}
	}
	c.then(func() {
		c.handsOf(e).do(string(id), func() {
			err := t.Waits(context.Background(), id, what.why, what.node)
			c.tell(func(c *core) { ended(c, err) })
		})
	}, nil)
}

// tellWaiting has the pod of a job that was not placed say why, without counts of
// nodes: it is written again only when the reason, or the node on which others make
// room for it, is another one. So do the pods that are not tried because they ask for
// the same, and those of its gang: a cluster autoscaler makes room for those that say so.
func (c *core) tellWaiting(live *liveJob, d *poise.Decision) {
	if live.spec.Job.Pod == nil {
		return
	}
	id, why := live.spec.Job.ID, d.Summary()
	if !c.saysNow(live, said{why, c.nominated(id)}) && len(c.silent) == 0 {
		return
	}
	for _, other := range c.loop.Alike(id) {
		c.saysNow(c.jobs[other], said{why, c.nominated(other)})
	}
	st := c.loop.State()
	if j := st.Job(id); !st.Alone(j) {
		for _, m := range st.GangOf(j).Members() {
			c.saysNow(c.jobs[m.ID], said{why, c.nominated(m.ID)})
		}
	}
}

// saysNow has the pod of a job say something, and says whether that is new.
func (c *core) saysNow(live *liveJob, what said) bool {
	id := live.spec.Job.ID
	delete(c.silent, id)
	if live.said == what {
		return false
	}
	live.said = what
	c.tellPod(c.engines(live.spec.Job.Pod.Cluster), id, what.why, what.node)
	return true
}

// silence notes a pod that has come and says nothing yet. One that waits for what
// another one waits for says so.
func (c *core) silence(id poise.JobID) {
	if like, parked := c.loop.Like(id); parked && c.jobs[like].decision != nil {
		c.saysNow(c.jobs[id], said{why: c.jobs[like].decision.Summary()})
		return
	}
	if c.silent == nil {
		c.silent = map[poise.JobID]bool{}
	}
	c.silent[id] = true
}
