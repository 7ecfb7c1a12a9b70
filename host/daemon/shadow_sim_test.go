package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/store"
)

// oneModule is a store of one module.
type oneModule []byte

func (m oneModule) Module(context.Context, string) ([]byte, error) { return m, nil }

// simShadow gives what makes shadows of a plugin in a simulation, whose state has
// no scheduler.
func simShadow(t *testing.T, path string) func() *shadow {
	t.Helper()
	bin, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := config.Defaults()
	b := stack.NewBuilder(stack.Options{}, oneModule(bin))
	t.Cleanup(func() { b.Close(context.Background()) })
	bare := state.NewPolicies()
	if err := bare.Apply(poise.Event{Body: poise.SchedulerSet{Scheduler: scheduler(&c)}}); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(bin)
	a := poise.Activation{Tenant: "t", Plugin: "p", Digest: "sha256:" + hex.EncodeToString(sum[:]), OnFailure: poise.RuleFallback}
	tools := &shadowTools{
		build: func(ctx context.Context, _ *state.Policies, a *poise.Activation) (*stack.Stack, error) {
			return b.BuildWith(ctx, bare, a)
		},
		live: func(ctx context.Context, _ *state.Policies, _ poise.TenantID) (*stack.Stack, error) {
			return b.Build(ctx, bare, "")
		},
		rate: func() int64 { return 1 << 40 }, slots: make(chan struct{}, shadowSlots),
		keep: func(context.Context, store.ShadowRow) error { return nil }, log: slog.New(slog.DiscardHandler),
	}
	return func() *shadow { return newShadow(tools, keptShadow{Activation: a}) }
}

// simulateShadowed is simulate, with a shadow beside. It gives a digest of all
// that was recorded, with the names of jobs for their random ids, and what the
// shadows have shown.
func simulateShadowed(seed int64, made func() *shadow) (digest string, compared, dropped int64, err error) {
	s, err := newSimulation(seed)
	if err != nil {
		return "", 0, 0, err
	}
	var all []*shadow
	defer func() {
		for _, sh := range all {
			sh.end()
			k := sh.now()
			compared, dropped = compared+k.Tally.Decisions, dropped+k.Tally.Dropped
		}
	}()
	beside := func() {
		if made != nil && s.core.shadows["t"] == nil { // a core that has recovered has none
			sh := made()
			sh.begin(context.Background())
			all = append(all, sh)
			s.core.shadows["t"] = sh
		}
	}
	s.failing = s.r.Intn(10)
	for range 150 + s.r.Intn(250) {
		beside()
		if err := s.step(); err != nil {
			return "", 0, 0, err
		}
		s.catch()
		if err := s.check(); err != nil {
			return "", 0, 0, err
		}
	}
	if err := s.finish(); err != nil {
		return "", 0, 0, err
	}
	h := sha256.New()
	for _, r := range s.archive.records {
		fmt.Fprintf(h, "%d %s %d %s\n", r.Seq, r.Kind, r.At, r.Body)
	}
	return hex.EncodeToString(h.Sum(nil)), 0, 0, nil
}

// What is recorded is the same to the byte with a shadow and without, be it one
// that decides otherwise or one that never ends.
func TestShadowChangesNothing(t *testing.T) {
	seeds := int64(20)
	if testing.Short() {
		seeds = 6
	}
	for _, path := range []string{plugin, "../policy/testdata/hostile/loop-filter.wasm"} {
		made := simShadow(t, path)
		var all, lost int64
		for seed := int64(1); seed <= seeds; seed++ {
			without, _, _, err := simulateShadowed(seed, nil)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			with, compared, dropped, err := simulateShadowed(seed, made)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if with != without {
				t.Fatalf("%s: seed %d: other decisions beside a shadow", path, seed)
			}
			all, lost = all+compared, lost+dropped
		}
		if t.Logf("%s: %d compared, %d dropped", path, all, lost); all == 0 {
			t.Error("nothing was compared")
		}
	}
}
