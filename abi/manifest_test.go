package abi

import (
	"math"
	"strings"
	"testing"
)

func TestParseManifest(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := ParseManifest([]byte(text))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v, expected a valid manifest", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, expected an error with %q", text, err, want)
		}
	}
	with := func(more string) string { return `{"name":"x","version":"1.0.0",` + more + `}` }
	f(`{"name":"x","version":"1.0.0","columns":[]}`, "")
	f(`{"name":"x"}`, `version: "", expected 1 to 100 bytes`)
	f(`{"version":"1"}`, `name: "", expected`)
	f(`{"name":"a b","version":"1"}`, "no space")
	f(`{"name":"x","version":"1"} {}`, "more text after the object")
	f(`[]`, "manifest: ")
	f("{\"name\":\"\xff\",\"version\":\"1\"}", "not valid UTF-8")
	f(with(`"colour":1`), `unknown field "colour"`)
	f(with(`"columns":["capacity"]`), `column "capacity": unknown, expected capacity:DIMENSION`)
	f(with(`"columns":["capacity:"]`), "unknown")
	f(with(`"columns":["class:x"]`), "unknown")
	f(with(`"columns":["devices","devices:gpu"]`), `"devices:gpu" is named twice`)
	f(with(`"columns":["age"],"row_pure":true`), `"age" with row_pure`)
	f(with(`"columns":["age"]`), "")
	f(with(`"job_fields":["seed"],"row_pure":true`), `"seed" with row_pure`)
	f(with(`"job_fields":["colour"]`), `job_fields: "colour", expected one of priority`)
	f(with(`"reasons":{"0":"x"}`), `reasons: code "0", expected 1 to 255`)
	f(with(`"reasons":{"256":"x"}`), "1 to 255")
	f(with(`"reasons":{"01":"x"}`), "1 to 255")
	f(with(`"reasons":{"1":""}`), `text of 1: "", expected 1 to 200 bytes`)
	f(with(`"reasons":{"1":"`+strings.Repeat("x", 201)+`"}`), `text of 1: "`+strings.Repeat("x", 40)+`"… (201 bytes), expected 1 to 200 bytes`)
	f(with(`"loss_range":[1]`), "loss_range")
	f(with(`"loss_range":[1,1]`), "lo below hi")
	f(with(`"loss_range":[-1.7e308,1.7e308]`), "finite distance")
	f(with(`"loss_range":[0,1]`), "")
	f(with(`"tie":"random"`), `tie: "random", expected name or seeded`)
	f(with(`"params":[{"name":"a","type":"float"}]`), `a: type "float", expected f64`)
	f(with(`"params":[{"name":"a","type":"f64"},{"name":"a","type":"i64"}]`), `params: "a" is named twice`)
	f(with(`"params":[{"name":"a","type":"bool","min":0}]`), "min or max on a bool")
	f(with(`"params":[{"name":"a","type":"f64","min":2,"max":1}]`), "min 2 above max 1")
	f(with(`"params":[{"name":"a","type":"enum"}]`), "values: 0, expected at least one")
	f(with(`"params":[{"name":"a","type":"f64","default":7,"max":1}]`), `default: a: "7", expected a finite number, at most 1`)
	f(with(`"params":[{"name":"a","type":"i64","default":1.5}]`), `a: "1.5", expected a whole number`)
	f(with(`"params":[{"name":"a","type":"i64","default":9007199254740993}]`), `a: "9007199254740993", expected a whole number, at most 2^53 either way`)
	f(with(`"params":[{"name":"a","type":"i64","default":99999999999999999999}]`), "at most 2^53 either way")
	f(with(`"params":[{"name":"a","type":"enum","values":["x"],"default":"y"}]`), `a: "y", expected one of x`)
}

func TestSettings(t *testing.T) {
	m, err := ParseManifest([]byte(`{"name":"x","version":"1","params":[
		{"name":"w","type":"f64","default":0.5,"min":0,"max":1},{"name":"n","type":"i64","default":-3},
		{"name":"on","type":"bool","default":true},{"name":"zone","type":"symbol"},
		{"name":"mode","type":"enum","values":["soft","hard"],"default":"hard"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	all, err := m.Settings(map[string]string{"zone": "east", "w": "-0"})
	if err != nil {
		t.Fatal(err)
	}
	minus3 := int64(-3)
	for i, want := range []Setting{{Bits: 0}, {Bits: uint64(minus3)}, {Bits: 1}, {Symbol: "east", IsSymbol: true}, {Bits: 1}} {
		if all[i] != want {
			t.Errorf("parameter %d: %+v, expected %+v", i, all[i], want)
		}
	}
	if got, err := m.Settings(map[string]string{"zone": "", "w": "0.25"}); err != nil || got[0].Bits != math.Float64bits(0.25) {
		t.Errorf("%+v, %v, expected w = 0.25", got, err)
	}
	f := func(given map[string]string, want string) {
		t.Helper()
		if _, err := m.Settings(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, expected an error with %q", given, err, want)
		}
	}
	f(nil, "zone: not given, expected a value of type symbol")
	f(map[string]string{"zone": "a", "w": "2"}, `w: "2", expected a finite number from 0 to 1`)
	f(map[string]string{"zone": "a", "w": "NaN"}, `w: "NaN"`)
	f(map[string]string{"zone": "a", "n": "9007199254740993"}, "a whole number")
	f(map[string]string{"zone": "a", "on": "yes"}, "true or false")
	f(map[string]string{"zone": "a", "mode": "x"}, "one of soft, hard")
	f(map[string]string{"zone": "a", "weight": "1"}, "weight: unknown parameter, expected one of w, n, on, zone, mode")
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(exampleManifest))
	f.Add([]byte(`{"name":"x","version":"1","params":[{"name":"a","type":"enum","values":["x"],"default":"x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseManifest(text)
		if err != nil {
			return
		}
		// What is accepted can be laid out, and lies in order without overlap.
		l, err := NewLayout(m, Sizes{Rows: MaxRows, Devices: MaxDevices, Shapes: MaxShapes, ShapeModels: MaxShapes, Values: make([]int, len(m.Domains))})
		if err != nil {
			t.Fatal(err)
		}
		end := 0
		for _, c := range l.Columns {
			if c.Offset < end || c.Offset%8 != 0 {
				t.Fatalf("column %+v begins before %d or unaligned", c, end)
			}
			end = c.Offset + c.Stride*MaxRows
		}
		if l.Values < end || l.Size < l.Values+8*MaxRows {
			t.Fatalf("values at %d of %d, columns end at %d", l.Values, l.Size, end)
		}
		arena := make([]byte, l.Size)
		l.PutTable(arena, 8, MaxRows)
	})
}
