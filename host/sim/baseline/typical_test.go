package baseline

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
)

func TestTypicalTasks(t *testing.T) {
	var list []poise.Request
	add := func(n int, r poise.Request) { list = append(list, repeat(n, r)...) }
	add(1, request(9, 0, 0)) // beyond the 95 of 100
	add(10, request(1, 1000, 1, "a", "b"))
	add(10, request(1, 1000, 1, "a"))
	add(10, request(1, 1000, 2))
	add(10, request(1, 1000, 1))
	add(10, request(1, 500, 1))
	add(10, request(2, 500, 1))
	add(35, request(1, 0, 0))
	list[len(list)-1].Amounts = amounts(1, mib) // memory makes no difference
	add(4, request(8, 0, 0))
	want := []Typical{
		{CPU: 1, Times: 35},
		{CPU: 2, Milli: 500, Count: 1, Times: 10},
		{CPU: 1, Milli: 1000, Count: 2, Times: 10},
		{CPU: 1, Milli: 1000, Count: 1, Models: []string{"a", "b"}, Times: 10},
		{CPU: 1, Milli: 1000, Count: 1, Models: []string{"a"}, Times: 10},
		{CPU: 1, Milli: 1000, Count: 1, Times: 10},
		{CPU: 1, Milli: 500, Count: 1, Times: 10},
	}
	got := TypicalTasks(list)
	sum := 0.0
	for i := range got {
		sum += got[i].Share
		got[i].Share = 0
	}
	if !slices.EqualFunc(got, want, sameTypical) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if math.Abs(sum-1) > 1e-12 {
		t.Errorf("shares sum to %v, want 1", sum)
	}
	if got := TypicalTasks(nil); len(got) != 0 {
		t.Errorf("of nothing: got %+v", got)
	}
	// 95 % to the task: 19 of 20 are enough.
	if got := TypicalTasks(append(repeat(19, request(1, 0, 0)), request(2, 0, 0))); len(got) != 1 || got[0].Share != 1 {
		t.Errorf("19 of 20: got %+v, want the first alone", got)
	}
}

func sameTypical(a, b Typical) bool {
	return a.CPU == b.CPU && a.Milli == b.Milli && a.Count == b.Count && a.Times == b.Times && slices.Equal(a.Models, b.Models)
}

// The lists of the published experiment: length, and the head of the default.
func TestTypicalTasksOfTraces(t *testing.T) {
	f := func(name string, want int) []Typical {
		t.Helper()
		list := TypicalTasks(traceRequests(t, name))
		if len(list) != want {
			t.Errorf("%s: %d typical tasks, want %d", name, len(list), want)
		}
		return list
	}
	list := f("default", 35)
	head := []Typical{
		{CPU: 3152, Milli: 810, Count: 1, Times: 1047},
		{CPU: 11300, Milli: 1000, Count: 1, Times: 874},
		{CPU: 11400, Milli: 1000, Count: 1, Times: 599},
		{CPU: 3152, Milli: 1000, Count: 1, Times: 470},
	}
	if !slices.EqualFunc(list[:4], head, sameTypical) {
		t.Errorf("default begins with %+v, want %+v", list[:4], head)
	}
	if last := (Typical{CPU: 4152, Milli: 810, Count: 1, Times: 31}); !sameTypical(list[34], last) {
		t.Errorf("default ends with %+v, want %+v", list[34], last)
	}
	n, covered := 8152.0, 7766.0
	if got, want := list[0].Share, 1047/n/(covered/n); got != want {
		t.Errorf("first share %v, want %v", got, want)
	}
	f("cpu050", 35)
	f("cpu100", 35)
	f("cpu200", 34)
	f("cpu250", 34)
	f("gpushare40", 36)
	f("gpushare60", 33)
	f("gpushare80", 32)
	f("gpushare100", 21)
	f("gpuspec10", 74)
	f("gpuspec20", 102)
	f("gpuspec25", 113)
	f("gpuspec33", 127)
	f("multigpu20", 38)
	f("multigpu30", 40)
	f("multigpu40", 42)
	f("multigpu50", 43)
}

// traceRequests reads what the typical tasks need of a trace of jobs; where it
// is absent, the test is skipped.
func traceRequests(t *testing.T, name string) []poise.Request {
	t.Helper()
	path := filepath.Join("..", "..", "..", "..", "shared", "traces", "openb", "openb_pod_list_"+name+".csv.gz")
	if _, err := os.Stat(path); os.IsNotExist(err) {
		t.Skipf("no trace at %s", path)
	}
	jobs, err := manifest.ReadJobs(path)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]poise.Request, len(jobs))
	for i := range jobs {
		list[i] = jobs[i].Request
		if text := jobs[i].ModelText; text != "" {
			list[i].Device.Models = strings.Split(text, "|")
		}
	}
	return list
}
