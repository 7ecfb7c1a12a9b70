package node

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

const (
	twoA100 = "0, GPU-aa, NVIDIA A100-SXM4-80GB, 81920, Disabled\n1, GPU-bb, NVIDIA A100-SXM4-80GB, 81920, Disabled\n"
	mixed   = "0, GPU-aa, Tesla T4, 15360, [N/A]\n1, GPU-bb, NVIDIA GeForce RTX 3090, 24576, [N/A]\n2, GPU-cc, NVIDIA GeForce RTX 3090, 24576, [N/A]\n"
)

func smi(out string, err error) source {
	m := fake()
	m.run = func(_ context.Context, name string, args ...string) ([]byte, error) {
		if name != "nvidia-smi" || len(args) != 2 {
			return nil, fmt.Errorf("ran %s %v", name, args)
		}
		return []byte(out), err
	}
	return m
}

func TestGPUs(t *testing.T) {
	f := func(out string, err error, model string, indices []int, notes ...string) {
		t.Helper()
		d := describe(t, smi(out, err), Settings{})
		var got []int
		for _, g := range d.GPUs {
			got = append(got, g.Index)
		}
		want := poise.Devices{}
		if len(indices) > 0 {
			want = poise.Devices{Kind: "gpu", Model: model, Count: int32(len(indices))}
		}
		if d.Node.Devices != want || !slices.Equal(got, indices) {
			t.Errorf("devices %v of GPUs %v, want %v of %v", d.Node.Devices, got, want, indices)
		}
		noted(t, d, notes...)
	}
	f("", nil, "", nil)
	f(twoA100, nil, "A100-SXM4-80GB", []int{0, 1})
	f(mixed, nil, "GeForce-RTX-3090", []int{1, 2}, "gpu: Tesla-T4 GPU-aa is not offered: a node has devices of one model, here GeForce-RTX-3090")
	f(strings.Replace(twoA100, "Disabled", "Enabled", 1), nil, "A100-SXM4-80GB", []int{1}, "gpu: A100-SXM4-80GB GPU-aa is not offered: it is split into MIG")
	f("NVIDIA-SMI has failed.\nMore.", errors.New("exit status 9"), "", nil, `gpu: nvidia-smi: exit status 9: "NVIDIA-SMI has failed."; none is offered`)
	f("No devices were found\n", nil, "", nil, "gpu: nvidia-smi: record on line 1: wrong number of fields; none")
	f("x, GPU-aa, Tesla T4, 15360, [N/A]\n", nil, "", nil, `gpu: nvidia-smi: index: "x", expected a number`)
	f("0, GPU-aa, , 15360, [N/A]\n", nil, "", nil, `gpu: nvidia-smi: gpu 0: uuid "GPU-aa" and name ""`)

	var many strings.Builder
	var first []int
	for i := range poise.MaxDevices + 1 {
		fmt.Fprintf(&many, "%d, GPU-%d, Tesla T4, 15360, [N/A]\n", i, i)
		first = append(first, i)
	}
	f(many.String(), nil, "Tesla-T4", first[:poise.MaxDevices], "gpu: Tesla-T4 GPU-32 is not offered: a node has at most 32 devices")
}

func TestGPULabels(t *testing.T) {
	f := func(out string, want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for _, l := range describe(t, smi(out, nil), Settings{}).Node.Labels {
			if strings.HasPrefix(l.Key, "nvidia.com/") {
				got[l.Key] = l.Value
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("labels %v, want %v", got, want)
		}
	}
	f(twoA100, map[string]string{"nvidia.com/gpu.product": "A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"})
	f("0, GPU-aa, NVIDIA GH200, [N/A], Disabled\n", map[string]string{"nvidia.com/gpu.product": "GH200"})
}

func TestModelOf(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		if got := modelOf(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	f("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB")
	f("Tesla T4", "Tesla-T4")
	f("NVIDIA", "NVIDIA")
	f(" NVIDIA  L40S ", "L40S")
	f("a\x00b\té", "a-b")
	f(strings.Repeat("x", 200), strings.Repeat("x", longestModel))
}

// FuzzGPUs: whatever nvidia-smi says, there is a node that is right, or a note.
func FuzzGPUs(f *testing.F) {
	f.Add(twoA100)
	f.Add(mixed)
	f.Add("0,\"a\nb\",c,-1,Enabled\r\n")
	f.Fuzz(func(t *testing.T, out string) {
		d, err := smi(out, nil).describe(t.Context(), Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if int(d.Node.Devices.Count) != len(d.GPUs) {
			t.Fatalf("%d devices of %d GPUs", d.Node.Devices.Count, len(d.GPUs))
		}
		for _, g := range d.GPUs {
			if g.Model != d.Node.Devices.Model || g.UUID == "" {
				t.Fatalf("GPU %+v on a node of %s", g, d.Node.Devices.Model)
			}
		}
	})
}

func FuzzControlGroups(f *testing.F) {
	f.Add("0::/a\n", "200000 100000", "1073741824")
	f.Add("3:cpu,cpuacct:/..\n2:memory:a\n", "max", "max")
	f.Fuzz(func(t *testing.T, paths, cpu, memory string) {
		m := fake()
		m.root = groupFiles(paths, cpu, memory)
		d, err := m.describe(t.Context(), Settings{ReserveMemory: gib})
		if err != nil {
			t.Fatal(err)
		}
		for name, most := range map[string]int64{"cpu": 8000, "memory": 16 * gib} {
			if got, _ := d.Node.Capacity.Find(name); got < 0 || got > most {
				t.Fatalf("%s %d, want 0 to %d", name, got, most)
			}
		}
	})
}
