package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// A tenant that pushes without end is told when it may again; another pushes and
// submits meanwhile, and each has one child at work at the most.
func TestPushFlood(t *testing.T) {
	v := settle(t)
	acme := v.as(v.give(access.TenantAdmin, "acme"))
	bin := firstParty(t, "binpack")
	const pushes, pushers = 1000, 8
	var next, granted, limited, most atomic.Int64
	var all sync.WaitGroup
	over := make(chan struct{})
	for range pushers {
		all.Go(func() {
			for n := next.Add(1); n <= pushes; n = next.Add(1) {
				// Half of them are none: what costs nothing is counted, too.
				p := client.PluginPush{Module: versioned(t, bin, fmt.Sprintf("%d.%d.%d", n/100%10, n/10%10, n%10))}
				if n%2 == 1 {
					p.Module = fmt.Appendf(nil, "no module %d", n)
				}
				_, err := acme.PushPlugin(context.Background(), false, p)
				switch kind := poise.KindOf(err); {
				case kind == poise.Limit:
					limited.Add(1)
					if text := err.Error(); !strings.Contains(text, `more than 20 pushes of tenant "acme" in a minute, expected the next in 3s`) && !strings.Contains(text, `4 pushes of tenant "acme" wait already`) {
						t.Error(err)
					}
				case err == nil || kind == poise.Invalid:
					granted.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	go func() {
		all.Wait()
		close(over)
	}()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for {
			most.Store(max(most.Load(), int64(children(t))))
			select {
			case <-over:
				return
			default:
			}
		}
	}()
	// bolt goes on.
	for i := range 3 {
		m := versioned(t, firstParty(t, "bestfit"), fmt.Sprintf("1.0.%d", i))
		if _, err := v.victim.PushPlugin(t.Context(), false, client.PluginPush{Module: m}); err != nil {
			t.Error(err)
		}
		jobs, err := v.victim.Submit(t.Context(), []client.JobSpec{job(fmt.Sprint("on", i), "1m")}, "")
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "bolt's job to run", func() bool {
			j, err := v.victim.Job(t.Context(), jobs[0].ID)
			return err == nil && j.State == client.Running
		})
	}
	<-over
	<-watched
	t.Logf("%d pushes taken up, %d limited, at most %d children", granted.Load(), limited.Load(), most.Load())
	if granted.Load()+limited.Load() != pushes || limited.Load() < pushes/2 {
		t.Errorf("%d and %d, expected most of %d to be limited", granted.Load(), limited.Load(), pushes)
	}
	const tenants = 2
	if most.Load() > tenants {
		t.Errorf("%d children at one time, expected at most %d", most.Load(), tenants)
	}
	got, text := v.ask(v.give(access.TenantAdmin, "acme"), "POST", "/v1/plugins", `{"module": "AA=="}`)
	if got.StatusCode != 429 && got.StatusCode != 422 { // it may have been granted one again
		t.Errorf("%d %s", got.StatusCode, text)
	}
}

// children counts the processes that compile and check for this one; none where
// there is no /proc.
func children(t testing.TB) (n int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it is gone
		}
		_, after, _ := strings.Cut(string(text), ") ")
		var state string
		var parent int
		if _, err := fmt.Sscan(after, &state, &parent); err != nil || parent != os.Getpid() || state == "Z" {
			continue
		}
		command, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err == nil && strings.Contains(string(command), "plugin-") {
			n++
		}
	}
	return n
}
