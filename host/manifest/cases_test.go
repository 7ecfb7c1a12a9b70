package manifest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// TestFieldCases holds what public bug reports of other schedulers came down
// to, as far as the input is concerned.
func TestFieldCases(t *testing.T) {
	find := func(list resource.List, name string) int64 {
		n, _ := list.Find(name)
		return n
	}
	// f reads an amount in a request and in a capacity; -1 means refused.
	f := func(name, text string, request, capacity int64) {
		t.Helper()
		got := int64(-1)
		jobs, err := DecodeJobs("x.yaml", strings.NewReader("job: a\nrequest: {"+name+": "+text+"}\n"))
		if err == nil {
			got = find(jobs[0].Request.Amounts, name)
		}
		if got != request {
			t.Errorf("request %s: %s is %d, want %d (%v)", name, text, got, request, err)
		}
		got = -1
		nodes, err := DecodeNodes("x.yaml", strings.NewReader("node: a\ncapacity: {spare: 1, "+name+": "+text+"}\n"))
		if err == nil {
			got = find(nodes[0].Capacity, name)
		}
		if got != capacity {
			t.Errorf("capacity %s: %s is %d, want %d (%v)", name, text, got, capacity, err)
		}
	}
	// B1: a part of a binary unit is not 0.
	f("memory", "0.5Gi", 512<<20, 512<<20)
	f("memory", "1.5Ti", 3<<39, 3<<39)
	f("memory", "0.25Pi", 1<<48, 1<<48)
	f("memory", "1.5Ei", 3<<59, 3<<59)
	f("memory", "half a gig", -1, -1)
	// B2: whole bytes, up for requests and down for capacity.
	f("memory", "2.1Gi", 2_254_857_831, 2_254_857_830)
	f("memory", "0.001Mi", 1049, 1048)
	f("memory", "1.5e3m", -1, -1)
	f("memory", "1500m", 2, 1)
	f("memory", "1e3", 1000, 1000)
	f("memory", "1E", 1e18, 1e18)
	f("memory", ".5G", 5e8, 5e8)
	// B9: too large is refused at the door, never wrapped or saturated.
	f("memory", "8Ei", -1, -1)
	f("memory", "7Ei", 7<<60, 7<<60)
	f("cpu", "9.3e15", -1, -1)
	f("cpu", "9.2e15", 9.2e18, 9.2e18)
	f("memory", "9223372036854775807", 1<<63-1, 1<<63-1)
	f("memory", "9223372036854775808", -1, -1)
	// B12: a resource that is not declared is 0, and so is one declared as 0.
	f("fpga", "0", 0, 0)
	f("fpga", "1", 1000, 1000)
	// B13: what is not a number, and what is less than nothing.
	f("cpu", ".nan", -1, -1)
	f("cpu", "NaN", -1, -1)
	f("cpu", ".inf", -1, -1)
	f("cpu", "-.inf", -1, -1)
	f("cpu", "-1", -1, -1)
	f("cpu", "-0", 0, 0)
}

// TestFieldCaseDevices: B6, a share of a device is not 0 devices, and a node
// may refuse shares; B13, a node without anything is refused.
func TestFieldCaseDevices(t *testing.T) {
	f := func(text string, count, milli int32) {
		t.Helper()
		jobs, err := DecodeJobs("x.yaml", strings.NewReader("job: a\nrequest: {gpu: "+text+"}\n"))
		if count < 0 {
			if err == nil {
				t.Errorf("gpu: %s is %+v, want an error", text, jobs[0].Request.Device)
			}
			return
		}
		if err != nil {
			t.Errorf("gpu: %s: %v", text, err)
			return
		}
		if d := jobs[0].Request.Device; d.Count != count || d.Milli != milli {
			t.Errorf("gpu: %s is %d of %d milli, want %d of %d", text, d.Count, d.Milli, count, milli)
		}
	}
	f("0.25", 1, 250)
	f("250m", 1, 250)
	f("0.0001", 1, 1)
	f("1", 1, 1000)
	f("8", 8, 1000)
	f("0", 0, 0)
	f("1.5", -1, 0)
	f("33", -1, 0)
	f("-1", -1, 0)
	f(".nan", -1, 0)

	nodes, err := DecodeNodes("x.yaml", strings.NewReader("node: a\ndevices: {kind: gpu, count: 1, exclusive: true}\n"))
	if err != nil || nodes[0].Devices != (poise.Devices{Kind: "gpu", Count: 1, Exclusive: true}) {
		t.Errorf("%+v, %v", nodes, err)
	}
	refused := func(text string) {
		t.Helper()
		if nodes, err := DecodeNodes("x.yaml", strings.NewReader(text)); err == nil {
			t.Errorf("%q is %+v, want an error", text, nodes)
		}
	}
	refused("node: a\ndevices: {kind: gpu, count: 0}\n")
	refused("node: a\ncapacity: {cpu: 1}\ndevices: {kind: gpu, count: 0}\n")
	refused("node: a\ncapacity: {cpu: 0, memory: 0}\n")
	refused("node: a\ncapacity: {}\n")
	refused("node: a\n")
}

// TestFormatReference: the three examples of the format's description are valid.
func TestFormatReference(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d YAML blocks, want one each of a node, a job and a tenant", len(blocks))
	}
	if nodes, err := DecodeNodes("README.yaml", strings.NewReader(blocks[0][1])); err != nil || len(nodes) != 20 || nodes[19].Name != "gpu-a-19" {
		t.Errorf("%d nodes, %v", len(nodes), err)
	}
	jobs, err := DecodeJobs("README.yaml", strings.NewReader(blocks[1][1]))
	if err != nil || len(jobs) != 100 || jobs[99].Name != "train-99" || jobs[99].Submit != 208_000 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
	w, err := DecodeWorkload("README.yaml", strings.NewReader(blocks[2][1]))
	if err != nil || len(w.Tenants) != 1 || len(w.Tenants[0].Quotas) != 2 {
		t.Errorf("%+v, %v", w, err)
	}
}
