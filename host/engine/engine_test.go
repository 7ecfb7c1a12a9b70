package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func good() Binding {
	return Binding{
		Placement: "p1", Job: "j", Name: "n", Tenant: "t", Node: "node", Devices: []uint16{0, 2}, DeviceKind: "gpu", Command: []string{"run", ""},
		Env: map[string]string{"A": "1=2"}, Dir: "/", Amounts: resource.List{{Name: "cpu", Value: 1}}, RunTime: 1, Grace: 1,
	}
}

func TestValidate(t *testing.T) {
	f := func(change func(*Binding), want string) {
		t.Helper()
		b := good()
		change(&b)
		err := b.Validate()
		if want == "" && err != nil || want != "" && (poise.KindOf(err) != poise.Invalid || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, expected %s", err, want)
		}
	}
	f(func(*Binding) {}, "")
	f(func(b *Binding) { b.Placement = strings.Repeat("x", 80) }, "")
	f(func(b *Binding) { b.Placement = "" }, "placement: 0 bytes, expected 1 to 80")
	f(func(b *Binding) { b.Placement = strings.Repeat("x", 81) }, "placement: 81 bytes")
	f(func(b *Binding) { b.Placement = "a\x00" }, "placement: \"a\\x00\" has a zero byte")
	f(func(b *Binding) { b.Command = nil }, "")
	f(func(b *Binding) { b.Command[0] = "" }, "command: the program is empty")
	f(func(b *Binding) { b.Command[1] = "\x00" }, "command: argument 1: \"\\x00\" has a zero byte, expected none")
	f(func(b *Binding) { b.Command[1] = "\xff" }, "command: argument 1: \"\\xff\", expected valid UTF-8")
	f(func(b *Binding) { b.Env[""] = "" }, `env: name "", expected a name without =`)
	f(func(b *Binding) { b.Env["A=B"] = "" }, `env: name "A=B", expected a name without =`)
	f(func(b *Binding) { b.Env["A\x00"] = "" }, "env: name: ")
	f(func(b *Binding) { b.Env["B"] = "\x00" }, "env: B: ")
	f(func(b *Binding) { b.Env["POISE_X"] = "" }, "env: POISE_X: set by the job")
	f(func(b *Binding) { b.Env["CUDA_VISIBLE_DEVICES"] = "" }, "env: CUDA_VISIBLE_DEVICES: set by the job")
	f(func(b *Binding) { b.Dir = "x" }, `dir: "x", expected an absolute path`)
	f(func(b *Binding) { b.Dir = "/\x00" }, "dir: ")
	f(func(b *Binding) { b.Devices[1] = 0 }, "devices: 0 after 0, expected ascending")
	f(func(b *Binding) { b.RunTime = -1 }, "run_time: -1 ms")
	f(func(b *Binding) { b.Grace = -1 }, "grace: -1 ms")
	f(func(b *Binding) { b.Amounts[0].Value = -1 }, "amounts: ")
}

func TestStateText(t *testing.T) {
	f := func(s State, name string, ended bool) {
		t.Helper()
		var back State
		text, err := s.MarshalText()
		if err != nil || string(text) != name || s.String() != name || s.Ended() != ended || back.UnmarshalText(text) != nil || back != s {
			t.Errorf("%d: %s, back %s, ended %t, error %v", s, text, back, s.Ended(), err)
		}
	}
	f(Starting, "starting", false)
	f(Running, "running", false)
	f(Succeeded, "succeeded", true)
	f(Failed, "failed", true)
	f(Lost, "lost", true)
	if _, err := State(5).MarshalText(); err == nil {
		t.Error("a state that is none has a name")
	}
	var s State
	if err := s.UnmarshalText([]byte("ended")); poise.KindOf(err) != poise.Invalid {
		t.Errorf("%v", err)
	}
}

// Any watcher, whenever it begins, sees every placement's states in order, and
// its end last.
func TestBoardProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var b Board
		var seen [3][]Status
		ends := map[string]Status{}
		steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) Status {
			return Status{
				Placement: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "placement"),
				State:     State(rapid.IntRange(0, 4).Draw(r, "state")), ExitCode: rapid.Int32Range(0, 2).Draw(r, "code"),
			}
		}), 0, 30).Draw(r, "steps")
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for i, s := range steps {
				if i%10 == 0 && i/10 < len(seen) {
					go func() { _ = b.Watch(ctx, func(s Status) { seen[i/10] = append(seen[i/10], s) }) }()
					if i == 20 {
						synctest.Wait()
					}
				}
				if b.Post(s) && s.State.Ended() {
					if old, ok := ends[s.Placement]; ok {
						r.Errorf("%v after the end %v", s, old)
					}
					ends[s.Placement] = s
				}
			}
			synctest.Wait()
			cancel()
			synctest.Wait()
		})
		for i := range seen {
			if i*10 >= len(steps) {
				continue
			}
			last := map[string]Status{}
			for _, s := range seen[i] {
				if old, ok := last[s.Placement]; ok && (old.State > s.State || old.State.Ended()) {
					r.Errorf("watcher %d saw %v after %v", i, s, old)
				}
				last[s.Placement] = s
			}
			for p, s := range ends {
				if last[p] != s {
					r.Errorf("watcher %d saw %v last, expected %v", i, last[p], s)
				}
			}
		}
	})
}

func TestWatchBeginsWithThePresent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Board
		for _, p := range []string{"c", "a", "b"} {
			b.Post(Status{Placement: p})
		}
		b.Post(Status{Placement: "a", State: Lost})
		b.Drop("b")
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		go func() {
			_ = b.Watch(ctx, func(s Status) {
				got = append(got, s.Placement+" "+s.State.String())
				if s.State == Failed {
					cancel() // from inside: nothing more is told
				}
			})
		}()
		synctest.Wait()
		b.Post(Status{Placement: "c", State: Failed})
		b.Post(Status{Placement: "d"})
		synctest.Wait()
		if want := []string{"a lost", "c starting", "c failed"}; !slices.Equal(got, want) {
			t.Errorf("got %q, expected %q", got, want)
		}
		if b.Add(Status{Placement: "d", State: Running}) || !b.Add(Status{Placement: "b"}) {
			t.Error("Add takes a known placement, or refuses a new one")
		}
		if len(b.watchers) != 0 {
			t.Error("a watcher stays after its end")
		}
	})
}

func TestMemory(t *testing.T) {
	ctx := t.Context()
	m := NewMemory()
	bind := func(p string) {
		t.Helper()
		b := good()
		b.Placement = p
		if err := m.Bind(ctx, b); err != nil {
			t.Error(err)
		}
	}
	f := func(p, want string) {
		t.Helper()
		s, known := m.board.Get(p)
		if got := fmt.Sprintf("%s %d %d-%d", s.State, s.ExitCode, s.Started, s.Ended); known && got != want || !known && want != "" {
			t.Errorf("%s: %s, expected %q", p, got, want)
		}
	}
	m.LoseBinds(1)
	bind("a")
	f("a", "")
	bind("a")
	bind("a")
	f("a", "running 0 1-0")
	m.Hold()
	bind("b")
	bind("c")
	bind("d")
	f("b", "starting 0 0-0")
	if err := m.Evict(ctx, "c", 0); err != nil {
		t.Error(err)
	}
	f("c", "failed 143 0-2")
	m.Release()
	f("b", "running 0 3-0")
	f("c", "failed 143 0-2")
	if !m.Finish("a", 0) || m.Finish("a", 1) || m.Finish("x", 0) || !m.Finish("b", 9) || !m.Lose("d") {
		t.Error("what was running was ended wrongly")
	}
	f("a", "succeeded 0 1-5")
	f("b", "failed 9 3-6")
	f("d", "lost 0 4-7")
	var ran []string
	for _, b := range m.Ran() {
		ran = append(ran, b.Placement)
	}
	if want := []string{"a", "b", "d"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, expected %q", ran, want)
	}
	if err := m.Evict(ctx, "x", 0); poise.KindOf(err) != poise.NotFound {
		t.Errorf("%v", err)
	}
	bind("e")
	if err := m.Forget(ctx, "e"); poise.KindOf(err) != poise.Conflict {
		t.Errorf("%v", err)
	}
	for range 2 {
		if err := m.Forget(ctx, "a"); err != nil {
			t.Error(err)
		}
	}
	f("a", "")
	if err := m.Bind(ctx, Binding{}); poise.KindOf(err) != poise.Invalid {
		t.Errorf("%v", err)
	}
}
