package kube

import (
	"net/http"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What an API server answers to a binding beside a yes: that it is to be sent later,
// which it is, and what is no answer of Kubernetes at all.
func TestBindIsAnsweredOtherwise(t *testing.T) {
	play(t, with(pod("a", "poise", "")), func(s *stage) {
		s.saw(append(start, "waits u-a of s"))
		instead := func(r *http.Response) { s.api.set(func(a *apiServer) { a.instead = r }) }
		f := func(r *http.Response, kind poise.Kind) {
			s.Helper()
			instead(r)
			s.fails(s.bind("p1", "u-a", "north/n1"), kind)
		}
		f(answer(http.StatusBadGateway, []byte("<html>no gateway</html>")), poise.Unavailable)
		f(answer(http.StatusNotFound, nil), poise.NotFound)
		f(refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "no right"), poise.Unavailable)
		f(answer(http.StatusForbidden, s.api.proto(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid})), poise.Invalid)
		if p := s.api.read("s/a"); p.Spec.NodeName != "" {
			s.Fatalf("bound to %s, expected not", p.Spec.NodeName)
		}

		later := refuse(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "busy")
		later.Header.Set("Retry-After", "3")
		instead(later)
		s.fine(s.bind("p1", "u-a", "north/n1"))
		s.saw([]string{"bound u-a on north/n1 by p1"}, "p1 starting 0")
		if p := s.api.read("s/a"); p.Annotations[placementNote] != "p1" {
			s.Errorf("bound by %q, expected p1", p.Annotations[placementNote])
		}
	})
}
