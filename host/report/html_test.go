package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sim"
)

// document is what a page or picture holds, read as strict XML: an element that
// is not closed, a stray quote or a control character is an error.
type document struct {
	elements   map[string]int
	text       string
	attributes []xml.Attr
}

func read(text []byte) (*document, error) {
	d := &document{elements: map[string]int{}}
	decoder := xml.NewDecoder(bytes.NewReader(text))
	var all strings.Builder
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			d.text = all.String()
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		switch x := token.(type) {
		case xml.StartElement:
			d.elements[x.Name.Local]++
			d.attributes = append(d.attributes, x.Attr...)
		case xml.CharData:
			all.Write(x)
		}
	}
}

func pageOf(w io.Writer, results []*sim.Result) error { return HTML(w, results, "poise sim") }

func readPrinted(t testing.TB, write func(io.Writer, []*sim.Result) error, results ...*sim.Result) *document {
	t.Helper()
	text := printed(t, write, results...)
	d, err := read(text)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return d
}

// allowedElements are all that a page is made of: nothing that loads or runs.
var allowedElements = strings.Fields("html head meta title style body header h1 h2 h3 nav a main section p ul li span b small " +
	"div table thead tbody tr th td details summary footer svg path rect text")

func checkHarmless(t testing.TB, d *document) {
	t.Helper()
	for name := range d.elements {
		if !slices.Contains(allowedElements, name) {
			t.Errorf("an element %s", name)
		}
	}
	for _, a := range d.attributes {
		name := strings.ToLower(a.Name.Local)
		if strings.HasPrefix(name, "on") || name == "src" || name == "style" || name == "href" && !strings.HasPrefix(a.Value, "#") {
			t.Errorf("an attribute %s=%q", name, a.Value)
		}
	}
}

func TestHTML(t *testing.T) {
	d := readPrinted(t, pageOf, append(sample(), sampleReplay()...)...)
	checkHarmless(t, d)
	if n := d.elements["section"]; n != 3 {
		t.Errorf("%d sections, expected one a workload and mode", n)
	}
	for _, want := range []string{
		"where they differ", "allocation over time", "mean wait, seconds", "cpu in use, %", "devices in use, %", "most allocated in the end",
		"95.85 %", "then fgd: 95.45 %", "alloc at 130 %", "95.80 to 95.90", "gpu-V100-8x", "mean of 2 seeds", "Tenants", "10 runs and their digests",
	} {
		if !strings.Contains(d.text, want) {
			t.Errorf("nothing reads %q", want)
		}
	}
	if strings.Contains(d.text, "NaN") {
		t.Error("NaN stands on the page")
	}
	if d := readPrinted(t, pageOf); !strings.Contains(d.text, "No results") {
		t.Errorf("a page of no results reads %q", d.text)
	}
}

// One policy with one seed has no range, no second best and no tenants.
func TestHTMLOfOneRun(t *testing.T) {
	d := readPrinted(t, pageOf, inflated("default", "idle-balance", 42, 130, 95.9))
	for _, not := range []string{"then ", "shaded", " to ", "Tenants", "Still waiting"} {
		if strings.Contains(d.text, not) {
			t.Errorf("the page reads %q", not)
		}
	}
}

func TestHostileNames(t *testing.T) {
	for _, name := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `]]></svg></style></title>`, `{{.}}`, `'--><!--`, `&amp;&#0;`, `javascript:x`,
		"\x00\x1b[2J", "\xff\xfe", "\u202eevil",
	} {
		r, again := inflated(name, name, 1, 130, 95), replayedAt(name, 1, 30)
		again.Workload = name
		for _, r := range []*sim.Result{r, again} {
			r.Classes[0].Name, r.Digest = name, name
		}
		again.Replay.Tenants[0].Tenant = poise.TenantID(name)
		again.Replay.Waiting = []sim.Waiting{{Job: name, Jobs: 3, Reason: name, Detail: name, Decision: &poise.Decision{
			Verdict: poise.FitsNotNow, Nearest: &poise.Miss{Node: name, Code: poise.IdleShort, Dim: name, Ask: 3, Have: 1, Beyond: 2},
		}}}
		html := func(w io.Writer, results []*sim.Result) error { return HTML(w, results, name) }
		for _, write := range []func(io.Writer, []*sim.Result) error{html, CurvesSVG} {
			d := readPrinted(t, write, r, again)
			checkHarmless(t, d)
			if !strings.Contains(d.text, plain(name)) {
				t.Errorf("%q does not stand as itself", name)
			}
		}
	}
}

func TestStillWaiting(t *testing.T) {
	r := replayedAt("idle-balance", 42, 30)
	for i := range 20 {
		r.Replay.Waiting = append(r.Replay.Waiting, sim.Waiting{
			Job: fmt.Sprintf("job-%d", i), Jobs: i + 1, Reason: poise.FitsNotNow.String(), Request: poise.Request{Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 500}},
			Decision: &poise.Decision{
				Verdict: poise.FitsNotNow, Nearest: &poise.Miss{Node: "n7", Code: poise.DeviceIdleShort, Dim: "gpu", Ask: 500, Have: 300, Beyond: 200},
			},
		})
	}
	d := readPrinted(t, pageOf, r)
	for _, want := range []string{
		"job-19", "fits, but not now; nearest: node n7 has at most 300m of one gpu idle, of the 500m asked for: 200m too little", "and 8 kinds more",
	} {
		if !strings.Contains(d.text, want) {
			t.Errorf("nothing reads %q", want)
		}
	}
	if strings.Contains(d.text, "job-7") {
		t.Error("a rare kind stands before the frequent ones")
	}
}

func TestCurvesSVG(t *testing.T) {
	text := printed(t, CurvesSVG, append(sample(), sampleReplay()...)...)
	if !bytes.HasPrefix(text, []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 928 `)) {
		t.Errorf("the picture begins %.80s", text)
	}
	d := readPrinted(t, CurvesSVG, append(sample(), sampleReplay()...)...)
	checkHarmless(t, d)
	if d.elements["text"] == 0 || !strings.Contains(d.text, "multigpu30, 1213 nodes") || strings.Contains(string(text), "var(") {
		t.Errorf("not a picture by itself:\n%s", text)
	}
	readPrinted(t, CurvesSVG)
}

// Equal results give equal text, so that a page can be compared with the one
// before.
func TestPagesAreStable(t *testing.T) {
	results := append(sample(), sampleReplay()...)
	for _, write := range []func(io.Writer, []*sim.Result) error{pageOf, CurvesSVG} {
		if !bytes.Equal(printed(t, write, results...), printed(t, write, results...)) {
			t.Error("the same results give two pages")
		}
	}
}

// Any results give a page that is well formed and whose coordinates are numbers.
func TestPagesOfAnyResults(t *testing.T) {
	coordinates := regexp.MustCompile(`^[-0-9. MLhvVZ]*$`)
	rapid.Check(t, func(t *rapid.T) {
		results := anyResults(t, 4)
		for _, write := range []func(io.Writer, []*sim.Result) error{pageOf, CurvesSVG} {
			var b bytes.Buffer
			if err := write(&b, results); err != nil {
				t.Fatal(err)
			}
			d, err := read(b.Bytes())
			if err != nil {
				t.Fatalf("%v in:\n%s", err, b.String())
			}
			for _, a := range d.attributes {
				if slices.Contains([]string{"d", "x", "y", "width", "height", "viewBox"}, a.Name.Local) && !coordinates.MatchString(a.Value) {
					t.Fatalf("%s=%q", a.Name.Local, a.Value)
				}
			}
		}
	})
}
