package registry

import (
	"context"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/poise"
)

// clock is one that a test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func enter(t *testing.T, g *Gate, tenant poise.TenantID) func() {
	t.Helper()
	leave, err := g.Enter(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

// A tenant that pushes without end is stopped, and another is not.
func TestGateRate(t *testing.T) {
	c := &clock{at: time.Unix(1, 0)}
	g := NewGate(1, c.now)
	granted := 0
	for range 1000 {
		leave, err := g.Enter(t.Context(), "a")
		if err == nil {
			granted++
			leave()
		} else if poise.KindOf(err) != poise.Limit {
			t.Fatal(err)
		}
	}
	if granted != pushBurst {
		t.Errorf("%d granted, expected %d", granted, pushBurst)
	}
	enter(t, g, "b")()
	c.at = c.at.Add(pushEvery)
	enter(t, g, "a")()
	if _, err := g.Enter(t.Context(), "a"); poise.KindOf(err) != poise.Limit {
		t.Errorf("%v, expected a limit", err)
	}
	c.at = c.at.Add(-time.Hour) // a clock that is set back grants nothing and takes nothing
	if _, err := g.Enter(t.Context(), "a"); poise.KindOf(err) != poise.Limit {
		t.Errorf("%v, expected a limit", err)
	}
	c.at = c.at.Add(24 * time.Hour)
	enter(t, g, "c")()
	c.at = c.at.Add(time.Hour)
	enter(t, g, "d")()
	if len(g.tenants) != 1 {
		t.Errorf("%d tenants are remembered, expected the last", len(g.tenants))
	}
}

// Of one tenant one push is under way and few wait; who gives up is not counted.
func TestGateQueue(t *testing.T) {
	c := &clock{at: time.Unix(1, 0)}
	g := NewGate(2, c.now)
	leave := enter(t, g, "a")
	other := enter(t, g, "b") // the other slot
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error, pushWaiting)
	for range pushWaiting {
		go func() {
			_, err := g.Enter(ctx, "a")
			waits <- err
		}()
	}
	for here := 0; here <= pushWaiting; {
		g.mu.Lock()
		here = g.tenants["a"].here
		g.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	if _, err := g.Enter(t.Context(), "a"); poise.KindOf(err) != poise.Limit {
		t.Errorf("%v, expected a limit", err)
	}
	cancel()
	for range pushWaiting {
		if err := <-waits; poise.KindOf(err) != poise.Unavailable {
			t.Errorf("%v, expected unavailable", err)
		}
	}
	leave()
	other()
	enter(t, g, "a")()
	if len(g.slots) != 0 || g.tenants["a"].here != 0 {
		t.Errorf("%d slots are taken, %d pushes are here, expected none", len(g.slots), g.tenants["a"].here)
	}
}
