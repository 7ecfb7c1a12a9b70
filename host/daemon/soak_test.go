package daemon

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/registry"
	"github.com/poise-sched/poise/host/store"
)

// rounds is how often the tests below do what leaves nothing behind: go test
// ./host/daemon -run Rounds -rounds 1000 -timeout 2h.
var rounds = flag.Int("rounds", 20, "rounds of activate and roll back, and of push and delete")

// usage is what a process holds.
type usage struct{ heap, goroutines, files, maps int }

// use takes the usage once all that was let go of is gone.
func use(t *testing.T) usage {
	t.Helper()
	var m runtime.MemStats
	for range 3 { // what finalizers and cleanups let go of
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
	runtime.ReadMemStats(&m)
	u := usage{heap: int(m.HeapAlloc), goroutines: runtime.NumGoroutine()}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.files = len(files)
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil {
		u.maps = strings.Count(string(maps), "\n")
	}
	return u
}

// flat compares two usages: 5 % more is allowed, and a little where that is
// less than what one connection or one arena of the runtime makes.
func flat(t *testing.T, before, after usage) {
	t.Helper()
	t.Logf("before %+v, after %+v", before, after)
	f := func(what string, was, is, slack int) {
		t.Helper()
		if is > was+was/20+slack {
			t.Errorf("%s: %d, before %d, expected at most 5 %% more", what, is, was)
		}
	}
	f("heap", before.heap, after.heap, 1<<20)
	f("goroutines", before.goroutines, after.goroutines, 3)
	f("files", before.files, after.files, 3)
	f("memory maps", before.maps, after.maps, 16) // each round makes two instances, with a map each
}

// Rounds of activate and roll back while jobs of two tenants flow: each decision
// is by what was in force when it was committed, none is missed, and nothing is
// left behind.
func TestActivateRounds(t *testing.T) {
	d := open(t, folder(t), settings{"engine.sim_scale": "1000000"})
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "c", nodes("n", 20, "64"), ""); err != nil {
		t.Fatal(err)
	}
	bin := firstParty(t, "bestfit")
	push(t, d, "a", bin, "")
	push(t, d, "a", versioned(t, bin, "1.0.1"), "")
	push(t, d, "b", firstParty(t, "binpack"), "")
	for tenant, plugin := range map[poise.TenantID]string{"a": "bestfit@1.0.0", "b": "binpack"} {
		if _, err := d.Activate(ctx, tenant, client.ActivationSpec{Plugin: plugin}, "tester"); err != nil {
			t.Fatal(err)
		}
	}
	jobs := 0
	round := func() {
		t.Helper()
		done := make(chan []string, 2)
		for _, tenant := range []poise.TenantID{"a", "b"} {
			go func() {
				var mine []string
				for i := range 6 {
					jobs, err := d.Submit(ctx, tenant, []client.JobSpec{job(fmt.Sprint("j", i), fmt.Sprintf("%dm", 100+i))}, "")
					if err != nil {
						t.Error(err)
						break
					}
					mine = append(mine, string(tenant)+jobs[0].ID)
				}
				done <- mine
			}()
		}
		if _, err := d.Activate(ctx, "a", client.ActivationSpec{Plugin: "bestfit@1.0.1"}, "tester"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Rollback(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		now := append(<-done, <-done...)
		for _, tenant := range []poise.TenantID{"a", "b"} { // each lane has asked its plugin at the end
			jobs, err := d.Submit(ctx, tenant, []client.JobSpec{job("last", "50m")}, "")
			if err != nil {
				t.Fatal(err)
			}
			now = append(now, string(tenant)+jobs[0].ID)
		}
		for _, id := range now {
			eventually(t, "a job to end", func() bool {
				j, err := d.Job(ctx, poise.TenantID(id[:1]), id[1:])
				return err == nil && j.State == client.Succeeded
			})
		}
		jobs += len(now)
	}
	for range 10 {
		round()
	}
	before := use(t)
	for range *rounds {
		round()
	}
	flat(t, before, use(t))
	decidedByWhatWasInForce(t, d, jobs)
}

// decidedByWhatWasInForce compares the digests of all decisions with the events.
func decidedByWhatWasInForce(t *testing.T, d *Daemon, jobs int) {
	t.Helper()
	inForce := map[poise.TenantID][]string{} // the stack of each tenant
	byIndex := map[uint64]poise.Body{}
	err := d.store.Read(t.Context(), 1, func(r store.Record) error {
		ev, err := journal.Decode(journal.Entry{Index: r.Seq, At: poise.Time(r.At), Kind: r.Kind, Schema: r.Schema, Body: r.Body})
		byIndex[r.Seq] = ev.Body
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var rows []store.DecisionRow
	for q := (store.DecisionQuery{From: 1, To: d.store.Last(), Limit: 1000}); ; q.From = rows[len(rows)-1].Seq + 1 {
		page, err := d.store.Decisions(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if rows = append(rows, page...); len(page) < q.Limit {
			break
		}
	}
	if len(rows) != jobs {
		t.Errorf("%d decisions, expected one for each of %d jobs", len(rows), jobs)
	}
	owners := map[poise.JobID]poise.TenantID{}
	next, wrong, overtaken := 0, 0, 0
	seen := map[string]int{}
	for index := uint64(1); index <= d.store.Last(); index++ {
		switch b := byIndex[index].(type) {
		case poise.JobSubmitted:
			owners[b.Job.ID] = b.Job.Tenant
		case poise.PolicySet:
			inForce[b.Activation.Tenant] = append(inForce[b.Activation.Tenant], b.Activation.Digest)
		case poise.PolicyRolledBack:
			inForce[b.Tenant] = inForce[b.Tenant][:len(inForce[b.Tenant])-1]
		}
		for ; next < len(rows) && rows[next].Seq == index; next++ {
			var made poise.Decision
			if err := json.Unmarshal(rows[next].Body, &made); err != nil {
				t.Fatal(err)
			}
			want := inForce[owners[made.Job]]
			if strings.Contains(made.Fault, loop.Overtaken) { // other jobs were faster, so the rule decided
				overtaken++
				continue
			}
			if len(made.Plugins) != 1 || made.Plugins[0].Digest != want[len(want)-1] || made.Fault != "" {
				wrong++
				t.Logf("decision %d of tenant %s: plugins %+v, fault %q, in force %v", index, owners[made.Job], made.Plugins, made.Fault, want)
			} else {
				seen[made.Plugins[0].Digest]++
			}
		}
	}
	if wrong > 0 || next != len(rows) {
		t.Errorf("%d of %d decisions were not made by what was in force, %d looked at", wrong, len(rows), next)
	}
	t.Logf("%d decisions, by plugins %v, by the rule %d", len(rows), seen, overtaken)
}

// Rounds of push and delete leave nothing behind, on disk neither.
func TestPushRounds(t *testing.T) {
	dir := folder(t)
	d := open(t, dir, nil)
	clock := time.Now()
	d.gate = registry.NewGate(1, func() time.Time { // a minute between pushes, or the gate would be what is tested
		clock = clock.Add(time.Minute)
		return clock
	})
	bin := firstParty(t, "bestfit")
	files := func() (n int) {
		t.Helper()
		err := filepath.WalkDir(filepath.Join(dir, "data", "plugins"), func(_ string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				n++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	round := func(i int) {
		t.Helper()
		v := push(t, d, "a", versioned(t, bin, fmt.Sprintf("%d.%d.%d", i/100%10, i/10%10, i%10)), "latest")
		if err := d.DeletePlugin(t.Context(), "a", "bestfit@"+v.Version); err != nil {
			t.Fatal(err)
		}
	}
	const warm = 3
	for i := range warm {
		round(i)
	}
	before, kept := use(t), files()
	for i := range *rounds / 4 {
		round(warm + i)
	}
	flat(t, before, use(t))
	if n := files(); n > kept {
		t.Errorf("%d files of compiled code, before %d", n, kept)
	}
	modules, err := d.store.Modules(t.Context())
	if err != nil || len(modules) != 0 {
		t.Errorf("%d modules, %v, expected none", len(modules), err)
	}
}
