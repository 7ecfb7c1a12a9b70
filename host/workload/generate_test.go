package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

func made(t testing.TB, s Spec) *Workload {
	t.Helper()
	w, err := Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The same jobs on every build: tests run with other instructions and on other
// machines than this figure comes from.
func TestGenerateIsFixed(t *testing.T) {
	sum := sha256.New()
	for _, j := range made(t, Defaults()).Jobs {
		fmt.Fprintln(sum, j.Name, j.Tenant, j.At, j.RunTime, j.Took, j.Preceding, j.Request)
	}
	const want = "8248531fc2ddffa2cf1098deabe3ce7602a68a4606d3e968f9b163841356ab72"
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// What the defaults promise holds of what comes out, give or take chance.
func TestGenerateFollowsItsSpec(t *testing.T) {
	s := Defaults()
	w := made(t, s)
	var undeclared, day, chained float64
	var runs []poise.Span
	over := 0.0
	byTenant := map[poise.TenantID]int{}
	for _, j := range w.Jobs {
		byTenant[j.Tenant]++
		runs = append(runs, j.Took)
		if j.RunTime == 0 {
			undeclared++
		} else {
			over += float64(j.RunTime) / float64(j.Took)
		}
		if h := j.At / poise.Time(hour); h >= 8 && h < 20 {
			day++
		}
		if j.Preceding != "" {
			chained++
		}
	}
	slices.Sort(runs)
	n := float64(len(w.Jobs))
	f := func(name string, got, want, slack float64) {
		t.Helper()
		if math.Abs(got-want) > slack {
			t.Errorf("%s: %v, want %v ± %v", name, got, want, slack)
		}
	}
	f("jobs", n, 10_000, 0)
	f("median run time", runs[len(runs)/2].Seconds(), 600, 60)
	f("0.84 quantile over median", runs[len(runs)*84/100].Seconds()/600, math.Exp(1.5), 0.5)
	f("undeclared", undeclared/n, 0.1, 0.02)
	f("arrivals by day", day/n, 0.5+0.6*2/3/2, 0.05)
	f("chained", chained/n, 0.1, 0.03)
	if mean := over / (n - undeclared); mean < 3 || mean > 8 { // rounded up to what people say
		t.Errorf("declared over taken: %v, want 3 to 8", mean)
	}
	if byTenant["tenant-1"] < byTenant["tenant-5"]*3 || byTenant["tenant-5"] == 0 {
		t.Errorf("jobs by tenant: %v, want the first to have about five times those of the last", byTenant)
	}
}

func specs(t *rapid.T) Spec {
	s := Defaults()
	s.Seed = rapid.Uint64().Draw(t, "seed")
	s.Jobs = rapid.IntRange(1, 300).Draw(t, "jobs")
	s.Span = poise.Span(rapid.Int64Range(1000, int64(30*day)).Draw(t, "span"))
	s.Tenants = rapid.IntRange(1, 20).Draw(t, "tenants")
	s.Wave = rapid.Float64Range(0, 1).Draw(t, "wave")
	s.Deviation = rapid.Float64Range(0, 4).Draw(t, "deviation")
	s.Over = rapid.Float64Range(1, 100).Draw(t, "over")
	s.Undeclared = rapid.Float64Range(0, 1).Draw(t, "undeclared")
	s.Arrays = rapid.Float64Range(0, 0.5).Draw(t, "arrays")
	s.Chains = rapid.Float64Range(0, 0.5).Draw(t, "chains")
	s.Gangs = rapid.Float64Range(0, 1-s.Arrays-s.Chains).Draw(t, "gangs")
	return s
}

// Every job is valid, comes within the span, in order, and after one that came
// with it; and the same Spec gives the same jobs.
func TestGenerateProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := specs(t)
		w, err := Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := Generate(s); !reflect.DeepEqual(again, w) {
			t.Fatal("other jobs the second time")
		}
		if len(w.Jobs) != s.Jobs || len(w.Tenants) != s.Tenants {
			t.Fatalf("%d jobs of %d tenants", len(w.Jobs), len(w.Tenants))
		}
		for i := range w.Tenants {
			if err := w.Tenants[i].Validate(); err != nil {
				t.Fatal(err)
			}
		}
		at := map[string]poise.Time{}
		for i := range w.Jobs {
			j := &w.Jobs[i]
			if err := j.Validate(); err != nil {
				t.Fatal(err)
			}
			if i > 0 && j.At < w.Jobs[i-1].At || j.At < 0 || j.At >= poise.Time(s.Span) {
				t.Fatalf("job %d comes at %d", i, j.At)
			}
			if j.Took < second || j.Took%second != 0 || j.RunTime != 0 && j.RunTime < j.Took {
				t.Fatalf("job %d takes %d and declares %d", i, j.Took, j.RunTime)
			}
			if before, ok := at[j.Preceding]; j.Preceding != "" && (!ok || before != j.At) {
				t.Fatalf("job %d comes after %q", i, j.Preceding)
			}
			at[j.Name] = j.At
		}
	})
}

// Gangs come whole but for the last, and a part of them starts with half; without
// them nothing else is drawn.
func TestGenerateGangs(t *testing.T) {
	s := Defaults()
	s.Gangs = 0.2
	elastic, whole := 0, 0
	w := made(t, s)
	for i := 0; i < len(w.Jobs); {
		g := w.Jobs[i].Gang
		if g == nil {
			i++
			continue
		}
		if g.Least() < g.Size {
			elastic++
		} else {
			whole++
		}
		for index := range g.Size {
			j := &w.Jobs[i]
			if j.Gang == nil || !j.Gang.Same(g) || j.Gang.Index != index || j.Tasks != g.Size || j.Took != w.Jobs[i-int(index)].Took || j.Gang.Topology != nil {
				t.Fatalf("job %d: %+v, %+v, want member %d of %+v", i, j, j.Gang, index, g)
			}
			i++
		}
	}
	if part := float64(elastic) / float64(elastic+whole); part < 0.15 || part > 0.35 {
		t.Errorf("%d of %d gangs start with half, want a quarter", elastic, elastic+whole)
	}
}

func TestSpecValidate(t *testing.T) {
	f := func(change func(*Spec), want string) {
		t.Helper()
		s := Defaults()
		change(&s)
		if _, err := Generate(s); err == nil || poise.KindOf(err) != poise.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one that says %q", err, want)
		}
	}
	f(func(s *Spec) { s.Jobs = 0 }, "jobs: 0, expected 1 to 1e+06")
	f(func(s *Spec) { s.Span = 999 }, "span (seconds): 0.999, expected 1")
	f(func(s *Spec) { s.Tenants = 1001 }, "tenants: 1001")
	f(func(s *Spec) { s.Wave = math.NaN() }, "wave: NaN")
	f(func(s *Spec) { s.RunTime = 0 }, "run time (seconds): 0")
	f(func(s *Spec) { s.Deviation = -1 }, "deviation: -1")
	f(func(s *Spec) { s.Over = 0.5 }, "over: 0.5")
	f(func(s *Spec) { s.Undeclared = 2 }, "undeclared: 2")
	f(func(s *Spec) { s.Arrays, s.Chains = 0.6, 0.6 }, "arrays, chains and gangs: 1.2")
	f(func(s *Spec) { s.Gangs = -1 }, "gangs: -1")
	f(func(s *Spec) { s.Classes = nil }, "number of classes: 0")
	f(func(s *Spec) { s.Classes[1].CPU = 1500 }, "class 2: cpu: 1500")
	f(func(s *Spec) { s.Classes[1].Memory = 3 }, "class 2: memory: 3 bytes")
	f(func(s *Spec) { s.Classes[0].GPUs = 33 }, "class 1: gpu: 33, expected 0 to 32")
	f(func(s *Spec) { s.Classes[0].Share = 0 }, "class 1: share: 0")
}
