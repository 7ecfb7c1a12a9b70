package kube

import (
	"net/http"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMark(t *testing.T) {
	bubble(t, func(s *homeServer) {
		var l line
		h := s.leader(&l, "a")
		const pods = "/api/v1/namespaces/home/pods/"
		leads := func(name string) bool {
			of, _ := metaOf(s.objects[pods+name])["labels"].(map[string]any)
			return of[leaderLabel] == "true"
		}
		s.fine(h.Mark(s.Context())) // outside a cluster there is no pod of it
		h.pod = podAt{"home", "a"}
		if err := h.Mark(s.Context()); poise.KindOf(err) != poise.NotFound {
			s.Errorf("without its pod: %v", err)
		}
		for _, name := range []string{"a", "b", "c"} {
			m := map[string]any{"name": name, "namespace": "home", "labels": map[string]any{"app": "poise"}}
			if name != "a" {
				m["labels"].(map[string]any)[leaderLabel] = "true"
			}
			s.put(pods+name, nil, map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": m})
		}
		l.set(func(r *http.Request) fault { // one that goes away meanwhile
			if r.URL.Path == pods+"b" {
				delete(s.objects, pods+"b")
			}
			return fault{}
		})
		for range 2 {
			s.fine(h.Mark(s.Context()))
			if !leads("a") || leads("c") {
				s.Errorf("a %v, c %v", leads("a"), leads("c"))
			}
		}
		l.set(func(r *http.Request) fault {
			return fault{answer: refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "no right")}
		})
		if err := h.Mark(s.Context()); poise.KindOf(err) != poise.Unavailable {
			s.Errorf("%v", err)
		}
		l.set(nil)
		s.end(h)
		s.requests()
		if err := h.Mark(s.Context()); poise.KindOf(err) != poise.Unavailable || slices.Contains(s.requests(), "GET "+pods) {
			s.Errorf("%v", err)
		}
	})
}

func TestOpenHome(t *testing.T) {
	f := func(want string, o HomeOptions) {
		t.Helper()
		o.Kubeconfig = append(o.Kubeconfig, "{}"...)
		if _, err := OpenHome(o); poise.KindOf(err) != poise.Invalid || err.Error() != "open the home cluster: "+want {
			t.Errorf("%v, expected %s", err, want)
		}
	}
	f("identity: none, expected the name of this replica", HomeOptions{Lease: 15e9})
	f("lease: 999ms, expected 1s to 1h", HomeOptions{Identity: "a", Lease: 999e6})
	f(`namespace "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
		HomeOptions{Identity: "a", Lease: 15e9, Namespace: "A"})
	f("kubeconfig: invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable", HomeOptions{Identity: "a", Lease: 15e9})
}
