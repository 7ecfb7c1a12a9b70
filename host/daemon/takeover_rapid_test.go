package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// known is all that a client may ask a daemon and that is to survive it.
func known(t *rapid.T, d *Daemon) string {
	t.Helper()
	ctx := context.Background()
	var all []any
	add := func(v any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	tenants := append([]poise.TenantID{poise.DefaultTenant}, d.Tenants()...)
	for _, id := range tenants {
		add(d.Share(ctx, id))
		add(d.TokensOf(ctx, id))
		page, err := d.Jobs(ctx, id, client.JobFilter{Limit: 1000})
		for i := range page.Jobs {
			j := &page.Jobs[i]
			j.Attempts, j.Order = 0, nil                   // of this history
			if j.State == client.Waiting && j.Held == "" { // what was decided, or not yet
				j.Reason = ""
			}
		}
		slices.SortFunc(page.Jobs, func(a, b client.Job) int { return strings.Compare(a.ID, b.ID) })
		add(page.Jobs, err)
		for i := range page.Jobs {
			if a := page.Jobs[i].Array; a != nil {
				whole, err := d.Job(ctx, id, a.Name)
				add(whole.Array, err)
			}
		}
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Whatever was done before, the next replica knows it all; and the one after that, too.
func TestTakeOverIsWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("opens many daemons")
	}
	rapid.Check(t, func(r *rapid.T) {
		ctx, c := t.Context(), newCommons()
		d := leads(t, c, folder(t))
		var ids, tokens []string
		tenant := func() poise.TenantID {
			return rapid.SampledFrom(append([]poise.TenantID{poise.DefaultTenant}, d.Tenants()...)).Draw(r, "tenant")
		}
		some := func() string {
			if len(ids) == 0 {
				r.Skip("no job")
			}
			return rapid.SampledFrom(ids).Draw(r, "job")
		}
		n := 0
		r.Repeat(map[string]func(*rapid.T){
			"submit": func(r *rapid.T) {
				n++
				j := inImage(fmt.Sprint("j", n), "1")
				j.Priority = rapid.Int32Range(-1, 1).Draw(r, "priority")
				j.Hold = rapid.Bool().Draw(r, "held")
				of, key := tenant(), ""
				if rapid.Bool().Draw(r, "key") {
					key = fmt.Sprint("k", n)
				}
				if rapid.Bool().Draw(r, "retry") {
					j.Retry = &client.RetrySpec{Limit: 2, Backoff: "1s", MaxBackoff: "2s"}
				}
				specs := []client.JobSpec{j}
				switch rapid.IntRange(0, 3).Draw(r, "form") {
				case 0:
					k := inImage(fmt.Sprint("k", n), "1")
					k.AfterAny = []string{j.Name}
					specs = append(specs, k)
				case 1:
					specs[0].Array = &client.ArraySpec{Count: 3}
				}
				jobs, err := d.Submit(ctx, of, specs, key)
				if err != nil {
					r.Fatal(err)
				}
				for i := range jobs {
					ids = append(ids, jobs[i].ID)
				}
			},
			"cancel": func(*rapid.T) { _, _ = d.Cancel(ctx, "", some()) },
			"hold":   func(*rapid.T) { _, _ = d.Hold(ctx, "", some(), "ann") },
			"let go": func(*rapid.T) { _, _ = d.Release(ctx, "", some()) },
			"first": func(r *rapid.T) {
				_, _ = d.SetPriority(ctx, "", some(), rapid.Int32Range(-3, 3).Draw(r, "priority"), "ann")
			},
			"tenant": func(r *rapid.T) {
				_ = d.CreateTenant(ctx, rapid.SampledFrom([]poise.TenantID{"red", "blue"}).Draw(r, "new"))
			},
			"gone": func(*rapid.T) {
				if id := tenant(); id != poise.DefaultTenant {
					_ = d.RemoveTenant(ctx, id) // one with jobs stays
				}
			},
			"share": func(r *rapid.T) {
				t := poise.Tenant{ID: tenant(), Weight: float64(rapid.IntRange(0, 3).Draw(r, "weight"))}
				if rapid.Bool().Draw(r, "limit") {
					t.Quotas = []poise.Quota{{Resource: "cpu", Limit: 4000}}
				}
				_, _ = d.SetShare(ctx, t)
			},
			"token": func(*rapid.T) {
				tokens = append(tokens, fmt.Sprint("t", len(tokens)))
				at := access.Token{ID: tokens[len(tokens)-1], Tenant: tenant(), Role: "submitter", Name: "ci"}
				at.Hash[0] = byte(len(tokens))
				if err := d.AddToken(ctx, at); err != nil {
					r.Fatal(err)
				}
			},
			"end token": func(r *rapid.T) {
				if len(tokens) > 0 {
					_ = d.EndToken(ctx, rapid.SampledFrom(tokens).Draw(r, "token"))
				}
			},
			"take over": func(r *rapid.T) {
				want := known(r, d.Daemon)
				before := d
				d = leads(t, c, folder(t))
				if got := known(r, d.Daemon); got != want {
					r.Fatalf("after a take-over\n%s\nexpected\n%s", got, want)
				}
				_ = before.end() // whatever it says: it does not lead
			},
		})
		_ = d.end()
	})
}
