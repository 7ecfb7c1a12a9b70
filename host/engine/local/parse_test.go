//go:build linux

package local

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/resource"
)

func TestParseStat(t *testing.T) {
	const rest = " S 3 4 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 1 2 3"
	f := func(text, want string) {
		t.Helper()
		p, err := parseStat([]byte(text))
		got := fmt.Sprintf("%d %c %d %d %d %d", p.PID, p.state, p.parent, p.group, p.session, p.Start)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, expected %s", text, got, want)
		}
	}
	f("2 (sh)"+rest, "2 S 3 4 5 4711")
	f("2 (a) Z (b\n)"+rest, "2 S 3 4 5 4711") // a program may call itself anything
	f("2 ()"+rest, "2 S 3 4 5 4711")
	f("", "stat: no name in brackets")
	f("2 (sh) S 3", "stat: 2 fields behind the name, expected 20 or more")
	f("x (sh)"+rest, `stat: strconv.Atoi: parsing "x": invalid syntax`)
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("2 (sh) S 3 4 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 1 2 3"))
	f.Add([]byte(") ("))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := parseStat(text); err == nil && p.state == 0 {
			t.Errorf("%q: no state", text)
		}
	})
}

func FuzzFolderName(f *testing.F) {
	for _, s := range []string{"p1", "a/b", "..", ".", "%41", "ä", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if name, ok := placementOf(s); ok && folderName(name) != s {
			t.Errorf("%q is the folder of %q, whose folder is %q", s, name, folderName(name))
		}
		if s == "" {
			return
		}
		name := folderName(s)
		if filepath.Base(name) != name || strings.HasPrefix(name, ".") || len(name) > 3*len(s) {
			t.Errorf("%q: folder %q", s, name)
		}
		if back, ok := placementOf(name); !ok || back != s {
			t.Errorf("%q: back %q %t", s, back, ok)
		}
	})
}

// Every record that is taken can be written and taken again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"Format":1,"Shim":{"PID":2,"Start":1,"Boot":"b"}}`), uint8(0))
	f.Add([]byte(`{"Format":1,"Number":1,"Grace":5}`), uint8(1))
	f.Add([]byte(`{"Format":1,"State":"failed","ExitCode":3}`), uint8(2))
	f.Add([]byte(`{"Format":1,"Binding":{"Placement":"p","Command":["x"],"Env":{"A":"b"}},"LogLimit":1}`), uint8(3))
	f.Fuzz(func(t *testing.T, text []byte, kind uint8) {
		kinds := []func() record{
			func() record { return new(claim) }, func() record { return new(evict) }, func() record { return new(end) }, func() record { return new(spec) },
		}
		make := kinds[int(kind)%len(kinds)]
		r, back := make(), make()
		if decode(text, r) != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := decode(again, back); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if third, _ := json.Marshal(back); string(third) != string(again) {
			t.Errorf("%s, then %s", again, third)
		}
	})
}

func TestSpecKeepsTheBinding(t *testing.T) {
	b := sh("p", "\u2028 <&> \\ \"")
	b.Devices, b.DeviceKind, b.Env, b.Dir = []uint16{1}, "gpu", map[string]string{"A": "\n"}, "/"
	b.Amounts, b.RunTime, b.Grace = resource.List{{Name: "cpu", Value: 1}}, 1, 2
	dir := t.TempDir()
	if err := write(dir, specFile, &spec{Format: format, Binding: b}, true, true); err != nil {
		t.Fatal(err)
	}
	if err := write(dir, specFile, &spec{Format: format}, true, true); err == nil {
		t.Error("a file that is written once is written twice")
	}
	var s spec
	if found, err := read(dir, specFile, &s); !found || err != nil || !reflect.DeepEqual(s.Binding, b) {
		t.Errorf("%t %v %+v", found, err, s.Binding)
	}
	if left, _ := filepath.Glob(dir + "/*.part"); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

func TestEnviron(t *testing.T) {
	f := func(change func(*engine.Binding), name, want string) {
		t.Helper()
		b := sh("p", "")
		change(&b)
		got := "unset"
		for _, v := range environ(&b, "/d") {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				got = value
			}
		}
		if got != want {
			t.Errorf("%s: %s, expected %s", name, got, want)
		}
	}
	device := func(kind string, devices ...uint16) func(*engine.Binding) {
		return func(b *engine.Binding) { b.DeviceKind, b.Devices = kind, devices }
	}
	f(device("gpu", 0, 3), "CUDA_VISIBLE_DEVICES", "0,3")
	f(device("gpu", 0, 3), "POISE_DEVICES", "0,3")
	f(device("npu", 2), "CUDA_VISIBLE_DEVICES", "")
	f(device("npu", 2), "POISE_DEVICES", "2")
	f(device("gpu"), "CUDA_VISIBLE_DEVICES", "")
	f(device(""), "POISE_DEVICES", "")
	f(func(b *engine.Binding) {}, "HOME", "/d/work")
	f(func(b *engine.Binding) { b.Dir = "/x" }, "HOME", "/x")
	f(func(b *engine.Binding) { b.Env = map[string]string{"HOME": "/y"} }, "HOME", "/y")
	f(func(b *engine.Binding) {}, "POISE_TASK_DIR", "/d")
}
