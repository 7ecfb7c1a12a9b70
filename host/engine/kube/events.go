package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// eventRate is how many events a second are written to one cluster at most, and
	// eventBurst how many at once after a rest.
	eventRate, eventBurst = 5, 25
	// maxEvents bounds those that are remembered, and so those that wait to be written.
	maxEvents = 4096
	// maxNote is the longest text that the API server takes, in bytes.
	maxNote = 1024
)

// happened is what an event is one of: the same of one pod are one event, counted.
type happened struct {
	pod                  types.UID
	kind, reason, action string // kind is v1.EventTypeNormal or v1.EventTypeWarning
	note                 string
}

// series is how often something happened.
type series struct {
	at     types.NamespacedName // of the pod
	name   string               // of the event, "" = it is not written
	first  time.Time
	last   time.Time
	count  int32
	queued bool
}

// eventLog writes events of pods, for whoever looks at one with kubectl: waits and
// evictions alone, none for a pod that is placed. Each is written when it first
// happens, and then when it has happened twice, four times and so on; those beyond the
// rate come later, or not at all where their pod does not wait any more. They are no
// record: what cannot be written is dropped.
type eventLog struct {
	mu    sync.Mutex
	seen  map[happened]*series
	queue []happened
	wake  chan struct{}
}

func newEventLog() *eventLog {
	return &eventLog{seen: map[happened]*series{}, wake: make(chan struct{}, 1)}
}

// add takes note of something that happened to a pod.
func (l *eventLog) add(pod *v1.Pod, h happened, now poise.Time) {
	h.pod = pod.UID
	if len(h.note) > maxNote {
		h.note = strings.ToValidUTF8(h.note[:maxNote], "")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.seen[h]
	if s == nil {
		if len(l.seen) >= maxEvents {
			l.forget()
		}
		if len(l.seen) >= maxEvents {
			return
		}
		s = &series{at: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, first: timeAt(now)}
		l.seen[h] = s
	}
	s.last = timeAt(now)
	if s.count++; s.queued || s.count&(s.count-1) != 0 {
		return
	}
	s.queued = true
	l.queue = append(l.queue, h)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// forget drops what has been written: if it happens again, it is another event.
func (l *eventLog) forget() {
	for h, s := range l.seen {
		if !s.queued {
			delete(l.seen, h)
		}
	}
}

// next gives what is to be written, as it is now.
func (l *eventLog) next(ctx context.Context) (h happened, s series, err error) {
	for {
		l.mu.Lock()
		if len(l.queue) > 0 {
			h, l.queue = l.queue[0], l.queue[1:]
			of := l.seen[h]
			of.queued, s = false, *of
			l.mu.Unlock()
			return h, s, nil
		}
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return h, s, ctx.Err()
		case <-l.wake:
		}
	}
}

// done notes under which name an event was written, "" = it was not.
func (l *eventLog) done(h happened, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch s := l.seen[h]; {
	case s == nil:
	case name == "" && !s.queued:
		delete(l.seen, h)
	default:
		s.name = name
	}
}

// writeEvents writes events until ctx ends.
func (c *Cluster) writeEvents(ctx context.Context) {
	limit, refused := flowcontrol.NewTokenBucketRateLimiter(eventRate, eventBurst), false
	for {
		if limit.Wait(ctx) != nil {
			return
		}
		h, s, err := c.events.next(ctx)
		if err != nil {
			return
		}
		if h.reason == failedScheduling && !c.waits(h.pod) {
			c.events.done(h, "")
			continue
		}
		name, err := c.client.writeEvent(ctx, h, &s, c.reporter)
		c.events.done(h, name)
		if err != nil && !refused && ctx.Err() == nil {
			c.log.Warn("an event is not written", "error", err)
		}
		refused = err != nil
	}
}

// waits says whether a pod still waits.
func (c *Cluster) waits(pod types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.world.pods[pod]
	return v != nil && v.placement == "" && v.pod.Spec.NodeName == "" && !terminalOrGone(v.pod)
}

// The reasons of events, as kube-scheduler has them.
const (
	failedScheduling = "FailedScheduling"
	preempted        = "Preempted"
)

// reportingController is who the events are from.
const reportingController = mark + "scheduler"

// writeEvent creates an event, or says how often it has happened, and gives its name.
func (c *client) writeEvent(ctx context.Context, h happened, s *series, reporter string) (string, error) {
	ctx, cancel := c.write(ctx)
	defer cancel()
	var counted *eventsv1.EventSeries
	if s.count > 1 {
		counted = &eventsv1.EventSeries{Count: s.count, LastObservedTime: metav1.NewMicroTime(s.last)}
	}
	if s.name != "" {
		patch, err := json.Marshal(map[string]any{"series": counted})
		if err != nil {
			return "", err
		}
		err = c.events.Patch(types.MergePatchType).Namespace(s.at.Namespace).Resource("events").Name(s.name).Body(patch).Do(ctx).Error()
		if !apierrors.IsNotFound(err) { // it does not live for ever
			return s.name, err
		}
	}
	name := eventName(h, s)
	err := c.events.Post().Namespace(s.at.Namespace).Resource("events").Body(&eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.at.Namespace, Name: name},
		EventTime:  metav1.NewMicroTime(s.first), Series: counted, ReportingController: reportingController, ReportingInstance: reporter,
		Action: h.action, Reason: h.reason, Type: h.kind, Note: h.note,
		Regarding: v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: s.at.Namespace, Name: s.at.Name, UID: h.pod},
	}).Do(ctx).Error()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", err
	}
	return name, nil
}

// eventName gives the name of an event: that of the pod, and which of its events it is.
func eventName(h happened, s *series) string {
	id := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%d", h.pod, h.reason, h.note, s.first.UnixMicro()))
	return fmt.Sprintf("%s.%s", s.at.Name[:min(len(s.at.Name), 220)], hex.EncodeToString(id[:8]))
}

func timeAt(t poise.Time) time.Time { return time.UnixMilli(int64(t)).UTC() }

// Preempted has a pod say that it ends for another one.
func (c *Cluster) Preempted(placement, by string) {
	c.mu.Lock()
	v := c.world.pods[c.world.places[placement]]
	c.mu.Unlock()
	if v != nil {
		c.events.add(v.pod, happened{kind: v1.EventTypeNormal, reason: preempted, action: "Preempting", note: "evicted for " + by}, c.now())
	}
}
