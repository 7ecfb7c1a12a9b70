package registry

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/poise"
)

// What pushes a tenant may have. Each costs seconds of a processor.
const (
	pushBurst   = 20
	pushEvery   = 3 * time.Second // a push is granted again so often
	pushWaiting = 4               // of a tenant's, beside the one under way
)

// Gate lets pushes in: of each tenant one at a time and 20 a minute, of all
// together so many at once as there are slots. So a tenant that pushes without
// end makes another wait for one push of its own at the most.
type Gate struct {
	slots chan struct{}
	now   func() time.Time

	mu      sync.Mutex
	tenants map[poise.TenantID]*queue
}

// queue is what is known of one tenant's pushes.
type queue struct {
	turn  chan struct{} // holds one token while a push is under way
	here  int           // under way and waiting
	spent float64       // pushes that are not granted again yet
	at    time.Time
}

// NewGate makes a gate of so many slots, by a clock.
func NewGate(slots int, now func() time.Time) *Gate {
	return &Gate{slots: make(chan struct{}, max(slots, 1)), now: now, tenants: map[poise.TenantID]*queue{}}
}

// Enter waits for the tenant's turn. Call leave when the push is over.
func (g *Gate) Enter(ctx context.Context, tenant poise.TenantID) (leave func(), err error) {
	q, err := g.admit(tenant)
	if err != nil {
		return nil, err
	}
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		g.left(tenant)
		return nil, &poise.Error{Kind: poise.Unavailable, Op: "push", Detail: "its turn did not come in time", Err: ctx.Err()}
	}
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		<-q.turn
		g.left(tenant)
		return nil, &poise.Error{Kind: poise.Unavailable, Op: "push", Detail: "its turn did not come in time", Err: ctx.Err()}
	}
	return func() {
		<-g.slots
		<-q.turn
		g.left(tenant)
	}, nil
}

// admit counts a push, or refuses it.
func (g *Gate) admit(tenant poise.TenantID) (*queue, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.tenants[tenant]
	now := g.now()
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1), at: now}
		g.tenants[tenant] = q
	}
	q.refill(now)
	refuse := func(format string, args ...any) (*queue, error) {
		return nil, &poise.Error{Kind: poise.Limit, Op: "push", Detail: fmt.Sprintf(format, args...)}
	}
	if q.spent > pushBurst-1 {
		return refuse("more than %d pushes of tenant %q in a minute, expected the next in %v", int(time.Minute/pushEvery), tenant, pushEvery)
	}
	if q.here > pushWaiting {
		return refuse("%d pushes of tenant %q wait already, expected them to be over first", pushWaiting, tenant)
	}
	q.spent++
	q.here++
	return q, nil
}

func (q *queue) refill(now time.Time) {
	if passed := now.Sub(q.at); passed > 0 {
		q.spent = max(0, q.spent-passed.Seconds()/pushEvery.Seconds())
	}
	q.at = now
}

// left forgets a tenant that has no more to be known of.
func (g *Gate) left(tenant poise.TenantID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tenants[tenant].here--
	now := g.now()
	for id, q := range g.tenants {
		if q.refill(now); q.here == 0 && q.spent == 0 {
			delete(g.tenants, id)
		}
	}
}
