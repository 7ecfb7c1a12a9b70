package kube

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// guard is one of a test.
type guard struct {
	err  error
	term int64
}

func (g *guard) Leading() error { return g.err }
func (g *guard) Term() int64    { return g.term }

const fenceLease = "/apis/coordination.k8s.io/v1/namespaces/poise/leases/poise"

// fenced is a cluster that is reached by a line, and what it logs.
func (s *homeServer) fenced(l *line, g Guard) (*Cluster, *bytes.Buffer) {
	s.Helper()
	l.server = s
	var log bytes.Buffer
	c, err := New(Options{
		Name: "north", Log: slog.New(slog.NewTextHandler(&log, nil)), Now: func() poise.Time { return 0 }, Guard: g,
		config: &rest.Config{Host: "http://api", Transport: l},
	})
	s.fine(err)
	return c, &log
}

// refuses is the answer of a policy to what carries an old term.
func refuses(r *http.Request) fault {
	if strings.HasSuffix(r.URL.Path, "/binding") {
		return fault{answer: refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "denied: poise.dev/term is 4, and …")}
	}
	return fault{}
}

func TestFence(t *testing.T) {
	lease := func(label, home string, term int) map[string]any {
		return map[string]any{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
			"metadata": map[string]any{
				"name": "poise", "namespace": "poise", "uid": "u1", "labels": map[string]any{leaseLabel: label}, "annotations": map[string]any{homeNote: home},
			},
			"spec": map[string]any{"leaseTransitions": term},
		}
	}
	// What is there, what it is then (0 = none of ours), what is logged, the error.
	f := func(what string, there map[string]any, faults func(*http.Request) fault, term float64, logged, fails string) {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(s *homeServer) {
				l := &line{fault: faults}
				c, log := s.fenced(l, &guard{term: 5})
				if there != nil {
					s.put(fenceLease, nil, there)
				}
				for range 2 { // said once
					switch err := c.fence(s.Context()); {
					case err == nil && fails == "":
					case err == nil || fails == "" || poise.KindOf(err) != poise.Unavailable || !strings.Contains(err.Error(), fails):
						s.Errorf("%v, expected %q", err, fails)
					}
				}
				got := 0.0
				if o := s.objects[fenceLease]; o != nil {
					switch n := o["spec"].(map[string]any)["leaseTransitions"].(type) {
					case float64:
						got = n
					case int:
						got = float64(n)
					}
				}
				stamp := c.stamp(map[string]string{})[termNote]
				if got != term || (stamp == "5") != (fails == "" && (logged == "" || strings.HasPrefix(logged, "no policy"))) {
					s.Errorf("term %v, stamp %q, expected %v", got, stamp, term)
				}
				if n := strings.Count(log.String(), "no fence"); logged == "" && n > 0 || logged != "" && (n != 1 || !strings.Contains(log.String(), logged)) {
					s.Errorf("logged %q, expected %q once", log, logged)
				}
			})
		})
	}
	f("none yet", nil, refuses, 5, "", "")
	f("of a term before", lease("fence", "", 4), refuses, 5, "", "")
	f("of this term", lease("fence", "", 5), refuses, 5, "", "")
	f("of a later term", lease("fence", "", 6), refuses, 6, "", "term 6 of another replica is past the term 5 of this one")
	f("of another home", lease("fence", "u2", 4), refuses, 4, "Lease poise/poise is another daemon's", "")
	f("another home", lease("home", "", 5), refuses, 5, "Lease poise/poise is another daemon's", "")
	f("no policy", nil, nil, 5, "no policy of the cluster refuses an old term", "")
	f("no namespace", nil, func(r *http.Request) fault {
		if r.Method == http.MethodPost {
			return fault{answer: refuse(http.StatusNotFound, metav1.StatusReasonNotFound, "namespace")}
		}
		return fault{}
	}, 0, "no namespace poise", "")
	f("no right", nil, func(*http.Request) fault {
		return fault{answer: refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "no right to get leases")}
	}, 0, "no right to get leases", "")
	f("no answer", nil, down, 0, "", "connection reset by peer")
	tries := 0
	f("a policy that comes later", nil, func(r *http.Request) fault {
		if !strings.HasSuffix(r.URL.Path, "/binding") {
			return fault{}
		}
		if tries++; tries > 3 {
			return refuses(r)
		}
		return fault{}
	}, 5, "", "")
}

// At home the Lease is the fence.
func TestFenceAtHome(t *testing.T) {
	bubble(t, func(s *homeServer) {
		l := &line{fault: refuses}
		h := s.leader(l, "a", func(o *HomeOptions) { o.Namespace = "poise" })
		c, log := s.fenced(l, h)
		s.requests()
		s.fine(c.fence(s.Context()))
		if got := s.requests(); len(got) != 1 || c.term != "1" || log.Len() > 0 {
			s.Errorf("%q, term %q, %s", got, c.term, log)
		}
		s.end(h)
	})
}

// Who does not lead reads and does not write; who leads stamps what it writes.
func TestGuardedCluster(t *testing.T) {
	g := &guard{term: 3}
	playAs(t, g, with(space("t", nil), pod("a", "poise", ""), pod("b", "poise", "")), func(s *stage) {
		s.saw(append(start, "waits u-a of s", "waits u-b of s"))
		s.api.wrote()
		s.cluster.term = "3"
		s.fine(s.bind("p1", "u-a", "north/n1"))
		job := engine.Binding{Placement: "p2", Job: "j", Name: "j", Tenant: "t", Node: "north/n1", Image: "i"}
		s.fine(s.cluster.Bind(s.Context(), job))
		for _, name := range []string{"s/a", "t/poise-p2"} {
			if got := s.api.read(name).Annotations[termNote]; got != "3" {
				s.Errorf("%s: term %q", name, got)
			}
		}
		before := len(s.api.wrote())
		g.err = unavailable("lead", "it is over")
		job.Placement = "p3"
		for _, err := range []error{
			s.bind("p4", "u-b", "north/n1"), s.cluster.Bind(s.Context(), job), s.cluster.Evict(s.Context(), "p1", 1000),
			s.cluster.Waits(s.Context(), "u-b", "no room", ""),
		} {
			s.fails(err, poise.Unavailable)
			if !strings.Contains(err.Error(), "it is over") {
				s.Error(err)
			}
		}
		if got := s.api.wrote()[before:]; len(got) > 0 {
			s.Errorf("it wrote %q", got)
		}
		s.api.put(pod("c", "poise", ""))
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if !slices.Contains(s.changes, "waits u-c of s") {
			s.Errorf("%q", s.changes)
		}
	})
}
