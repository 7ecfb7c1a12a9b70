package daemon

import (
	"fmt"
	"reflect"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
)

// join adds a node or, where one of its name is there, replaces what it says of
// itself.
func (c *core) join(n poise.Node) error {
	if c.classes != nil {
		n.Labels = model.Labelled(n.Labels, c.classes.Labels(&n))
	}
	row, there := c.loop.State().Row(n.Name)
	if !there {
		return c.event(poise.NodeJoined{Node: n})
	}
	old := c.loop.State().View().NodeOf(row)
	if err := sameCluster(&n, old.Cluster); err != nil {
		return err
	}
	n.Drained = n.Drained || old.Drained // an operator's mark outlives a restart of the node
	if reflect.DeepEqual(old, n) {
		return nil
	}
	return c.event(poise.NodeChanged{Node: n})
}

// sameCluster refuses a node under the name of one of another cluster.
func sameCluster(n *poise.Node, present string) error {
	if n.Cluster == present {
		return nil
	}
	return &poise.Error{
		Kind: poise.Conflict, Op: fmt.Sprintf("join node %q", n.Name),
		Detail: fmt.Sprintf("cluster %q: one of that name is in cluster %q, expected a new name", n.Cluster, present),
	}
}

// leave removes a node. The jobs that ran there wait again: their tasks went with
// it.
func (c *core) leave(name string) error {
	row, ok := c.loop.State().Row(name)
	if !ok {
		return noNode(name)
	}
	var jobs []poise.JobID
	for l := c.loop.State().View().Tasks(row); l != nil; l = l.Next {
		jobs = append(jobs, l.Task.Job)
	}
	if err := c.event(poise.NodeLeft{Name: name}); err != nil {
		return err
	}
	for _, id := range jobs {
		live := c.jobs[id]
		if live == nil { // it has ended with another one
			continue
		}
		// Where the node is there after all, nothing of the job may go on there.
		c.evict(live.engine, live.place.ID, 0, func(error) {})
		if live.stop != "" {
			c.end(live, stateFailed, nil, live.stop)
			continue
		}
		why := fmt.Sprintf("node %s left", name)
		if !live.spec.inPod() || c.unplaced(live) {
			c.requeue(live, why)
			c.resumePod(live)
		} else if !c.retry(live, stateLost, nil, why) { // it cannot be put elsewhere, or goes on in a cluster that has left
			c.end(live, stateLost, nil, why)
		}
	}
	return nil
}

// mark sets a node's marks. nil leaves one as it is.
func (c *core) mark(name string, drained, notReady *bool) error {
	row, ok := c.loop.State().Row(name)
	if !ok {
		return noNode(name)
	}
	view := c.loop.State().View()
	m := poise.NodeMarked{Name: name, Drained: view.Drained(row), NotReady: view.NotReady(row)}
	if drained != nil {
		m.Drained = *drained
	}
	if notReady != nil {
		m.NotReady = *notReady
	}
	if m.Drained == view.Drained(row) && m.NotReady == view.NotReady(row) {
		return nil
	}
	return c.event(m)
}

func noNode(name string) error {
	return &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("node %q", name), Detail: "no such node"}
}

// nodes gives all present nodes.
func (c *core) nodes() []poise.Node {
	view := c.loop.State().View()
	var all []poise.Node
	for row := range uint32(view.Rows()) {
		if view.Present(row) {
			all = append(all, view.NodeOf(row))
		}
	}
	return all
}

// classify builds the model anew where the fleet has drifted away from it, or in
// any case.
func (c *core) classify(settings model.Settings, always bool) error {
	all := c.nodes()
	if len(all) == 0 {
		return nil
	}
	if c.classes != nil && !always {
		var drift model.Drift
		for i := range all {
			drift.Add(c.classes.Assign(&all[i]))
		}
		if c.classes.Trigger(&drift) == 0 {
			return nil
		}
	}
	built, err := model.Build(all, settings, c.classes)
	if err != nil {
		return err
	}
	if err := c.event(built.Built(all)); err != nil {
		return err
	}
	c.classes = built
	c.loop.UseModel(built)
	return nil
}
