package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/registry"
	"github.com/poise-sched/poise/host/store"
)

// refusals are what a push says of some modules that no plugin may be like.
var refusals = map[string]string{
	"table-set": "table-write, function 3 (poise_score), offset 0x", "table-huge": "table, offset 0x", "start-section": "start, offset 0x",
	"import-function": "expected none", "import-global": "import, offset 0x", "import-memory": "import, offset 0x", "import-log": "plugin run and test only",
	"export-reserved": "poise:fuel", "missing-alloc": "missing-export", "abi-major": "expected poise_abi_v1", "loop-initialize": "fuel",
	"trap-initialize": "unreachable", "manifest-endless": "4294967295", "output-nan": "checks failed",
}

// mallory is the tenant that pushes, activates and shadows what breaks the
// contract.
type mallory struct {
	t       testing.TB
	d       *Daemon
	refused int
	faulted map[string]int // decisions by failure rule
	digests []string
}

// play has one module pushed, put in force whether it was taken or not, and run
// as a shadow, while two jobs are decided.
func (m *mallory) play(name string, i int) {
	t, d, ctx := m.t, m.d, m.t.Context()
	t.Helper()
	bin := hostile(t, name)
	m.digests = append(m.digests, digestOf(bin))
	// For a tenant each: most of them say that they are version 1.0.0 of x.
	_, err := d.PushPlugin(ctx, poise.TenantID(fmt.Sprint("acme-", i)), client.PluginPush{Module: bin}, "mallory")
	if err != nil {
		m.refused++
		if poise.KindOf(err) != poise.Invalid || len(err.Error()) > 2000 || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
			t.Errorf("%s: %q", name, err)
		}
	}
	if want := refusals[name]; want != "" {
		refused(t, err, poise.Invalid, want)
	}
	m.put(name, bin)
	rule := []string{poise.RuleFallback, poise.RuleReject, poise.RuleLastGood}[i%3]
	keep(t, d, "acme", firstParty(t, "bestfit"), poise.RuleReject)
	keep(t, d, "acme", bin, rule)
	_, err = d.StartShadow(ctx, "acme", client.ShadowSpec{Plugin: "zz-secret-" + name}, "mallory")
	shadowed := err == nil
	for k := range 2 { // of a kind each, or the first would stand for both
		jobs, err := d.Submit(ctx, "acme", []client.JobSpec{pooled(fmt.Sprintf("zz-secret-%s-%d", name, k), 1000+2*i+k, "a")}, "")
		if err != nil {
			t.Fatal(err)
		}
		m.follows(name, jobs[0].ID, rule)
	}
	if shadowed {
		if err := d.StopShadow(ctx, "acme"); err != nil {
			t.Fatal(err)
		}
	}
}

// put has the store keep a module as if an older daemon had taken it.
func (m *mallory) put(name string, bin []byte) {
	m.t.Helper()
	row := store.VersionRow{Tenant: "acme", Plugin: "zz-secret-" + name, Version: "1.0.0", Digest: digestOf(bin), Body: []byte("{}")}
	if err := m.d.store.PutVersion(m.t.Context(), row, bin, ""); err != nil {
		m.t.Fatal(err)
	}
}

// follows checks that a job was decided by the failure rule, if by any, and ends
// it.
func (m *mallory) follows(name, id, rule string) {
	t, ctx := m.t, m.t.Context()
	t.Helper()
	var w client.Why
	eventually(t, name+": a decision", func() bool {
		var err error
		if w, err = m.d.Why(ctx, "acme", id); err != nil {
			t.Fatal(err)
		}
		return w.Decision != nil
	})
	is := w.Decision
	if is.Fault != "" {
		m.faulted[rule]++
		placed, last := is.Verdict == "placed", strings.Contains(is.Policy, "bestfit")
		if good := map[string]bool{poise.RuleFallback: placed && !last, poise.RuleReject: !placed, poise.RuleLastGood: placed && last}[rule]; !good {
			t.Errorf("%s, rule %s: %s by %q, fault %q", name, rule, is.Verdict, is.Policy, is.Fault)
		}
	}
	if _, err := m.d.Cancel(ctx, "acme", id); err != nil {
		t.Fatal(err)
	}
}

// Whatever one tenant pushes, puts in force and shadows, another's jobs are
// placed where they would be without it, in the same words, and learn nothing of
// it. What it does ends with it.
func TestHostileTenant(t *testing.T) {
	paths, err := filepath.Glob("../policy/testdata/hostile/*.wasm")
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d modules, %v", len(paths), err)
	}
	if testing.Short() || raced {
		var some []string
		for i := 0; i < len(paths); i += 12 {
			some = append(some, paths[i])
		}
		paths = some
	}
	d := quarter(t)
	at := time.Unix(1, 0)
	d.gate = registry.NewGate(1, func() time.Time { at = at.Add(time.Minute); return at }) // how often is for TestPushFlood
	m := &mallory{t: t, d: d, faulted: map[string]int{}}
	b := &neighbor{d: d}
	const beside = 3 // jobs while one module has its turn
	next, done := make(chan struct{}), make(chan error)
	go func() {
		for range next {
			done <- b.more(context.WithoutCancel(t.Context()), beside)
		}
	}()
	var heap uint64
	var goroutines int
	warm := len(paths) / 4
	for i, path := range paths {
		if i == warm {
			heap, goroutines = atRest(t, d)
		}
		next <- struct{}{}
		m.play(strings.TrimSuffix(filepath.Base(path), ".wasm"), i)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	close(next)
	t.Logf("%d modules, %d not taken, decisions with faults by rule: %v", len(paths), m.refused, m.faulted)
	for _, rule := range []string{poise.RuleFallback, poise.RuleReject, poise.RuleLastGood} {
		if m.faulted[rule] < len(paths)/6 {
			t.Errorf("rule %s: %d decisions, expected more", rule, m.faulted[rule])
		}
	}
	// Less than what an instance for each module would leave.
	if after, n := atRest(t, d); n > goroutines || after > heap+uint64(len(paths)-warm)*64<<10 {
		t.Errorf("%d goroutines and %d KiB, expected %d and about %d", n, after>>10, goroutines, heap>>10)
	}
	m.held(b)
	told := b.answers(t)
	for _, secret := range append(m.digests, "zz-secret", "acme", "mallory") {
		if at := strings.Index(told, secret); at >= 0 {
			t.Errorf("bolt is told %s: ...%s", secret, told[max(at-200, 0):at+100])
		}
	}
	alone := &neighbor{d: quarter(t)}
	if err := alone.more(t.Context(), len(b.ids)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(alone.decided, b.decided) {
		for i := range alone.decided {
			if alone.decided[i] != b.decided[i] {
				t.Fatalf("job %d of %d: decided as\n%s\nand without the other tenant as\n%s", i, len(b.ids), b.decided[i], alone.decided[i])
			}
		}
	}
}

// atRest ends what acme has and measures what is left.
func atRest(t testing.TB, d *Daemon) (heap uint64, goroutines int) {
	t.Helper()
	if err := d.Deactivate(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		runtime.GC() // what finalizers let go of
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}

// held checks that the loop takes no guest call and waits for none: with every
// place for them taken, none is made, and the neighbor's jobs flow on.
func (m *mallory) held(b *neighbor) {
	t, d, ctx := m.t, m.d, m.t.Context()
	t.Helper()
	keep(t, d, "acme", hostile(t, "loop-score"), poise.RuleFallback)
	m.put("held", hostile(t, "loop-filter"))
	if _, err := d.StartShadow(ctx, "acme", client.ShadowSpec{Plugin: "zz-secret-held"}, "mallory"); err != nil {
		t.Fatal(err)
	}
	for range cap(d.core.slots) {
		d.core.slots <- struct{}{}
	}
	d.shades.slots <- struct{}{}
	calls := func() int64 {
		f, err := d.force(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return f.use["acme"].Calls + f.use["acme"].Faults["fuel"]
	}
	before := calls()
	var ids []string
	for k := range 10 {
		jobs, err := d.Submit(ctx, "acme", []client.JobSpec{pooled("zz-secret-held", 5000+k, "a")}, "")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, jobs[0].ID)
	}
	if err := b.more(ctx, 40); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if w, err := d.Why(ctx, "acme", id); err != nil || w.Decision != nil {
			t.Errorf("%+v, %v, expected no decision", w.Decision, err)
		}
	}
	if n := calls(); n != before {
		t.Errorf("%d guest calls on the loop, expected none", n-before)
	}
	for range cap(d.core.slots) {
		<-d.core.slots
	}
	<-d.shades.slots
	for _, id := range ids {
		m.follows("held", id, poise.RuleFallback)
	}
	if calls() == before && m.faulted[poise.RuleFallback] == 0 {
		t.Error("no guest call, expected some")
	}
}

// A decision that a change overtook has cost its fuel, too.
func TestFuelOfTheOvertaken(t *testing.T) {
	d, err := Open(t.Context(), options(t, folder(t), nil))
	if err != nil {
		t.Fatal(err)
	}
	began := now()
	d.core.now = func() poise.Time { return began } // nothing of the bucket fills up again
	run(t, d)
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "c", nodes("n", 1, "1000"), ""); err != nil {
		t.Fatal(err)
	}
	keep(t, d, "acme", hostile(t, "output-minus-zero"), poise.RuleReject) // asks about each node each time
	for range cap(d.core.slots) {
		d.core.slots <- struct{}{}
	}
	jobs, err := d.Submit(ctx, "acme", []client.JobSpec{job("x", "1")}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Submit(ctx, "bolt", []client.JobSpec{job("y", "1")}, ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node to change", func() bool {
		n, err := d.Node(ctx, "n0")
		return err == nil && n.Tasks == 1
	})
	for range cap(d.core.slots) {
		<-d.core.slots
	}
	runs(t, d, "acme", jobs[0].ID)
	err = d.do(ctx, func(c *core) error {
		l := c.lanes["acme"]
		n := l.stack.Layers[0].Guest.Counters().Read()
		if charged := c.tenantFuel() + c.fuel["acme"].used; n.Calls < 2 || charged != n.Fuel {
			t.Errorf("%d calls, %d units are charged, expected those of all calls, %d", n.Calls, charged, n.Fuel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
