package daemon

import (
	"fmt"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// charge takes fuel out of the bucket of a tenant with a policy of its own: that
// of a decision, whatever became of it, or of a dry run. The bucket is the
// tenant's and outlives its policies, so that another one pays no debt off.
func (c *core) charge(tenant poise.TenantID, fuel int64) {
	if tenant == "" || c.lanes[tenant] == nil || c.tenantFuel == nil {
		return
	}
	b := c.fuel[tenant]
	if b == nil {
		b = &bucket{}
		c.fuel[tenant] = b
	}
	rate := c.tenantFuel()
	if until := b.take(fuel, rate, c.now()); until > 0 {
		c.loop.Rest(string(tenant), until)
		c.board.rests.begin(tenant, until, rate)
	}
}

// bucket is the fuel that a tenant has left: it fills by a rate per second, up to
// one second's worth, and may be overdrawn by one decision.
type bucket struct {
	used int64      // below 0 = saved up
	at   poise.Time // when used was right
}

// take takes fuel out and gives the time before which the tenant plans nothing, 0
// for none.
func (b *bucket) take(fuel, rate int64, now poise.Time) (until poise.Time) {
	if now > b.at {
		const ms = 1000
		passed := min(int64(now-b.at), ms)
		b.used = max(b.used-passed*(rate/ms+1), -rate)
		b.at = now
	}
	if b.used += fuel; b.used <= 0 {
		return 0
	}
	return now + poise.Time(b.used/(rate/1000+1)+1)
}

// rests are the tenants whose plugins have used their fuel, for readers.
type rests struct {
	mu    sync.Mutex
	until map[poise.TenantID]rest
}

type rest struct {
	until poise.Time
	rate  int64 // of fuel, per second
}

func (r *rests) begin(tenant poise.TenantID, until poise.Time, rate int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[poise.TenantID]rest{}
	}
	r.until[tenant] = rest{until, rate}
}

func (r *rests) end(tenant poise.TenantID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, tenant)
}

// reason says why a tenant's jobs wait at a time, "" where nothing is planned
// later for the sake of fuel.
func (r *rests) reason(tenant poise.TenantID, now poise.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.until[tenant]
	if one.until <= now {
		return ""
	}
	return fmt.Sprintf("the tenant's policy has used its fuel of %d units a second; it plans again at %s", one.rate, client.At(one.until).Format(time.RFC3339Nano))
}
