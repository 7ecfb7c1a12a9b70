package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startPause is how often a follower looks whether a pod has started.
const startPause = 200 * time.Millisecond

// LogOptions say what of a pod's output is wanted. Kubernetes has the output and the
// error output in one.
type LogOptions struct {
	Follow bool       // go on until the pod has ended
	Tail   int        // only so many of the last lines that are there now, 0 = all
	Since  poise.Time // lines written then or later, in whole seconds; 0 = all
	// Lives says whether the placement still stands: then its pod, where it is not
	// known, is yet to be bound or made. nil = it does not.
	Lives func() bool
}

// Logs gives the output of a placement's pod, of its first container where it has
// several, as long as the pod is there. A pod that has not started has none yet. An
// end of ctx ends a follower.
func (c *Cluster) Logs(ctx context.Context, placement string, o LogOptions) (io.ReadCloser, error) {
	op := fmt.Sprintf("read logs of %q", placement)
	ctx, cancel := context.WithCancel(ctx)
	l := &podLog{ctx: ctx, cancel: cancel}
	l.open = func() (io.ReadCloser, error) { return c.openLog(ctx, op, placement, &o) }
	if o.Follow { // what it waits for is waited for by who reads
		if _, err := c.placedAs(op, placement, o.Lives); err != nil {
			cancel()
			return nil, err
		}
		return l, nil
	}
	body, err := l.open()
	if err != nil {
		cancel()
		return nil, err
	}
	l.body = body
	return l, nil
}

// placedAs gives the pod of a placement as it was last seen, nil for one that is not
// seen yet.
func (c *Cluster) placedAs(op, placement string, lives func() bool) (*v1.Pod, error) {
	c.mu.Lock()
	err := c.ready(op)
	var pod *v1.Pod
	if v := c.world.pods[c.world.places[placement]]; v != nil {
		pod = v.pod
	}
	c.mu.Unlock()
	if err != nil || pod != nil {
		return pod, err
	}
	s, known := c.board.Get(placement)
	if known && !s.State.Ended() || !known && lives != nil && lives() {
		return nil, nil
	}
	return nil, &poise.Error{Kind: poise.NotFound, Op: op, Detail: "its pod is gone, and its output with it"}
}

func (c *Cluster) openLog(ctx context.Context, op, placement string, o *LogOptions) (io.ReadCloser, error) {
	for {
		pod, err := c.placedAs(op, placement, o.Lives)
		if err != nil {
			return nil, err
		}
		started := pod != nil && statusOf(pod, placement).State != engine.Starting
		if started && startOf(pod) == 0 || !started && !o.Follow {
			return io.NopCloser(bytes.NewReader(nil)), nil
		}
		if started {
			ask := &v1.PodLogOptions{Container: pod.Spec.Containers[0].Name, Follow: o.Follow}
			if o.Tail > 0 {
				lines := int64(o.Tail)
				ask.TailLines = &lines
			}
			if o.Since > 0 {
				since := metav1.NewTime(time.UnixMilli(int64(o.Since)))
				ask.SinceTime = &since
			}
			body, err := c.client.logs(ctx, pod.Namespace, pod.Name, ask)
			if err != nil {
				return nil, failed(op, err)
			}
			return body, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(startPause):
		}
	}
}

// podLog is a log that is opened by the first Read. Close ends a Read that waits.
type podLog struct {
	ctx    context.Context
	cancel context.CancelFunc
	open   func() (io.ReadCloser, error)

	mu   sync.Mutex
	body io.ReadCloser
}

// Read implements io.Reader.
func (l *podLog) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.body == nil {
		body, err := l.open()
		if err != nil {
			return 0, err
		}
		l.body = body
	}
	n, err := l.body.Read(p)
	if err != nil && l.ctx.Err() != nil {
		err = l.ctx.Err()
	}
	return n, err
}

// Close implements io.Closer.
func (l *podLog) Close() error {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.body == nil {
		return nil
	}
	return l.body.Close()
}
