package kube

import (
	"errors"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A cluster says which one it is when it is asked and when it is read.
func TestIdentity(t *testing.T) {
	system := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "u-1"}}
	f := func(want string, objects ...metav1.Object) {
		t.Helper()
		play(t, objects, func(s *stage) {
			if got, err := s.cluster.Identity(s.Context()); got != want || err != nil {
				s.Errorf("%q, %v, expected %q", got, err, want)
			}
			if want != "" {
				want = " " + want
			}
			s.saw([]string{"synced" + want})
			s.api.fail(errors.New("connection refused"))
			_, err := s.cluster.Identity(s.Context())
			s.fails(err, poise.Unavailable)
		})
	}
	f("")
	f("", space("s", nil))
	f("u-1", space("a", nil), system, space("z", nil))
}
