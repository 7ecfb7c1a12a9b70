package kube

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// happenedAre checks which events there are.
func (s *stage) happenedAre(want ...string) {
	s.Helper()
	synctest.Wait()
	if got := s.api.eventsNow(); !slices.Equal(got, want) {
		s.Errorf("events\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A pod that waits has one event for each reason, counted; one that is placed none.
func TestEvents(t *testing.T) {
	play(t, with(pod("a", "poise", ""), pod("b", "poise", "")), func(s *stage) {
		waits := func(reason string) {
			s.Helper()
			s.fine(s.cluster.Waits(s.Context(), "u-a", reason, ""))
			synctest.Wait()
		}
		waits("no room")
		s.happenedAre("Warning FailedScheduling of a 1 times: no room")
		waits("no room")
		s.happenedAre("Warning FailedScheduling of a 2 times: no room")
		waits("no room")
		s.happenedAre("Warning FailedScheduling of a 2 times: no room") // written at four
		waits("over quota")
		waits("no room")
		s.happenedAre("Warning FailedScheduling of a 1 times: over quota", "Warning FailedScheduling of a 4 times: no room")
		s.fine(s.bind("p1", "u-a", "north/n1"))
		s.fine(s.bind("p2", "u-b", "north/n1"))
		synctest.Wait()
		waits("no room")
		s.cluster.Preempted("p2", "job s/a")
		s.happenedAre("Normal Preempted of b 1 times: evicted for job s/a", "Warning FailedScheduling of a 1 times: over quota", "Warning FailedScheduling of a 4 times: no room")
		s.cluster.Preempted("p9", "job s/a")
		s.happenedAre("Normal Preempted of b 1 times: evicted for job s/a", "Warning FailedScheduling of a 1 times: over quota", "Warning FailedScheduling of a 4 times: no room")
	})
}

// An event that the API server has forgotten is made anew, with its count, and a right
// that is missing stops nothing.
func TestEventsAreNoRecord(t *testing.T) {
	play(t, with(pod("a", "poise", "")), func(s *stage) {
		for range 2 {
			s.fine(s.cluster.Waits(s.Context(), "u-a", "no room", ""))
		}
		synctest.Wait()
		s.api.set(func(a *apiServer) { clear(a.happened) })
		for range 2 {
			s.fine(s.cluster.Waits(s.Context(), "u-a", "no room", ""))
		}
		s.happenedAre("Warning FailedScheduling of a 4 times: no room")
		long := strings.Repeat("ä", maxNote)
		s.fine(s.cluster.Waits(s.Context(), "u-a", long, ""))
		s.happenedAre("Warning FailedScheduling of a 1 times: "+long[:maxNote], "Warning FailedScheduling of a 4 times: no room")
	})
}

// A thousand pods that are placed are a thousand writes, whether they waited or not,
// but for those that waited long enough for an event.
func TestOneWriteForAPod(t *testing.T) {
	const pods = 1000
	var objects []metav1.Object
	for i := range pods {
		objects = append(objects, pod(fmt.Sprint("p", i), "poise", ""))
	}
	play(t, with(objects...), func(s *stage) {
		for i := range pods {
			b := engine.Binding{Placement: fmt.Sprint("x", i), Job: poise.JobID(fmt.Sprint("u-p", i)), Name: "p", Tenant: "s", Node: "north/n1"}
			s.fine(s.cluster.Bind(s.Context(), b))
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(s.api.allWrites()); n != pods {
			s.Errorf("%d writes for %d pods", n, pods)
		}
	})
}

// However much happens, events are written at a bounded rate, and not for pods that
// do not wait any more.
func TestEventsAreBounded(t *testing.T) {
	const pods = 500
	var objects []metav1.Object
	for i := range pods {
		objects = append(objects, pod(fmt.Sprint("p", i), "poise", ""))
	}
	play(t, with(objects...), func(s *stage) {
		events := func() (n int) {
			synctest.Wait()
			return len(s.api.allWrites()) - len(s.api.wrote())
		}
		for i := range pods {
			s.fine(s.cluster.Waits(s.Context(), poise.JobID(fmt.Sprint("u-p", i)), "no room", ""))
		}
		if n := events(); n != eventBurst {
			s.Errorf("%d events at once, expected %d", n, eventBurst)
		}
		time.Sleep(10 * time.Second)
		if n, want := events(), eventBurst+10*eventRate; n < want-1 || n > want {
			s.Errorf("%d events after 10 s, expected %d", n, want)
		}
		for i := range pods {
			s.api.remove(s.api.read(fmt.Sprint("s/p", i)))
		}
		was := events()
		time.Sleep(10 * time.Minute)
		if n := events(); n != was {
			s.Errorf("%d events of pods that are gone", n-was)
		}
		if n := len(s.cluster.events.queue); n != 0 {
			s.Errorf("%d events wait", n)
		}
	})
}

// What is remembered is bounded.
func TestEventsAreForgotten(t *testing.T) {
	l := newEventLog()
	p := pod("a", "poise", "")
	for i := range 3 * maxEvents {
		l.add(p, happened{reason: failedScheduling, note: fmt.Sprint(i)}, 0)
		if len(l.seen) > maxEvents || len(l.queue) > maxEvents {
			t.Fatalf("%d are remembered, %d wait", len(l.seen), len(l.queue))
		}
	}
	for range 10 {
		if _, _, err := l.next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.add(p, happened{reason: failedScheduling, note: "new"}, 0)
	if len(l.seen) != maxEvents-9 {
		t.Errorf("%d are remembered", len(l.seen))
	}
}
