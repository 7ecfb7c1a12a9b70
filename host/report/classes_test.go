package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// machine makes a node of so many cores, GiB and devices.
func machine(name string, cores, memory int64, kind, make string, devices int32) poise.Node {
	return poise.Node{
		Name:     name,
		Capacity: resource.List{{Name: "cpu", Value: cores * 1000}, {Name: "memory", Value: memory << 30}},
		Devices:  poise.Devices{Kind: kind, Model: make, Count: devices},
	}
}

func built(t testing.TB, nodes ...poise.Node) *model.Model {
	t.Helper()
	m, err := model.Build(nodes, model.Defaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func classPageOf(t testing.TB, m *model.Model) *document {
	t.Helper()
	var b bytes.Buffer
	if err := ClassHTML(&b, m, "classes"); err != nil {
		t.Fatal(err)
	}
	d, err := read(b.Bytes())
	if err != nil {
		t.Fatalf("%v in:\n%s", err, b.String())
	}
	checkHarmless(t, d)
	if strings.Contains(d.text, "NaN") || strings.Contains(b.String(), "Inf") {
		t.Errorf("NaN or Inf stands on the page:\n%s", b.String())
	}
	return d
}

func TestClassHTML(t *testing.T) {
	d := classPageOf(t, built(t, machine("a", 32, 128, "", "", 0), machine("b", 32, 512, "", "", 0), machine("c", 64, 256, "gpu", "T4", 4)))
	for _, want := range []string{
		"3 nodes in 3 classes", "no devices, 2 nodes", "gpu T4, 1 node", "gpu-t4-4x, 1", "the only class with gpu T4", "k = 3: a gap of", "resolution: 0.5 octaves",
		"right: more memory",
	} {
		if !strings.Contains(d.text, want) {
			t.Errorf("nothing reads %q in %s", want, d.text)
		}
	}
	if d := classPageOf(t, built(t)); !strings.Contains(d.text, "No classes") {
		t.Errorf("a page of no classes reads %q", d.text)
	}
}

func TestClassHTMLEscapes(t *testing.T) {
	for _, name := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `]]></svg></style></title>`, `{{.}}`, `'--><!--`, `&amp;&#0;`, "\x00\x1b[2J", "\xff\xfe", "\u202eevil",
	} {
		s := model.Defaults()
		s.Features = append(s.Features, name)
		n := machine(name, 8, 32, name, name, 2)
		n.Capacity = append(n.Capacity, resource.Amount{Name: name, Value: 5000})
		m, err := model.Build([]poise.Node{n, machine("a", 8, 32, "", "", 0)}, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := classPageOf(t, m); !strings.Contains(d.text, plain(name)) {
			t.Errorf("%q does not stand as itself in %s", name, d.text)
		}
		var b bytes.Buffer
		if err := ClassTable(&b, m); err != nil || strings.ContainsAny(b.String(), "\x00\x1b\u202e") {
			t.Errorf("%v, a table that could harm a terminal: %q", err, b.String())
		}
	}
}

// More makes than pictures: the rest is said, and all are in the table.
func TestClassHTMLOfManyMakes(t *testing.T) {
	var nodes []poise.Node
	for i := range maxIslands + 7 {
		nodes = append(nodes, machine(fmt.Sprint("n", i), 8, 32, "gpu", fmt.Sprint("M", i), 2))
	}
	d := classPageOf(t, built(t, nodes...))
	if !strings.Contains(d.text, "7 makes of device with fewer nodes are not shown") || d.elements["tr"] != maxIslands+8 {
		t.Errorf("%d rows in %s", d.elements["tr"], d.text)
	}
}

func TestClassTableOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := ClassTable(&b, built(t)); err != nil || !strings.Contains(b.String(), "k = 0, from 0 points of 0 nodes") {
		t.Errorf("%v, %q", err, b.String())
	}
	b.Reset()
	if err := ClassJSON(&b, built(t), nil); err != nil || strings.Contains(b.String(), "null") {
		t.Errorf("%v, %s", err, b.String())
	}
	b.Reset()
	if err := ClassMath(&b, built(t)); err != nil || !strings.Contains(b.String(), "0 components") {
		t.Errorf("%v, %q", err, b.String())
	}
}

// A component of more than 12 points shows the sizes of its matrices only.
func TestClassMathOfManyPoints(t *testing.T) {
	f := func(count int, want bool) {
		t.Helper()
		var nodes []poise.Node
		for i := range count {
			nodes = append(nodes, machine(fmt.Sprint("n", i), int64(16+2*i), 128, "", "", 0))
		}
		m := built(t, nodes...)
		var b bytes.Buffer
		if err := ClassMath(&b, m); err != nil {
			t.Fatal(err)
		}
		size := fmt.Sprintf("|^2 / 2 sigma^2): %d x %d\n", len(m.Points), len(m.Points))
		if got := strings.Contains(b.String(), "points x"); got != want || !strings.Contains(b.String(), size) {
			t.Errorf("%d points: printed in full %v, expected %v; %s", len(m.Points), got, want, b.String())
		}
	}
	f(maxPrinted, true)
	f(maxPrinted+1, false)
}

func TestApart(t *testing.T) {
	f := func(want string, nodes ...poise.Node) {
		t.Helper()
		m := built(t, nodes...)
		id := m.Assign(&nodes[0]).Class
		for _, c := range classesOf(m) {
			if c.ID == id && c.apart != want {
				t.Errorf("%q, expected %q", c.apart, want)
			}
		}
	}
	f("the only class", machine("a", 8, 32, "", "", 0))
	f("against cpu-general: 8x memory, 32 GiB a core, not 4", machine("a", 8, 256, "", "", 0), machine("b", 8, 32, "", "", 0))
	f("the only class with gpu T4; against gpu-a10-1x: as large", machine("a", 8, 32, "gpu", "T4", 1), machine("b", 8, 32, "gpu", "A10", 1))
	f("the only class without devices; against gpu-a10-1x: as large", machine("a", 8, 32, "", "", 0), machine("b", 8, 32, "gpu", "A10", 1))
	f("against gpu-t4-8x: 1 device, not 8", machine("a", 8, 32, "gpu", "T4", 1), machine("b", 8, 32, "gpu", "T4", 8))
	f("the only class with fpga; against cpu-general: 0.5x cores, 0.5x memory", machine("a", 8, 32, "fpga", "", 1), machine("b", 16, 64, "", "", 0))
	stored := machine("a", 8, 32, "", "", 0)
	stored.Capacity = append(stored.Capacity, resource.Amount{Name: "storage", Value: 1 << 42})
	f("against cpu-general: has storage", stored, machine("b", 8, 32, "", "", 0), machine("c", 8, 32, "", "", 0))
}

// The axes are at right angles, of length 1, and no other direction spreads the
// rows more than the first.
func TestPrincipal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.IntRange(1, 6).Draw(t, "dims")
		rows := rapid.SliceOfN(rapid.SliceOfN(rapid.Float64Range(0, 20), dims, dims), 1, 12).Draw(t, "rows")
		axes := principal(rows)
		spreadAlong := func(axis []float64) float64 {
			var sum, squares float64
			for _, row := range rows {
				v := dot(row, axis)
				sum, squares = sum+v, squares+v*v
			}
			return squares - sum*sum/float64(len(rows))
		}
		if length := dot(axes[0], axes[0]); math.Abs(length-1) > 1e-9 {
			t.Fatalf("first axis %v has length^2 %v", axes[0], length)
		}
		if angle := dot(axes[0], axes[1]); math.Abs(angle) > 1e-9 {
			t.Fatalf("axes %v have the product %v", axes, angle)
		}
		for range 5 {
			other := rapid.SliceOfN(rapid.Float64Range(-1, 1), dims, dims).Draw(t, "direction")
			length := math.Sqrt(dot(other, other))
			if length < 1e-3 {
				continue
			}
			for k := range other {
				other[k] /= length
			}
			if most, along := spreadAlong(axes[0]), spreadAlong(other); along > most+1e-6*(1+most) {
				t.Fatalf("%v spreads the rows by %v, the first axis by %v", other, along, most)
			}
		}
	})
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for k := range x {
		sum += x[k] * y[k]
	}
	return sum
}

func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wanted := rapid.SliceOfN(rapid.Float64Range(0, 100), 0, 8).Draw(t, "wanted")
		for i := 1; i < len(wanted); i++ {
			wanted[i] = max(wanted[i], wanted[i-1])
		}
		at := spread(wanted, 10, 0, 100)
		for i, v := range at {
			if v < -1e-9 || v > 100 || i > 0 && v-at[i-1] < 10-1e-9 {
				t.Fatalf("%v becomes %v", wanted, at)
			}
		}
	})
}
