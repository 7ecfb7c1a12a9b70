package kube

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/poise"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// HomeOptions say where a daemon of several replicas is at home, and which of them
// this one is.
type HomeOptions struct {
	Kubeconfig []byte        // empty: the cluster that this process runs in
	Context    string        // of the kubeconfig; "" = its current one
	Namespace  string        // "" = in a cluster: the service account's; else poise
	Identity   string        // of this replica: its host name, in a cluster its pod's name
	Lease      time.Duration // how long the lead lasts without renewal, a second at the least
	Log        *slog.Logger

	config *rest.Config         // of a test
	clock  func() time.Duration // of a test; else sinceBoot
	wall   func() time.Time     // of a test; else time.Now
}

// Home is the cluster and the namespace in which a daemon has what must survive,
// and in which its replicas choose the one that leads.
type Home struct {
	namespace string
	identity  string
	process   string // this one and no other, also of the same identity
	pod       podAt  // that this process runs in; none outside a cluster
	lease     time.Duration
	log       *slog.Logger
	clock     func() time.Duration
	wall      func() time.Time
	client    *client // guarded by the lead
	election  *client // what the lead itself is asked for by

	mu     sync.Mutex
	held   *coordinationv1.Lease // as this replica wrote it last; nil = it does not lead
	sent   time.Duration         // when the last renewal was sent that was taken
	term   int64
	uid    string // of the Lease
	over   error  // why it does not lead any more
	leader string
	end    context.CancelCauseFunc // of the context that Lead gave
	stop   context.CancelFunc      // of the renewal
	done   chan struct{}           // closed once nothing is renewed any more

	// records is held for reading by who changes one, and for writing by who reads all:
	// half a module is then one that nobody will complete.
	records sync.RWMutex
	known   map[recordKey]known
}

// podAt is where a pod is.
type podAt struct{ namespace, name string }

// accountNamespace is the file with the namespace of the pod that this process is in.
const accountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// OpenHome gives the home of a daemon. Nothing is asked of its API server yet.
func OpenHome(o HomeOptions) (*Home, error) {
	invalid := func(detail string, err error) error {
		return &poise.Error{Kind: poise.Invalid, Op: "open the home cluster", Detail: detail, Err: err}
	}
	h := &Home{
		namespace: o.Namespace, identity: o.Identity, process: rand.Text(), lease: o.Lease, log: o.Log, clock: o.clock, wall: o.wall,
		known: map[recordKey]known{},
	}
	if h.clock == nil {
		h.clock = sinceBoot
	}
	if h.wall == nil {
		h.wall = time.Now
	}
	if o.config == nil && len(o.Kubeconfig) == 0 {
		text, err := os.ReadFile(accountNamespace)
		if err != nil {
			return nil, invalid("namespace of this pod", err)
		}
		h.pod = podAt{strings.TrimSpace(string(text)), o.Identity}
	}
	if h.namespace == "" {
		h.namespace = h.pod.namespace
	}
	if h.namespace == "" {
		h.namespace = "poise"
	}
	switch why := validation.IsDNS1123Label(h.namespace); {
	case len(why) > 0:
		return nil, invalid(fmt.Sprintf("namespace %q: %s", h.namespace, strings.Join(why, ", ")), nil)
	case h.identity == "":
		return nil, invalid("identity: none, expected the name of this replica", nil)
	case h.lease < time.Second || h.lease > time.Hour:
		return nil, invalid(fmt.Sprintf("lease: %v, expected 1s to 1h", h.lease), nil)
	}
	for _, into := range []struct {
		client **client
		guard  Guard
	}{{&h.client, h}, {&h.election, nil}} {
		config, err := restConfig(o.Kubeconfig, o.Context, o.config)
		if err == nil {
			config.WarningHandler = rest.NoWarnings{} // of Jobs that never run
			// A connection that nobody answers on is given up with the call, where HTTP/2 would
			// try all others on it as well.
			config.NextProtos = []string{"http/1.1"}
			*into.client, err = newClient(config, into.guard)
		}
		if err != nil {
			return nil, invalid("kubeconfig", err)
		}
	}
	return h, nil
}

// Leader gives the identity that was last seen to lead, "" = nobody.
func (h *Home) Leader() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.leader
}

// leaseUID gives the uid of the Lease by which this replica leads or has led.
func (h *Home) leaseUID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.uid
}
