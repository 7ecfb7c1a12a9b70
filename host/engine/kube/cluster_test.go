package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) {
	// One of client-go's handlers sleeps until a millisecond after the error before,
	// which may be one in the time of another bubble.
	runtime.ErrorHandlers = runtime.ErrorHandlers[:1]
	goleak.VerifyTestMain(m)
}

// stage is a cluster that is followed, with an API server of its own.
type stage struct {
	*testing.T
	api     *apiServer
	cluster *Cluster
	stop    func()

	mu       sync.Mutex
	changes  []string
	statuses []string
}

// play runs a test in virtual time on a cluster with these objects.
func play(t *testing.T, objects []metav1.Object, f func(s *stage)) {
	t.Helper()
	playAs(t, nil, objects, f)
}

// playAs does so for a replica.
func playAs(t *testing.T, g Guard, objects []metav1.Object, f func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := newAPIServer(t)
		api.put(objects...)
		c, err := New(Options{
			Name: "north", NodeSelector: "pool!=other", Log: slog.New(slog.DiscardHandler),
			Now:    func() poise.Time { return poise.Time(time.Now().UnixMilli()) },
			Guard:  g,
			config: &rest.Config{Host: "http://api", Transport: api},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := &stage{T: t, api: api, cluster: c}
		s.follow()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_ = c.Watch(ctx, func(st engine.Status) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.statuses = append(s.statuses, strings.TrimSpace(fmt.Sprintf("%s %s %d %s", st.Placement, st.State, st.ExitCode, st.Detail)))
			})
		}()
		synctest.Wait()
		f(s)
		s.stop()
		cancel()
		synctest.Wait()
	})
}

func (s *stage) follow() {
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := s.cluster.Follow(ctx, func(list []Change) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, c := range list {
				s.changes = append(s.changes, say(c)...)
			}
		})
		if !errors.Is(err, context.Canceled) {
			s.Errorf("Follow ended with %v", err)
		}
	}()
	s.stop = func() {
		cancel()
		<-done
	}
	synctest.Wait()
}

// say gives a change in words.
func say(c Change) []string {
	switch c := c.(type) {
	case Synced:
		all := []string{strings.TrimSpace("synced " + c.Identity)}
		for _, n := range c.Nodes {
			all = append(all, say(NodeSeen{n})...)
		}
		for _, o := range c.Spaces {
			all = append(all, say(o)...)
		}
		for _, o := range c.Occupants {
			all = append(all, say(PodOccupies{o})...)
		}
		for _, w := range c.Waiting {
			all = append(all, say(w)...)
		}
		for _, b := range c.Bound {
			all = append(all, say(b)...)
		}
		return all
	case NodeSeen:
		if c.Node.NotReady {
			return []string{"node " + c.Node.Name + " not ready"}
		}
		return []string{"node " + c.Node.Name}
	case NodeGone:
		return []string{"node gone " + c.Name}
	case PodWaits:
		text := fmt.Sprintf("waits %s of %s", c.Job.ID, c.Job.Tenant)
		for _, why := range c.Refused {
			text += ", " + why
		}
		if c.Until != "" {
			text += " until " + c.Until
		}
		if g := c.Job.Gang; g != nil {
			text += fmt.Sprintf(" as %d of %d, %d together", g.Index, g.Size, g.Least())
		}
		return []string{text}
	case PodOccupies:
		text := fmt.Sprintf("occupies %s on %s", c.Occupant.ID, c.Occupant.Node)
		if c.Occupant.Ending {
			text += " ending"
		}
		return []string{text}
	case PodBound:
		text := fmt.Sprintf("bound %s on %s by %s", c.Job.ID, c.Node, c.Placement)
		if c.Ending {
			text += " ending"
		}
		return []string{text}
	case SpaceOf:
		return []string{fmt.Sprintf("jobs of %s in %q", c.Tenant, c.Space)}
	case PodGone:
		return []string{fmt.Sprintf("gone %s", c.ID)}
	case Lost:
		return []string{"lost " + c.Reason}
	case Back:
		return []string{"back"}
	}
	return []string{fmt.Sprintf("%T", c)}
}

// saw checks what was told since the last time: changes, and statuses.
func (s *stage) saw(changes []string, statuses ...string) {
	s.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.changes, changes) {
		s.Errorf("changes %q, expected %q", s.changes, changes)
	}
	if !slices.Equal(s.statuses, statuses) {
		s.Errorf("statuses %q, expected %q", s.statuses, statuses)
	}
	s.changes, s.statuses = nil, nil
}

func (s *stage) bind(placement, job, node string) error {
	return s.cluster.Bind(s.Context(), engine.Binding{
		Placement: placement, Job: poise.JobID(job), Name: "j", Tenant: "t", Node: node, Notes: map[string]string{"policy": "default", "loss": "0.5"},
	})
}

// fails checks the kind of an error.
func (s *stage) fails(err error, kind poise.Kind) {
	s.Helper()
	if err == nil || poise.KindOf(err) != kind {
		s.Errorf("error %v, expected one of kind %s", err, kind)
	}
}

func (s *stage) fine(err error) {
	s.Helper()
	if err != nil {
		s.Error(err)
	}
}

func node(name string) *v1.Node { return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }

func pod(name, scheduler, node string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "s", UID: types.UID("u-" + name)},
		Spec:       v1.PodSpec{SchedulerName: scheduler, NodeName: node},
		Status:     v1.PodStatus{Phase: v1.PodPending},
	}
}

func space(name string, labels map[string]string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func two() []metav1.Object {
	return []metav1.Object{node("n1"), node("n2"), space("s", nil)}
}

func with(more ...metav1.Object) []metav1.Object { return append(two(), more...) }

var start = []string{"synced", "node north/n1", "node north/n2"}

func TestFollowTellsAllAndThenWhatChanges(t *testing.T) {
	gated := pod("gated", "poise", "")
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "later"}}
	placed := pod("placed", "poise", "n2")
	placed.Annotations = map[string]string{"poise.dev/placement": "p7"}
	elsewhere := node("n3")
	elsewhere.Labels = map[string]string{"pool": "other"}
	play(t, with(elsewhere, pod("agent", "default-scheduler", "n1"), pod("far", "default-scheduler", "n3"), pod("a", "poise", ""), pod("other", "default-scheduler", ""), gated, placed), func(s *stage) {
		s.saw([]string{"synced", "node north/n1", "node north/n2", "occupies u-agent on north/n1", "waits u-a of s", "bound u-placed on north/n2 by p7"}, "p7 starting 0")
		s.api.change("s/gated", func(p *v1.Pod) { p.Spec.SchedulingGates = nil })
		s.saw([]string{"waits u-gated of s"})
		s.api.put(space("s", map[string]string{"poise.dev/tenant": "blue"}))
		s.saw([]string{"waits u-a of blue", "waits u-gated of blue", "bound u-placed on north/n2 by p7", `jobs of blue in "s"`})
		s.api.change("s/other", func(p *v1.Pod) { p.Spec.NodeName = "n1" })
		s.saw([]string{"occupies u-other on north/n1"})
		s.api.change("s/other", func(p *v1.Pod) { p.DeletionTimestamp = new(metav1.Now()) })
		s.saw([]string{"occupies u-other on north/n1 ending"})
		s.api.change("s/other", func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded })
		s.saw([]string{"gone u-other"})
		s.api.change("s/a", func(p *v1.Pod) { p.Spec.NodeName = "n1" }) // by somebody else
		s.saw([]string{"gone u-a", "occupies u-a on north/n1"})
		s.api.remove(s.api.read("s/gated"))
		s.saw([]string{"gone u-gated"})
		n := node("n1")
		n.Spec.Unschedulable = true
		s.api.put(n)
		s.saw([]string{"node north/n1"})
		s.api.put(n.DeepCopy()) // nothing that matters
		s.saw(nil)
	})
}

func TestNodeGoesWithItsPods(t *testing.T) {
	play(t, with(pod("agent", "default-scheduler", "n1")), func(s *stage) {
		s.saw([]string{"synced", "node north/n1", "node north/n2", "occupies u-agent on north/n1"})
		s.api.remove(node("n1"), node("n2"))
		s.saw([]string{"node north/n1 not ready", "node gone north/n2"})
		s.api.remove(s.api.read("s/agent"))
		s.saw([]string{"gone u-agent", "node gone north/n1"})
		s.api.put(pod("early", "default-scheduler", "n1"))
		s.saw(nil)
		s.api.put(node("n1"))
		s.saw([]string{"node north/n1", "occupies u-early on north/n1"})
		s.api.remove(node("n1"))
		s.saw([]string{"node north/n1 not ready"})
		s.api.put(node("n1"))
		s.saw([]string{"node north/n1"})
	})
}

func TestBindAndItsTask(t *testing.T) {
	play(t, with(pod("a", "poise", "")), func(s *stage) {
		s.saw(append(start, "waits u-a of s"))
		s.fine(s.bind("p1", "u-a", "north/n1"))
		s.saw([]string{"bound u-a on north/n1 by p1"}, "p1 starting 0")
		s.fine(s.bind("p1", "u-a", "north/n1"))
		if w := s.api.wrote(); !slices.Equal(w, []string{"POST /api/v1/namespaces/s/pods/a/binding"}) {
			s.Errorf("wrote %q, expected one binding", w)
		}
		if got := s.api.read("s/a").Annotations; got["poise.dev/policy"] != "default" || got["poise.dev/loss"] != "0.5" || got["poise.dev/placement"] != "p1" {
			s.Errorf("annotations %v", got)
		}
		s.fails(s.cluster.Forget(s.Context(), "p1"), poise.Conflict)
		s.api.change("s/a", func(p *v1.Pod) { p.Status.Phase = v1.PodRunning })
		s.saw(nil, "p1 running 0")
		s.fine(s.cluster.Evict(s.Context(), "p1", 2500))
		if p := s.api.read("s/a"); *p.DeletionGracePeriodSeconds != 3 {
			s.Errorf("evicted with %d s, expected 3", *p.DeletionGracePeriodSeconds)
		}
		s.saw([]string{"bound u-a on north/n1 by p1 ending"})
		s.api.change("s/a", func(p *v1.Pod) {
			p.Status.Phase = v1.PodFailed
			p.Status.ContainerStatuses = []v1.ContainerStatus{
				{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}},
				{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}},
			}
		})
		s.saw([]string{"gone u-a"}, "p1 failed 137 OOMKilled")
		s.fine(s.cluster.Evict(s.Context(), "p1", 0))
		s.fine(s.cluster.Forget(s.Context(), "p1"))
		s.api.change("s/a", func(p *v1.Pod) { p.Labels = map[string]string{"x": "y"} })
		s.api.remove(s.api.read("s/a"))
		s.saw(nil)
		s.fails(s.cluster.Evict(s.Context(), "p9", 0), poise.NotFound)
	})
}

func TestBindIsRefused(t *testing.T) {
	play(t, with(pod("a", "poise", ""), pod("taken", "poise", "")), func(s *stage) {
		s.saw(append(start, "waits u-a of s", "waits u-taken of s"))
		s.fails(s.bind("p1", "u-gone", "north/n1"), poise.NotFound)
		s.fails(s.bind("p1", "u-a", "south/n1"), poise.Invalid)

		// Another pod has the name now, and nobody has heard of it yet.
		s.api.set(func(a *apiServer) {
			p := pod("a", "poise", "")
			p.UID = "u-a2"
			a.objects["pods"]["s/a"] = p
		})
		s.fails(s.bind("p2", "u-a", "north/n1"), poise.Conflict)
		s.api.set(func(a *apiServer) { delete(a.objects["pods"], "s/a") })
		s.fails(s.bind("p3", "u-a", "north/n1"), poise.NotFound)

		s.api.set(func(a *apiServer) { a.objects["pods"]["s/taken"].(*v1.Pod).Spec.NodeName = "n2" })
		s.fails(s.bind("p4", "u-taken", "north/n1"), poise.Conflict)
		s.saw(nil)
	})
}

// A bind whose answer gets lost was made, and is known again by the placement that
// it carries: it is not made twice, and it can be ended.
func TestBindWithoutAnAnswer(t *testing.T) {
	play(t, with(pod("a", "poise", ""), pod("b", "poise", ""), pod("c", "poise", "")), func(s *stage) {
		s.saw(append(start, "waits u-a of s", "waits u-b of s", "waits u-c of s"))
		s.api.set(func(a *apiServer) { a.mute = true })
		s.fails(s.bind("p1", "u-a", "north/n1"), poise.Unavailable)
		s.api.set(func(a *apiServer) { a.mute = false })
		s.fine(s.bind("p1", "u-a", "north/n1"))
		s.saw([]string{"bound u-a on north/n1 by p1"}, "p1 starting 0")

		// The watch is down, so that nobody sees that the bind was made.
		s.api.fail(errors.New("no route to host"))
		synctest.Wait()
		s.fails(s.bind("p2", "u-b", "north/n1"), poise.Unavailable)
		s.api.set(func(a *apiServer) { a.down = nil })
		for _, is := range []struct {
			job       poise.JobID
			placement string
			made      bool
			unplaced  bool
		}{{"u-a", "p1", false, false}, {"u-b", "p2", false, true}, {"u-gone", "p2", false, false}, {"j", "p9-j", true, true}, {"j", "p1", true, false}} {
			if got := s.cluster.Unplaced(is.job, is.placement, is.made); got != is.unplaced {
				s.Errorf("%+v: got %v", is, got)
			}
		}
		s.fails(s.cluster.Evict(s.Context(), "p2", 0), poise.Unavailable)
		s.fails(s.cluster.Placed(s.Context(), "p2"), poise.Unavailable) // it may be on its way
		time.Sleep(time.Minute)
		s.fails(s.cluster.Placed(s.Context(), "p2"), poise.NotFound)
		s.fails(s.cluster.Evict(s.Context(), "p2", 0), poise.NotFound)
		s.api.set(func(a *apiServer) { a.mute = true })
		s.fails(s.bind("p3", "u-c", "north/n1"), poise.Unavailable)
		s.api.set(func(a *apiServer) { a.mute = false })
		s.fine(s.cluster.Placed(s.Context(), "p3"))
		if p := s.api.read("s/c"); p.DeletionTimestamp != nil {
			s.Error("it is ended, and was asked for")
		}
		s.fine(s.cluster.Evict(s.Context(), "p3", 0))
		if p := s.api.read("s/c"); *p.DeletionGracePeriodSeconds != 1 {
			s.Errorf("evicted with %d s, expected 1", *p.DeletionGracePeriodSeconds)
		}
		time.Sleep(2 * time.Minute)
		s.saw([]string{"bound u-c on north/n1 by p3", "bound u-c on north/n1 by p3 ending"}, "p3 starting 0")
	})
}

// A bind of before a restart is known again as soon as one look at the pod is answered.
func TestBindOfBeforeARestart(t *testing.T) {
	play(t, with(pod("a", "poise", "")), func(s *stage) {
		s.saw(append(start, "waits u-a of s"))
		s.api.set(func(a *apiServer) {
			p := a.objects["pods"]["s/a"].(*v1.Pod)
			p.Spec.NodeName, p.Annotations, a.blind = "n1", map[string]string{placementNote: "p1"}, true
		})
		for range 3 {
			s.fails(s.bind("p1", "u-a", "north/n1"), poise.Unavailable)
		}
		s.fails(s.cluster.Placed(s.Context(), "p1"), poise.Unavailable)
		s.api.set(func(a *apiServer) { a.blind = false })
		s.fine(s.cluster.Placed(s.Context(), "p1"))
		s.saw(nil, "p1 starting 0")
	})
}

func TestSlowAnswersEndInTime(t *testing.T) {
	play(t, with(pod("a", "poise", "")), func(s *stage) {
		s.saw(append(start, "waits u-a of s"))
		s.api.set(func(a *apiServer) { a.slow = time.Hour })
		began := time.Now()
		s.fails(s.bind("p1", "u-a", "north/n1"), poise.Unavailable)
		s.fails(s.cluster.Waits(s.Context(), "u-a", "no room", ""), poise.Unavailable)
		if took := time.Since(began); took > 2*callTimeout {
			s.Errorf("took %v, expected at most %v", took, 2*callTimeout)
		}
		s.api.set(func(a *apiServer) { a.slow = 0 })
		s.fine(s.bind("p1", "u-a", "north/n1"))
	})
}

// What ended while no watch ran is told when it runs again, however the API server
// answers: nothing that is gone stays.
func TestNothingIsMissedByAWatchThatFailed(t *testing.T) {
	bound := pod("bound", "poise", "n1")
	bound.Annotations = map[string]string{"poise.dev/placement": "p5"}
	play(t, with(bound, pod("agent", "default-scheduler", "n1"), pod("a", "poise", ""), pod("b", "poise", "")), func(s *stage) {
		s.saw([]string{
			"synced", "node north/n1", "node north/n2", "occupies u-agent on north/n1", "waits u-a of s", "waits u-b of s", "bound u-bound on north/n1 by p5",
		}, "p5 starting 0")
		s.api.fail(errors.New("connection refused"))
		again := pod("b", "poise", "")
		again.UID = "u-b2"
		s.api.remove(node("n2"), bound, s.api.read("s/agent"), s.api.read("s/a"), s.api.read("s/b"))
		s.api.put(again, pod("new", "poise", ""))
		s.api.forget() // so that the versions of before are gone
		s.saw(nil)
		time.Sleep(10 * time.Second)
		s.saw(nil)
		time.Sleep(25 * time.Second)
		synctest.Wait()
		s.mu.Lock()
		if len(s.changes) != 1 || !strings.HasPrefix(s.changes[0], "lost ") || !strings.Contains(s.changes[0], "connection refused") {
			s.Errorf("changes %q, expected lost", s.changes)
		}
		s.changes = nil
		s.mu.Unlock()
		s.api.fail(nil)
		time.Sleep(2 * againMost)
		synctest.Wait()
		s.mu.Lock()
		got := slices.Clone(s.changes)
		s.mu.Unlock()
		if !slices.Contains(got, "back") {
			s.Errorf("changes %q, expected back among them", got)
		}
		// Pods, nodes and namespaces come back each in its own time.
		slices.Sort(got)
		want := []string{"back", "gone u-a", "gone u-agent", "gone u-b", "gone u-bound", "node gone north/n2", "waits u-b2 of s", "waits u-new of s"}
		if !slices.Equal(got, want) {
			s.Errorf("changes %q, expected %q", got, want)
		}
		s.mu.Lock()
		s.changes = nil
		s.mu.Unlock()
		s.saw(nil, "p5 lost 0 the pod was deleted")
	})
}

// A cluster may be followed anew: what ended meanwhile ends.
func TestFollowAnew(t *testing.T) {
	play(t, with(pod("a", "poise", ""), pod("b", "poise", "")), func(s *stage) {
		s.saw(append(start, "waits u-a of s", "waits u-b of s"))
		s.fine(s.bind("p1", "u-a", "north/n1"))
		s.fine(s.bind("p2", "u-b", "north/n1"))
		s.saw([]string{"bound u-a on north/n1 by p1", "bound u-b on north/n1 by p2"}, "p1 starting 0", "p2 starting 0")
		s.stop()
		s.api.remove(s.api.read("s/a"))
		s.follow()
		s.saw(append(start, "bound u-b on north/n1 by p2"), "p1 lost 0 the pod was deleted")
	})
}

func TestNothingIsBoundBeforeTheClusterIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newAPIServer(t)
		api.fail(errors.New("connection refused"))
		c, err := New(Options{Name: "north", Log: slog.New(slog.DiscardHandler), Now: func() poise.Time { return 0 }, config: &rest.Config{Host: "http://api", Transport: api}})
		if err != nil {
			t.Fatal(err)
		}
		s := &stage{T: t, api: api, cluster: c}
		s.follow()
		s.fails(s.bind("p1", "u-a", "north/n1"), poise.Unavailable)
		s.fails(c.Evict(t.Context(), "p1", 0), poise.Unavailable)
		s.fails(c.Waits(t.Context(), "u-a", "no room", ""), poise.Unavailable)
		s.stop()
	})
}

func TestWaitsIsWrittenOnceForEachReason(t *testing.T) {
	play(t, with(pod("a", "poise", ""), pod("agent", "default-scheduler", "n1")), func(s *stage) {
		s.saw(append(start, "occupies u-agent on north/n1", "waits u-a of s"))
		f := func(job, reason string, writes int) {
			s.Helper()
			s.fine(s.cluster.Waits(s.Context(), poise.JobID(job), reason, ""))
			synctest.Wait()
			if w := s.api.wrote(); len(w) != writes {
				s.Errorf("wrote %q, expected %d writes", w, writes)
			}
		}
		f("u-a", "no room", 1)
		f("u-a", "no room", 1)
		f("u-a", "over quota", 2)
		f("u-agent", "no room", 2)
		f("u-gone", "no room", 2)
		c := s.api.read("s/a").Status.Conditions
		if len(c) != 1 || c[0].Type != v1.PodScheduled || c[0].Status != v1.ConditionFalse || c[0].Reason != "Unschedulable" || c[0].Message != "over quota" || c[0].LastTransitionTime.IsZero() {
			s.Errorf("conditions %+v", c)
		}
		s.saw(nil)
		s.stop() // after a restart nobody remembers what was written; the pod does
		s.follow()
		f("u-a", "over quota", 2)
		s.fine(s.bind("p1", "u-a", "north/n1"))
		f("u-a", "no room", 3) // the bind is the third
	})
}

// A pod that was cancelled says so and is not told of any more, by whomever the
// cluster is read.
func TestCancelledPod(t *testing.T) {
	play(t, with(pod("a", "poise", "")), func(s *stage) {
		s.saw(append(start, "waits u-a of s"))
		s.fine(s.cluster.Waits(s.Context(), "u-a", "no room", ""))
		s.fine(s.cluster.Waits(s.Context(), "u-a", Cancelled, ""))
		s.saw([]string{"gone u-a"})
		c := s.api.read("s/a").Status.Conditions
		if len(c) != 1 || c[0].Status != v1.ConditionFalse || c[0].Reason != "Cancelled" || c[0].Message != Cancelled {
			s.Errorf("conditions %+v", c)
		}
		s.fine(s.cluster.Waits(s.Context(), "u-a", Cancelled, ""))
		s.api.change("s/a", func(p *v1.Pod) { p.Labels = map[string]string{"x": "y"} })
		s.saw(nil)
		s.stop()
		s.follow()
		s.saw(start)
		if w := s.api.wrote(); len(w) != 2 {
			s.Errorf("wrote %q, expected two writes", w)
		}
	})
}

// A pod for which others make room says on which node, in the write that says why it
// waits, until they do not any more, also where the write before was not seen yet.
func TestNominatedNode(t *testing.T) {
	never := pod("never", "poise", "")
	never.Spec.PreemptionPolicy = new(v1.PreemptNever)
	play(t, with(pod("a", "poise", ""), never), func(s *stage) {
		f := func(reason, node, want string, writes int) {
			s.Helper()
			s.fine(s.cluster.Waits(s.Context(), "u-a", reason, node))
			if got := s.api.read("s/a").Status; got.NominatedNodeName != want || got.Conditions[0].Message != reason {
				s.Errorf("nominated %q, %+v, expected %q", got.NominatedNodeName, got.Conditions, want)
			}
			if w := s.api.wrote(); len(w) != writes {
				s.Errorf("wrote %q, expected %d writes", w, writes)
			}
		}
		f("no room", "", "", 1)
		f("no room", "north/n1", "n1", 2)
		f("no room", "north/n1", "n1", 2)
		f("no room", "north/n2", "n2", 3)
		f("no room", "", "", 4)
		f("no room", "north/n1", "n1", 5)
		synctest.Wait()
		s.stop() // after a restart nobody remembers what was written; the pod does
		s.follow()
		f("no room", "north/n1", "n1", 5)
		s.stop()
		s.follow()
		f("no room", "", "", 6)
		s.cluster.mu.Lock()
		defer s.cluster.mu.Unlock()
		for uid, want := range map[types.UID]bool{"u-a": false, "u-never": true} {
			if w, waits := s.cluster.world.pods[uid].told.(PodWaits); !waits || w.Job.Pod.NoPreemption != want {
				s.Errorf("%s: %+v, expected NoPreemption %v", uid, w, want)
			}
		}
	})
}

func TestEvictionHeedsADisruptionBudget(t *testing.T) {
	placed := pod("a", "poise", "n1")
	placed.Annotations = map[string]string{"poise.dev/placement": "p1"}
	play(t, with(placed), func(s *stage) {
		s.api.set(func(a *apiServer) { a.budgeted = true })
		s.fails(s.cluster.Evict(s.Context(), "p1", 1000), poise.Limit)
		s.api.set(func(a *apiServer) { a.budgeted = false })
		s.fine(s.cluster.Evict(s.Context(), "p1", 1000))
	})
}

func TestNewRefuses(t *testing.T) {
	f := func(o Options, want string) {
		t.Helper()
		if _, err := New(o); poise.KindOf(err) != poise.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	f(Options{}, "name: expected one")
	f(Options{Name: "a/b"}, "name: expected one")
	f(Options{Name: "a", NodeSelector: "=="}, "node selector")
	f(Options{Name: "a", Kubeconfig: []byte("{")}, "kubeconfig")
	f(Options{Name: "a"}, "kubeconfig") // this process runs in no cluster
}
