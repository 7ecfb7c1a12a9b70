package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// settledAfter is how long a write may still come into effect after whoever sent it
// has given up: an API server ends a request after a minute, by its default.
const settledAfter = time.Minute

// uncertain says whether a write that failed may have come into effect, or may yet.
// An answer that refuses it is certain.
func uncertain(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == 0 || code == http.StatusRequestTimeout || code >= http.StatusInternalServerError
}

// wrote notes how the write of a placement went.
func (c *Cluster) wrote(placement string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && uncertain(err) {
		c.doubt[placement] = time.Now()
	}
}

// never says that a placement has not come into effect: NotFound where it will not
// any more, Unavailable where a write may still be on its way.
func (c *Cluster) never(verb, placement string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, doubt := c.doubt[placement]
	if left := settledAfter - time.Since(at); doubt && left > 0 {
		return &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("%s %q", verb, placement), Detail: fmt.Sprintf("a write without an answer may still come into effect for %s", left.Round(time.Second))}
	}
	delete(c.doubt, placement)
	delete(c.made, placement)
	delete(c.tried, placement)
	return engine.Unknown(verb, placement)
}

// Placed says by its error whether a placement has come into effect: none where it
// has, NotFound where it has not and will not, Unavailable where nobody knows.
func (c *Cluster) Placed(ctx context.Context, placement string) error {
	_, err := c.placedPod(ctx, "look for", placement)
	return err
}

// Unplaced says whether nobody has seen a placement come into effect: its pod waits,
// or was not made, as far as the cluster has told.
func (c *Cluster) Unplaced(job poise.JobID, placement string, made bool) bool {
	_, known := c.board.Get(placement)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, there := c.world.places[placement]
	if known || there || made {
		return !known && !there
	}
	v := c.world.pods[types.UID(job)]
	if v == nil || v.placement != "" {
		return false
	}
	_, waits := v.told.(PodWaits)
	return waits
}
