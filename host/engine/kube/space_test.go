package kube

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// Where a tenant's jobs go is told where it is a namespace of another name: the first
// with its label, unless there is one of its own name that is no other tenant's.
func TestSpacesOfTenants(t *testing.T) {
	blue := map[string]string{"poise.dev/tenant": "blue"}
	play(t, with(space("y", blue)), func(s *stage) {
		s.saw([]string{"synced", "node north/n1", "node north/n2", `jobs of blue in "y"`})
		s.api.put(space("x", blue))
		s.saw([]string{`jobs of blue in "x"`})
		s.api.put(space("blue", nil))
		s.saw([]string{`jobs of blue in ""`})
		s.api.put(space("blue", map[string]string{"poise.dev/tenant": "red"}))
		s.saw([]string{`jobs of blue in "x"`, `jobs of red in "blue"`})
		s.api.remove(space("blue", nil))
		s.saw([]string{`jobs of red in ""`})
		s.api.remove(space("x", blue))
		s.saw([]string{`jobs of blue in "y"`})
		s.stop()
		s.follow()
		s.saw([]string{"synced", "node north/n1", "node north/n2", `jobs of blue in "y"`})
	})
}

// The labels that the core says a job's pod has are those that Kubernetes takes.
func TestPodLabelsAreThoseOfKubernetes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[a-zA-Z0-9._/ -]{0,4}(k{60,64})?[a-z0-9.A/-]{0,3}`)
		l := poise.Label{Key: part.Draw(t, "key"), Value: part.Draw(t, "value")}
		takes := len(validation.IsQualifiedName(l.Key)) == 0 && len(validation.IsValidLabelValue(l.Value)) == 0
		if got := len(poise.PodLabels("j", []poise.Label{l})) == 2; got != takes {
			t.Fatalf("%q=%q: taken %t, Kubernetes says %t", l.Key, l.Value, got, takes)
		}
	})
}
