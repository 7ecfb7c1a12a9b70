package kube

import (
	"context"
	"log/slog"
	"time"

	"github.com/poise-sched/poise/host/poise"
	"k8s.io/client-go/rest"
)

// HomeOptions say where a daemon of several replicas is at home, and which of them
// this one is.
type HomeOptions struct {
	Kubeconfig []byte        // empty: the cluster that this process runs in
	Context    string        // of the kubeconfig; "" = its current one
	Namespace  string        // "" = in a cluster: the service account's; else poise
	Identity   string        // of this replica: its host name, in a cluster its pod's name
	Lease      time.Duration // how long the lead lasts without renewal, 1 s at the least
	Log        *slog.Logger

	config *rest.Config         // of a test
	clock  func() time.Duration // of a test; else sinceBoot
	wall   func() time.Time     // of a test; else time.Now
}

// Home is the cluster and the namespace in which a daemon has what must survive,
// and in which its replicas choose the one that leads.
type Home struct {
	log *slog.Logger
}

// OpenHome gives the home of a daemon. Nothing is asked of its API server yet.
func OpenHome(o HomeOptions) (*Home, error) { return &Home{log: o.Log}, nil }

var errNotYet = &poise.Error{Kind: poise.Unavailable, Op: "home", Detail: "not there yet"}

// Lead waits until this replica leads, and gives a context that ends, with a cause,
// once it does not any more: the process must end then.
func (h *Home) Lead(ctx context.Context) (context.Context, error) { return nil, errNotYet }

// Term gives the number of the lead that this replica has, from 1; each lead of any
// replica has one of its own, larger than all before. 0 = it has not led.
func (h *Home) Term() int64 { return 0 }

// Leading gives nil while a write may still be sent.
func (h *Home) Leading() error { return errNotYet }

// Leader gives the identity that was last seen to lead, "" = nobody.
func (h *Home) Leader() string { return "" }

// Resign gives up the lead, so that the next one need not wait until it is over.
func (h *Home) Resign(ctx context.Context) error { return errNotYet }

// Mark gives this pod the label that a Service finds the leader by, and takes it
// from others. Outside a cluster it does nothing.
func (h *Home) Mark(ctx context.Context) error { return errNotYet }
