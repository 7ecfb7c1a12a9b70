package daemon

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
)

// externalCluster is the cluster of nodes whose tasks an external executor runs.
const externalCluster = "external"

const (
	watchEvery = time.Second
	// silent is how long an external node may go without a heartbeat before it
	// gets no new jobs.
	silent = 30 * time.Second
)

// follows are the inventories that clusters are kept equal to, and when the
// external nodes were last heard of.
type follows struct {
	mu    sync.Mutex
	files map[string]followed // by cluster
	heard map[string]time.Time
}

type followed struct {
	path string
	seen time.Time // of the file that was read last
}

func newFollows() follows {
	return follows{files: map[string]followed{}, heard: map[string]time.Time{}}
}

// joinAll makes the nodes of a cluster those of the list, or changes nothing.
func (c *core) joinAll(cluster string, nodes []poise.Node) error {
	for i := range nodes {
		n := nodes[i]
		n.Cluster = cluster
		if err := n.Validate(); err != nil {
			return err
		}
		if row, there := c.loop.State().Row(n.Name); there {
			if err := sameCluster(&n, c.loop.State().View().Cluster(row)); err != nil {
				return err
			}
		}
	}
	wanted := map[string]bool{}
	for i := range nodes {
		n := nodes[i]
		n.Cluster = cluster
		wanted[n.Name] = true
		if err := c.join(n); err != nil {
			return err
		}
	}
	for _, n := range c.nodes() {
		if n.Cluster == cluster && !wanted[n.Name] {
			if err := c.leave(n.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// watchNodes follows inventories and looks after heartbeats until ctx ends.
func (d *Daemon) watchNodes(ctx context.Context) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		d.follows.mu.Lock()
		clusters := make([]string, 0, len(d.follows.files))
		for name := range d.follows.files {
			clusters = append(clusters, name)
		}
		d.follows.mu.Unlock()
		slices.Sort(clusters)
		for _, name := range clusters {
			d.refollow(ctx, name)
		}
		d.listen(ctx)
	}
}

// refollow reads a cluster's inventory again where the file has changed. A file
// that cannot be read changes nothing.
func (d *Daemon) refollow(ctx context.Context, cluster string) {
	d.follows.mu.Lock()
	f := d.follows.files[cluster]
	d.follows.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil || info.ModTime().Equal(f.seen) {
		return
	}
	nodes, err := manifest.ReadNodes(f.path)
	if err == nil {
		err = d.durably(ctx, func(c *core) error {
			if !d.followed(cluster, f.path) { // it has left meanwhile
				return nil
			}
			if err := c.joinAll(cluster, nodes); err != nil {
				return err
			}
			return c.classify(modelSettings(&d.options.Config.Current().Config), false)
		})
	}
	if err != nil {
		d.log.Warn("inventory not taken up", "cluster", cluster, "file", f.path, "error", err)
		if poise.KindOf(err) == poise.Unavailable {
			return // the same file again, later
		}
	}
	if d.followed(cluster, f.path) {
		d.follows.mu.Lock()
		defer d.follows.mu.Unlock()
		d.follows.files[cluster] = followed{f.path, info.ModTime()}
	}
}

// followed says whether a cluster is kept equal to a file.
func (d *Daemon) followed(cluster, path string) bool {
	d.follows.mu.Lock()
	defer d.follows.mu.Unlock()
	return d.follows.files[cluster].path == path
}

// listen marks external nodes by whether they are heard of.
func (d *Daemon) listen(ctx context.Context) {
	p := d.board.current.Load()
	for name, row := range p.rowOf {
		if p.snap.Cluster(row) != externalCluster {
			continue
		}
		d.follows.mu.Lock()
		at, ok := d.follows.heard[name]
		if !ok { // a restart: give it time to call
			at = time.Now()
			d.follows.heard[name] = at
		}
		d.follows.mu.Unlock()
		if gone := time.Since(at) > silent; gone != p.snap.NotReady(row) {
			if err := d.durably(ctx, func(c *core) error { return c.mark(name, nil, &gone) }); err != nil {
				d.log.Warn("mark node", "node", name, "error", err)
			}
		}
	}
}

// clusterName checks a name that an operator gives.
func clusterName(name string, own string) error {
	if name == "" || strings.ContainsAny(name, " /\t\n") || name == own || name == externalCluster {
		return &poise.Error{
			Kind: poise.Invalid, Op: "join cluster",
			Detail: fmt.Sprintf("name: %q, expected a name without spaces and slashes other than %q and %q", name, own, externalCluster),
		}
	}
	return nil
}
