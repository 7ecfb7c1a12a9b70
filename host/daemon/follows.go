package daemon

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

const (
	// watchEvery is how often files and heartbeats are looked at: it is what an
	// idle daemon wakes up for, which costs some three switches each time.
	watchEvery = 2 * time.Second
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
	path    string
	seen    time.Time // of the file that was read last
	missing bool      // there is no such file, and it was said
}

func newFollows() follows {
	return follows{files: map[string]followed{}, heard: map[string]time.Time{}}
}

// takeUpFollows goes on with what clusters followed before a restart. Their files
// are read at the first look.
func (d *Daemon) takeUpFollows(ctx context.Context) error {
	list, err := d.store.Follows(ctx)
	for _, f := range list {
		d.follows.set(f.Cluster, followed{path: f.Path})
	}
	return err
}

func (f *follows) get(cluster string) (followed, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one, ok := f.files[cluster]
	return one, ok
}

func (f *follows) set(cluster string, to followed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[cluster] = to
}

// saw takes note of what was found under the path that a cluster follows, unless
// it follows another, or none, by now.
func (f *follows) saw(cluster string, found followed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.files[cluster].path == found.path {
		f.files[cluster] = found
	}
}

// follow has a cluster kept equal to a file, after a restart too.
func (d *Daemon) follow(ctx context.Context, cluster, path string) error {
	if err := d.store.PutFollow(ctx, store.Follow{Cluster: cluster, Path: path}); err != nil {
		return err
	}
	d.follows.set(cluster, followed{path: path})
	return d.keepClusters(ctx)
}

// unfollow makes a change to a cluster that follows no file from then on. Where
// the change fails, it follows on.
func (d *Daemon) unfollow(ctx context.Context, cluster string, change func() error) error {
	f, ok := d.follows.get(cluster)
	if !ok {
		return change()
	}
	d.follows.mu.Lock()
	delete(d.follows.files, cluster)
	d.follows.mu.Unlock()
	err := change()
	if err == nil {
		err = errors.Join(d.store.DeleteFollow(ctx, cluster), d.keepClusters(ctx))
	}
	if err != nil {
		d.follows.set(cluster, f)
	}
	return err
}

// watchNodes follows inventories and looks after heartbeats until ctx ends.
func (d *Daemon) watchNodes(ctx context.Context) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		d.follows.mu.Lock()
		clusters := slices.Sorted(maps.Keys(d.follows.files))
		d.follows.mu.Unlock()
		for _, name := range clusters {
			d.refollow(ctx, name)
		}
		d.listen(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// refollow reads a cluster's inventory again where the file has changed. A file
// that cannot be read changes nothing.
func (d *Daemon) refollow(ctx context.Context, cluster string) {
	f, ok := d.follows.get(cluster)
	if !ok {
		return
	}
	info, err := os.Stat(f.path)
	if err != nil {
		if !f.missing {
			d.log.Warn("inventory not to be read, its nodes stay as they are", "cluster", cluster, "file", f.path, "error", err)
		}
		d.follows.saw(cluster, followed{path: f.path, missing: true})
		return
	}
	if info.ModTime().Equal(f.seen) {
		return
	}
	nodes, err := manifest.ReadNodes(f.path)
	if err == nil {
		err = d.durably(ctx, func(c *core) error {
			if now, _ := d.follows.get(cluster); now.path != f.path { // it has left meanwhile
				return nil
			}
			return d.joinedAll(c, cluster, nodes)
		})
	}
	if err != nil {
		d.log.Warn("inventory not taken up", "cluster", cluster, "file", f.path, "error", err)
		if poise.KindOf(err) == poise.Unavailable {
			return // the same file again, later
		}
	}
	d.follows.saw(cluster, followed{path: f.path, seen: info.ModTime()})
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
