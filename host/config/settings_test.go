package config

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/knadh/koanf/providers/structs"
	"github.com/knadh/koanf/v2"
	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/resource"
)

// Every field of Config has a row in the table, and every row its field.
func TestTable(t *testing.T) {
	k := koanf.New(".")
	if err := k.Load(structs.Provider(Defaults(), "koanf"), nil); err != nil {
		t.Fatal(err)
	}
	var names []string
	variables, flags := map[string]bool{}, map[string]bool{}
	for _, s := range settings() {
		names = append(names, s.name)
		if variables[s.variable()] || flags[s.flag()] {
			t.Errorf("%s: another setting has %s or --%s", s.name, s.variable(), s.flag())
		}
		variables[s.variable()], flags[s.flag()] = true, true
		if s.about == "" || s.word == "" || s.expects == "" {
			t.Errorf("%s: not described", s.name)
		}
		var read Config
		defaults := Defaults()
		if !s.read(&read, k.Get(s.name)) {
			t.Errorf("%s: its default %v is not let in", s.name, k.Get(s.name))
		} else if got, want := s.value(&read), s.value(&defaults); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: default reads as %v, want %v", s.name, got, want)
		}
		var copied Config
		s.copy(&defaults, &copied)
		if s.print(&copied) != s.print(&defaults) {
			t.Errorf("%s: copied %s, want %s", s.name, s.print(&copied), s.print(&defaults))
		}
	}
	slices.Sort(names)
	if got := k.Keys(); !slices.Equal(got, names) {
		t.Errorf("fields %v\nrows   %v", got, names)
	}
}

// A reload mixes new live settings with old others, so a rule joins only
// settings of one sort.
func TestConflictsMix(t *testing.T) {
	c := Defaults()
	c.Policy.Weight, c.Policy.OnFailure, c.Policy.Params = 1, "reject", map[string]string{"a": "1"}
	c.Policy.Limits.Memory, c.Policy.Limits.GoMemory, c.Queue.RetryBase = 1, 1, day
	c.API.Socket = strings.Repeat("s", maxSocket+1)
	c.Cluster.InClusterNodes, c.Cluster.HomeKubeconfig, c.Cluster.HomeContext = "pool=poise", "/kubeconfig", "north"
	with := map[string]string{
		"policy.weight": "policy.path", "policy.on_failure": "policy.path", "policy.params": "policy.path",
		"policy.limits.memory": "policy.limits.memory", "policy.limits.go_memory": "policy.limits.go_memory",
		"queue.retry_base": "queue.retry_max", "api.socket": "data_dir",
		"cluster.in_cluster_nodes": "cluster.in_cluster", "cluster.home_kubeconfig": "cluster.home", "cluster.home_context": "cluster.home",
	}
	found := c.conflicts()
	if len(found) != len(with) {
		t.Errorf("%d conflicts, want %d: %v", len(found), len(with), found)
	}
	all := settings()
	for _, p := range found {
		if a, b := lookUp(all, p.Key), lookUp(all, with[p.Key]); a == nil || b == nil || a.live != b.live {
			t.Errorf("%s and %q: unknown, or one is taken up while the daemon runs and the other is not", p.Key, with[p.Key])
		}
	}
}

// The defaults and the ranges are those of the packages that take the settings.
func TestDefaultsAgree(t *testing.T) {
	f := func(name string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	c := Defaults()
	f("scheduler.params", coreParams(c.Scheduler.Params), balance.Defaults())
	f("queue", coreQueue(c.Queue), queue.Defaults())
	f("model", model.Settings{Resolution: c.Model.Resolution, WeightExponent: c.Model.WeightExponent, Features: c.Model.Features}, model.Defaults())
	l, want := c.Policy.Limits, policy.Defaults()
	f("module", int64(l.Module), int64(want.Module.Bytes))
	f("memory", int64(l.Memory), int64(want.Module.MemoryPages)*page)
	f("go_memory", int64(l.GoMemory), int64(want.GoMemoryPages)*page)
	f("compile_memory", int64(l.CompileMemory), want.CompileMemory)
	f("compile_time", l.CompileTime, want.Compile)
	f("fuel", []int64{l.CallFuel, l.GoCallFuel, l.SetupFuel, l.JobFuel, l.RowFuel},
		[]int64{want.CallFuel, want.GoCallFuel, want.SetupFuel, want.JobFuel, want.RowFuel})
}

func coreParams(p SchedulerParams) balance.Params {
	return balance.Params{Beta: p.Beta, Lambda: p.Lambda, Gamma: p.Gamma, Epsilon: p.Epsilon, Cover: p.Cover, Shapes: int(p.Shapes)}
}

func coreQueue(q Queue) queue.Settings {
	ms := func(d interface{ Milliseconds() int64 }) poise.Span { return poise.Span(d.Milliseconds()) }
	return queue.Settings{Step: ms(q.Step), Sweep: ms(q.Sweep), RetryBase: ms(q.RetryBase), RetryMax: ms(q.RetryMax)}
}

// A number is let in here when, and only when, the package that takes it lets it
// in.
func TestRangesAgree(t *testing.T) {
	all := settings()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{
			"scheduler.params.beta", "scheduler.params.lambda", "scheduler.params.gamma", "scheduler.params.epsilon",
			"scheduler.params.cover", "scheduler.params.shapes", "model.resolution", "model.weight_exponent",
		}).Draw(t, "name")
		v := rapid.SampledFrom([]float64{-1, 0, 0.009, 0.01, 0.04, 0.05, 0.5, 1, 1.01, 3, 4, 4.1, 8, 9, 10, 11, 1000, 1001, 4096, 4097}).Draw(t, "value")
		c := Defaults()
		s := lookUp(all, name)
		if s.word == "number" && strings.HasPrefix(s.expects, "a whole") && v != float64(int64(v)) {
			t.Skip("not a whole number")
		}
		ours := s.read(&c, v)
		theirs := true
		if !ours { // carry the value past our own range
			force(t, &c, name, v)
		}
		params := coreParams(c.Scheduler.Params)
		settings := model.Settings{Resolution: c.Model.Resolution, WeightExponent: c.Model.WeightExponent, Features: c.Model.Features}
		if params.Validate() != nil || settings.Validate() != nil {
			theirs = false
		}
		if ours != theirs {
			t.Fatalf("%s = %v: let in %v, its package says %v", name, v, ours, theirs)
		}
	})
}

// force writes a number into the field of a setting, whatever it is.
func force(t *rapid.T, c *Config, name string, v float64) {
	leaf := name[strings.LastIndexByte(name, '.')+1:]
	fields := map[string]any{leaf: v}
	if leaf == "shapes" {
		fields[leaf] = int64(v)
	}
	var target any = &c.Model
	if strings.HasPrefix(name, "scheduler.") {
		target = &c.Scheduler.Params
	}
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	leafless := strings.NewReplacer("weight_exponent", "WeightExponent").Replace(string(text))
	if err := json.Unmarshal([]byte(leafless), target); err != nil {
		t.Fatal(err)
	}
}

// A size is read as the quantity grammar reads it, and printed so that it reads
// the same.
func TestSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9]{1,12}(k|M|G|T|Ki|Mi|Gi|Ti|)`).Draw(t, "text")
		want, err := resource.ParseCapacity("memory", text)
		got, ok := parseSize(text)
		if err != nil || want > maxSize {
			if ok {
				t.Fatalf("%s: %d, want it refused", text, got)
			}
			return
		}
		if !ok || int64(got) != want {
			t.Fatalf("%s: %d, want %d", text, got, want)
		}
		if again, ok := parseSize(got.String()); !ok || again != got {
			t.Fatalf("%d prints as %s, which reads as %d", got, got, again)
		}
	})
	f := func(text string) {
		t.Helper()
		if got, ok := parseSize(text); ok {
			t.Errorf("%q: %d, want it refused", text, got)
		}
	}
	for _, text := range []string{"", "Mi", "-1", "-1Ki", "1.5Mi", "4MB", "4 Mi", "NaN", "Inf", "2000000Ti"} {
		f(text)
	}
}

func TestSpan(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		got := "refused"
		if d, ok := parseSpan(text); ok {
			got = printSpan(d)
			if again, ok := parseSpan(got); !ok || again != d {
				t.Errorf("%s prints as %s, which reads as %v", text, got, again)
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	f("600s", "10m")
	f("24h", "1d")
	f("36h", "36h")
	f("90s", "1m30s")
	f("1h0m30s", "1h0m30s")
	f("30d", "30d")
	f("0", "0s")
	f("0d", "0s")
	f("1.5s", "1.5s")
	f("-5s", "-5s") // the range keeps it out
	f("100001d", "refused")
	f("-1d", "refused")
	f("5", "refused")
	f("", "refused")
}

func TestNearest(t *testing.T) {
	f := func(name, want string, edits int) {
		t.Helper()
		got, n := nearest(name, []string{"api.listen", "api.rate", "data_dir", "log.level"})
		if got != want || n != edits {
			t.Errorf("%s: %s in %d, want %s in %d", name, got, n, want, edits)
		}
	}
	f("api.listen", "api.listen", 0)
	f("data-dir", "data_dir", 0)
	f("Log.Level", "log.level", 0)
	f("datadir", "data_dir", 1)
	f("api.rates", "api.rate", 1)
	f("log.lvl", "log.level", 2)
	f(strings.Repeat("x", 1<<20), "api.listen", longest)
}
