package kube

import (
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func imageJob(placement string) engine.Binding {
	return engine.Binding{
		Placement: placement, Job: "j1", Name: "train", Tenant: "s", Node: "north/n1", Image: "busybox:1", Command: []string{"sh", "-c", "echo $HOME $(HOME)"},
		Env: map[string]string{"A": "$(B)"}, Dir: "/tmp", RunTime: 1500, Grace: 2500, Notes: map[string]string{"policy": "default"},
		Labels:  []poise.Label{{Key: "not a key", Value: "x"}, {Key: "poise.dev/job", Value: "forged"}, {Key: "team", Value: "x"}},
		Amounts: resource.List{{Name: "cpu", Value: 500}, {Name: "memory", Value: 1 << 30}, {Name: "pods", Value: 1000}, {Name: "storage", Value: 5}},
		Devices: []uint16{0, 3}, DeviceKind: "gpu", Tolerations: []poise.Toleration{{Key: "k", Exists: true}},
	}
}

// A job with an image becomes a pod on its node, once, and tells how it goes.
func TestJobBecomesAPod(t *testing.T) {
	play(t, two(), func(s *stage) {
		s.saw(start)
		b := imageJob("p1-j1")
		s.fine(s.cluster.Bind(s.Context(), b))
		s.saw([]string{"bound u-poise-p1-j1 on north/n1 by p1-j1"}, "p1-j1 starting 0")
		s.fine(s.cluster.Bind(s.Context(), b))
		p := s.api.read("s/poise-p1-j1")
		main := p.Spec.Containers[0]
		for _, x := range []struct{ what, got, want string }{
			{"node", p.Spec.NodeName, "n1"},
			{"command", main.Command[2], "echo $$HOME $$(HOME)"},
			{"variable", main.Env[0].Value, "$$(B)"},
			{"cpu", main.Resources.Limits.Cpu().String(), "500m"},
			{"memory", main.Resources.Requests.Memory().String(), "1Gi"},
			{"disk", main.Resources.Requests.StorageEphemeral().String(), "5"},
			{"job", p.Labels["poise.dev/job"], "j1"},
			{"label", p.Labels["team"], "x"},
			{"note", p.Annotations["poise.dev/policy"], "default"},
			{"taint", string(p.Spec.Tolerations[0].Operator), "Exists"},
		} {
			if x.got != x.want {
				s.Errorf("%s: %q, expected %q", x.what, x.got, x.want)
			}
		}
		if gpus := main.Resources.Limits[gpuResource]; gpus.Value() != 2 || len(main.Resources.Limits) != 4 || len(p.Labels) != 2 {
			s.Errorf("%v %v", main.Resources.Limits, p.Labels)
		}
		if *p.Spec.ActiveDeadlineSeconds != 2 || *p.Spec.TerminationGracePeriodSeconds != 3 || p.Spec.RestartPolicy != v1.RestartPolicyNever {
			s.Errorf("%+v", p.Spec)
		}
		s.api.change("s/poise-p1-j1", func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded })
		s.saw([]string{"gone u-poise-p1-j1"}, "p1-j1 succeeded 0")
		s.fine(s.cluster.Forget(s.Context(), "p1-j1"))
		if w := s.api.wrote(); !slices.Equal(w, []string{"POST /api/v1/namespaces/s/pods"}) {
			s.Errorf("wrote %q, expected one pod, which stays", w)
		}
	})
}

// An answer that got lost, a pod of an earlier daemon, and one that is gone: none is
// made twice.
func TestJobPodIsMadeOnce(t *testing.T) {
	play(t, two(), func(s *stage) {
		s.saw(start)
		s.api.set(func(a *apiServer) { a.mute = true })
		s.fails(s.cluster.Bind(s.Context(), imageJob("p1-j1")), poise.Unavailable)
		s.fine(s.cluster.Bind(s.Context(), imageJob("p1-j1")))
		s.saw([]string{"bound u-poise-p1-j1 on north/n1 by p1-j1"}, "p1-j1 starting 0")
		s.api.set(func(a *apiServer) { a.mute = false })

		other := pod("poise-p2-j1", "poise", "n1")
		s.api.put(other)
		s.saw([]string{"occupies u-poise-p2-j1 on north/n1"})
		s.fails(s.cluster.Bind(s.Context(), imageJob("p2-j1")), poise.Conflict)
		s.fails(s.cluster.Evict(s.Context(), "p2-j1", 0), poise.NotFound)

		begun := imageJob("p3-j1")
		begun.Begun = true
		s.fine(s.cluster.Bind(s.Context(), begun))
		s.saw(nil, "p3-j1 lost 0 the pod was deleted")

		nobody := imageJob("p4-j1")
		nobody.Tenant = "nobody"
		s.fails(s.cluster.Bind(s.Context(), nobody), poise.Invalid)
		s.api.put(space("theirs", map[string]string{"poise.dev/tenant": "nobody"}))
		synctest.Wait()
		s.fine(s.cluster.Bind(s.Context(), nobody))
		if s.api.read("theirs/poise-p4-j1") == nil {
			s.Error("expected a pod in the namespace with the tenant's label")
		}
		part := imageJob("p5-j1")
		part.Amounts = resource.List{{Name: "example.com/fpga", Value: 500}}
		s.fails(s.cluster.Bind(s.Context(), part), poise.Invalid)
		s.saw([]string{`jobs of nobody in "theirs"`, "bound u-poise-p4-j1 on north/n1 by p4-j1"}, "p4-j1 starting 0")
	})
}

// A pod that was made and deleted before anybody saw it is lost once somebody asks.
func TestJobPodIsDeletedUnseen(t *testing.T) {
	play(t, two(), func(s *stage) {
		s.saw(start)
		for _, placement := range []string{"p1-j1", "p2-j1"} {
			s.cluster.made[placement] = types.NamespacedName{Namespace: "s", Name: "poise-" + placement}
		}
		s.fails(s.cluster.Evict(s.Context(), "p1-j1", 0), poise.NotFound)
		s.cluster.board.Post(engine.Status{Placement: "p2-j1"})
		s.fine(s.cluster.Evict(s.Context(), "p2-j1", 0))
		s.saw(nil, "p2-j1 starting 0", "p2-j1 lost 0 the pod was deleted")
	})
}

// A pod that came and went while nothing was watched is lost without anybody asking;
// one that is late is waited for.
func TestJobPodComesAndGoesUnseen(t *testing.T) {
	play(t, two(), func(s *stage) {
		s.saw(start)
		s.api.set(func(a *apiServer) { a.deaf = true })
		s.fine(s.cluster.Bind(s.Context(), imageJob("p1-j1")))
		s.fine(s.cluster.Bind(s.Context(), imageJob("p2-j1")))
		time.Sleep(time.Minute)
		s.saw(nil, "p1-j1 starting 0", "p2-j1 starting 0")
		s.api.remove(s.api.read("s/poise-p1-j1"))
		time.Sleep(unseenAfter)
		s.saw(nil, "p1-j1 lost 0 the pod was deleted")
		s.api.set(func(a *apiServer) { a.deaf = false })
		s.api.forget()
		time.Sleep(time.Minute)
		s.saw([]string{"bound u-poise-p2-j1 on north/n1 by p2-j1"})
	})
}

func TestLogs(t *testing.T) {
	play(t, two(), func(s *stage) {
		read := func(o LogOptions) string {
			s.Helper()
			r, err := s.cluster.Logs(s.Context(), "p1-j1", o)
			if err != nil {
				s.Fatal(err)
			}
			text, err := io.ReadAll(r)
			s.fine(err)
			s.fine(r.Close())
			return string(text)
		}
		_, err := s.cluster.Logs(s.Context(), "p1-j1", LogOptions{})
		s.fails(err, poise.NotFound)
		// Placed, and not bound yet: a follower waits until it is, or the placement falls.
		until := time.Now().Add(time.Second)
		stands := func() bool { return time.Now().Before(until) }
		if got := read(LogOptions{Lives: stands}); got != "" {
			s.Errorf("%q, expected nothing of a pod that is not bound", got)
		}
		early, err := s.cluster.Logs(s.Context(), "p1-j1", LogOptions{Follow: true, Lives: stands})
		s.fine(err)
		_, err = io.ReadAll(early)
		s.fails(err, poise.NotFound)
		s.fine(early.Close())
		s.fine(s.cluster.Bind(s.Context(), imageJob("p1-j1")))
		synctest.Wait()
		if got := read(LogOptions{}); got != "" {
			s.Errorf("%q, expected nothing of a pod that has not started", got)
		}
		r, err := s.cluster.Logs(s.Context(), "p1-j1", LogOptions{Follow: true})
		s.fine(err)
		go func() { // one who goes away
			time.Sleep(time.Second)
			r.(*podLog).cancel()
		}()
		if _, err := io.ReadAll(r); err == nil {
			s.Error("expected an error of a log that was closed")
		}
		s.fine(r.Close())
		go func() {
			time.Sleep(time.Second)
			s.api.change("s/poise-p1-j1", func(p *v1.Pod) {
				p.Status.Phase, p.Status.StartTime = v1.PodRunning, new(metav1.Now())
			})
		}()
		if got := read(LogOptions{Follow: true, Tail: 3, Since: 60_000}); got != "container=main&follow=true&sinceTime=1970-01-01T00%3A01%3A00Z&tailLines=3\n" {
			s.Errorf("%q", got)
		}
		s.api.remove(s.api.read("s/poise-p1-j1"))
		synctest.Wait()
		_, err = s.cluster.Logs(s.Context(), "p1-j1", LogOptions{})
		s.fails(err, poise.NotFound)
	})
}
