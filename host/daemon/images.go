package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// inPod says whether a job runs as a pod: it is one, or one is made of its image.
func (s *Spec) inPod() bool { return s.Job.Pod != nil || s.Image != "" }

// podLogs gives the output of a job whose task is a pod, and false where it is none.
func (d *Daemon) podLogs(ctx context.Context, row *store.JobRow, last *store.PlacementRow, o client.LogOptions) (io.ReadCloser, bool, error) {
	var spec Spec
	if err := json.Unmarshal(row.Body, &spec); err != nil {
		return nil, false, fmt.Errorf("job %q: %w", row.ID, err)
	}
	if !spec.inPod() {
		return nil, false, nil
	}
	op := fmt.Sprintf("logs of job %q", row.Name)
	if o.Stream != "" {
		return nil, true, &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("stream: %q, expected none, as Kubernetes has both in one", o.Stream)}
	}
	cluster, _, _ := strings.Cut(last.Node, "/")
	k := d.kube(cluster)
	if k == nil {
		return nil, true, &poise.Error{Kind: poise.NotFound, Op: op, Detail: fmt.Sprintf("cluster %s, where it ran, has left", cluster)}
	}
	stands := func() bool {
		now, err := d.store.Job(ctx, row.ID)
		return err == nil && now.Node == last.Node && !final(now.State)
	}
	log, err := k.Logs(ctx, last.ID, kube.LogOptions{Follow: o.Follow, Tail: o.Tail, Since: client.Moment(o.Since), Lives: stands})
	return log, true, err
}
