package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
)

const goodCase = `# Why this case is here.
name: all there is

nodes:
  - {node: a, count: 2, capacity: {cpu: 8}}   # two of them
  - {node: b, capacity: {cpu: 8}, devices: {kind: gpu, count: 4}}
running:
  - {job: r, request: {cpu: 1, gpu: 500m}, node: b, held: [2]}
  - {job: s, count: 2, request: {cpu: 1}, node: a-0}
workload:
  - {job: w, count: 3, request: {cpu: 2}}
job: {job: j, request: {cpu: 1, gpu: 1}}
params: {weight: 0.5, on: true, name: x}

# What is right.
expect:
  node: b          # it has devices
  devices: [0]
  order: [b]
  refused:
    # both
    a-0: no device
    a-1: no device
  losses: {b: 12.5}

# The end.
`

func noFleet(string) ([]poise.Node, error) { return nil, errors.New("no fleets in tests") }

func TestReadCase(t *testing.T) {
	c, err := decodeCase("x.yaml", []byte(goodCase), fileLimits, noFleet)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "all there is" || len(c.Nodes) != 3 || len(c.Running) != 3 || len(c.Workload) != 3 || c.Job.Name != "j" {
		t.Errorf("%+v", c)
	}
	if r := c.Running; !slices.Equal(r[0].Held, []uint16{2}) || r[0].Node != "b" || r[2].Name != "s-1" || r[2].Held != nil {
		t.Errorf("running: %+v", r)
	}
	if !reflect.DeepEqual(c.Params, map[string]string{"weight": "0.5", "on": "true", "name": "x"}) {
		t.Errorf("params: %v", c.Params)
	}
	node := "b"
	want := Expect{
		Node: &node, Devices: []uint16{0}, Order: []string{"b"},
		Refused: map[string]string{"a-0": "no device", "a-1": "no device"}, Losses: map[string]float64{"b": 12.5},
	}
	if !reflect.DeepEqual(c.Expect, want) {
		t.Errorf("expect: %+v", c.Expect)
	}
}

func TestCaseFaults(t *testing.T) {
	const nodes, job = "name: x\nnodes: [{node: a, capacity: {cpu: 8}}, {node: b, capacity: {cpu: 8}}]\n", "job: {job: j, request: {cpu: 1}}\n"
	f := func(text, want string) {
		t.Helper()
		_, err := decodeCase("x.yaml", []byte(text), fileLimits, noFleet)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
		if err != nil {
			fault(t, "x.yaml", err)
		}
	}
	f("", "x.yaml: nothing in it: expected a test case")
	f("[1]", "x.yaml:1: a list: expected a mapping")
	f("name: [", "expected a YAML document")
	f(nodes+job+"expect: {}\n---\nname: y", "x.yaml:5: a second document: expected one case a file")
	f("name: \xff", "UTF-8")
	f(strings.Repeat("#\n", 200_000), "more than 262144 bytes")
	f("name: x\n"+job+"expect: {}", "nodes: given as often as fleet: expected a list of nodes, or fleet: FILE")
	f("name: x\nnodes: []\n"+job+"expect: {}", "nodes: none: expected at least one node")
	f("name: x\nfleet: f.yaml\n"+job+"expect: {}", `x.yaml:2: fleet: no fleets in tests: expected a fleet file`)
	f(nodes+"expect: {}", "job: missing")
	f(job+"nodes: [{node: a, capacity: {cpu: 8}}]\nexpect: {}", "name: missing")
	f(nodes+job+"expct: {}", "expct: unknown field: expected one of name, nodes, fleet, running")
	f(nodes+job+"expect: {nod: a}", "x.yaml:4: expect.nod: unknown field: expected one of node, devices, order, refused, losses, fault")
	f("name: x\nnodes: [{node: a, capacity: {cpu: 8q}}]\n"+job+"expect: {}", `x.yaml:2: nodes[0].capacity.cpu: "8q" ends in "q"`)
	f(nodes+"job: {job: j, request: {cpu: -1}}\nexpect: {}", "x.yaml:3: job.request.cpu: ")
	f(nodes+"job: {job: j, count: 2, request: {cpu: 1}}\nexpect: {}", "x.yaml:3: job.count: 2: expected one job")
	f(nodes+job+"running: [{job: r, request: {cpu: 1}}]\nexpect: {}", "running[0].node: missing")
	f(nodes+job+"running: [{job: r, request: {cpu: 1}, node: c}]\nexpect: {}", `running: "c", which no node of the case is named: expected one of a, b`)
	f(nodes+job+"running: [{job: j, request: {cpu: 1}, node: a}]\nexpect: {}", `running: "j", the name of the job to place: expected another name`)
	f(nodes+job+"running: [{job: r, request: {gpu: 2}, node: a, held: [0]}]\nexpect: {}", "running[0].held: a list: expected the index of each of its 2 devices")
	f(nodes+job+"running: [{job: r, request: {gpu: 2}, node: a, held: [1, 0]}]\nexpect: {}", `held[1]: "0": expected ascending indexes`)
	f(nodes+job+"running: [{job: r, request: {gpu: 2}, node: a, held: [1, 32]}]\nexpect: {}", `held[1]: "32": expected a whole number from 0 to 31`)
	f(nodes+job+"params: {a: [1]}\nexpect: {}", "params.a: a list: expected text, a number, true or false")
	f(nodes+job+"running: [{job: r, request: {cpu: 1}, on: a}]", "running[0].on: unknown field: expected one of node, held, job, count")
	f(nodes+job+"expect: {node: c}", `expect.node: "c", which no node of the case is named: expected one of a, b, or "" for none`)
	f(nodes+job+"expect: {refused: {c: x}}", `expect.refused: "c", which no node of the case is named: expected one of a, b`)
	f(nodes+job+"expect: {node: 3}", `expect.node: "3": expected the name of a node, or "" for none`)
	f(nodes+job+"expect: {devices: [0]}", "expect.devices: 1 of them: expected 0, as many as the job asks for")
	f(nodes+"job: {job: j, request: {gpu: 1}}\nexpect: {node: \"\", devices: [0]}", `expect.devices: chosen on no node: expected none beside node: ""`)
	f(nodes+job+"expect: {order: [a, a]}", `expect.order: "a" twice: expected every candidate once`)
	f(nodes+job+"expect: {node: b, order: [a, b]}", `expect.order: "a" first: expected "b" first, the chosen node`)
	f(nodes+job+"expect: {node: b, order: []}", `expect.order: no candidate: expected "b" at least`)
	f(nodes+job+"expect: {order: [a], refused: {a: x}}", `expect.refused: "a", which is a candidate too`)
	f(nodes+job+"expect: {refused: {a: x}, losses: {a: 1}}", `expect.losses: "a", which is no candidate`)
	f(nodes+job+"expect: {node: \"\", losses: {a: 1}}", `expect.losses: "a", which is no candidate`)
	f(nodes+job+"expect: {losses: {a: .nan}}", `expect.losses.a: ".nan": expected a finite number`)
	f(nodes+job+"expect: {fault: 3}", `expect.fault: "3": expected one of fetch, digest, verify`)
	f(nodes+job+"expect: {fault: \"\"}", `expect.fault: "": expected one of fetch, digest, verify`)
	f(nodes+job+"expect: {fault: crash}", `expect.fault: "crash": expected one of fetch, digest, verify`)
}

func TestCaseFleet(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("fleet.yaml", "node: a\ncapacity: {cpu: 8}\n")
	path := write("tests/c.yaml", "name: x\nfleet: ../fleet.yaml\njob: {job: j, request: {cpu: 1}}\nexpect: {node: a}\n")
	c, err := ReadCase(path)
	if err != nil || len(c.Nodes) != 1 {
		t.Fatalf("%v, %+v", err, c)
	}
	if _, err := ReadCase(filepath.Join(dir, "none.yaml")); poise.KindOf(err) != poise.NotFound {
		t.Errorf("a case that is not there: %v", err)
	}
	write("tests/note.txt", "no case")
	files, err := CaseFiles([]string{path, filepath.Join(dir, "tests")})
	if err != nil || !slices.Equal(files, []string{path}) {
		t.Errorf("case files: %v, %v", files, err)
	}
	if _, err := CaseFiles([]string{t.TempDir()}); poise.KindOf(err) != poise.NotFound {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestReadRunning(t *testing.T) {
	f := func(name, text, want string) {
		t.Helper()
		list, err := decodeRunning(name, strings.NewReader(text))
		if got := fmt.Sprint(len(list), " ", err); !strings.Contains(got, want) {
			t.Errorf("%s: %s, expected %q", text, got, want)
		}
	}
	f("r.yaml", "job: r\nnode: a\nrequest: {cpu: 1}\n---\njob: s\nnode: a\nrequest: {cpu: 1}\n", "2 <nil>")
	f("r.jsonl", `{"job": "r", "node": "a", "request": {"gpu": 1}, "held": [3]}`, "1 <nil>")
	f("r.yaml", "job: r\nrequest: {cpu: 1}\n", "node: missing")
	f("r.yaml", "job: r\nnode: a\nnode: b\nrequest: {cpu: 1}\n", "node: given on line 2 too")
	f("r.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\np,1000,1024,0,0,,0,1\n", "a table: expected YAML or JSON lines")
}

func TestRewrite(t *testing.T) {
	rewrite := func(text string, o *Outcome) string {
		t.Helper()
		c, err := decodeCase("x.yaml", []byte(text), fileLimits, noFleet)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Rewrite(o)
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	f := func(text string, o *Outcome, want string) {
		t.Helper()
		if got := rewrite(text, o); got != want {
			t.Errorf("%s\nexpected\n%s", got, want)
		}
	}
	const head = "name: x\nnodes: [{node: a, capacity: {cpu: 8}}, {node: b, capacity: {cpu: 8}}]\njob: {job: j, request: {cpu: 1}}\n"
	b := &Outcome{Node: "b", Order: []string{"b"}, Refused: map[string]string{"a": "full: 1"}, Losses: map[string]float64{"b": 2}}
	f(head+"expect: {node: a}\n", b, head+"expect: {node: b}\n")
	f(head+"expect: {fault: trap}", b, head+"expect: {node: b}\n")
	f(head+"expect: {}\n", b, head+"expect:\n  node: b\n  order: [b]\n  refused:\n    a: 'full: 1'\n  losses:\n    b: 2\n")
	f(head+"expect: {node: a}\n", &Outcome{Fault: abi.CodeFuel}, head+"expect: {node: \"\", fault: fuel}\n")
	f(head+"expect: {losses: {a: 1, b: 1}, order: [a, b]}\n", b, head+"expect: {losses: {b: 2}, order: [b]}\n")
	f("expect:\n    node: a # this one\n\n# A job.\njob: {job: j, request: {cpu: 1}}\nname: x\nnodes: [{node: a, capacity: {cpu: 8}}, {node: b, capacity: {cpu: 8}}]\n", b,
		"expect:\n  node: b # this one\n\n# A job.\njob: {job: j, request: {cpu: 1}}\nname: x\nnodes: [{node: a, capacity: {cpu: 8}}, {node: b, capacity: {cpu: 8}}]\n")

	const all = "expect:\n  node: b\n  order: [b]\n  refused:\n    a: 'full: 1'\n  losses:\n    b: 2\n"
	f(head, b, head+all)
	f(strings.TrimSuffix(head, "\n"), b, head+all)
	f(head+"\n# The end.\n", b, head+all+"\n# The end.\n")
	f(head+"...\n", b, head+all+"...\n")

	got := rewrite(goodCase, &Outcome{
		Node: "b", Devices: []uint16{3}, Order: []string{"b", "a-1"}, Refused: map[string]string{"a-0": "node too small: cpu"}, Losses: map[string]float64{"b": 0.25},
	})
	want := strings.NewReplacer("node: b          #", "node: b #", "devices: [0]", "devices: [3]", "order: [b]", "order: [b, a-1]",
		"a-0: no device", "a-0: 'node too small: cpu'", "    a-1: no device\n", "", "12.5", "0.25").Replace(goodCase)
	if got != want {
		t.Errorf("%s\nexpected\n%s", got, want)
	}
	for _, expect := range []string{"", ", expect: {node: a}"} {
		c, err := decodeCase("x.yaml", []byte("{name: x, nodes: [{node: a, capacity: {cpu: 8}}], job: {job: j, request: {cpu: 1}}"+expect+"}"), fileLimits, noFleet)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Rewrite(b); err == nil || !strings.Contains(err.Error(), "x.yaml:1: expect: beside other fields") {
			t.Errorf("a case on one line: %v", err)
		}
	}
}

// Whatever happened, the rewritten case expects it, and the rest is the same.
func TestRewriteExpectsWhatHappened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom([]string{"true", "~", "1e3", "no", "a:b", "#x", "-"}), rapid.StringMatching(`[a-zA-Z0-9:#'"{}%@&*!|>-]{1,6}`))
		names := rapid.SliceOfNDistinct(name, 2, 4, rapid.ID).Draw(t, "nodes")
		head := "name: x\nnodes:\n"
		for _, n := range names {
			head += fmt.Sprintf("  - {node: %q, capacity: {cpu: 8}}\n", n)
		}
		head += "job: {job: j, request: {cpu: 1}}\n"
		expect := rapid.SampledFrom([]string{"expect: {}\n", fmt.Sprintf("expect:\n  node: %q\n", names[1]), fmt.Sprintf("expect: {refused: {%q: x}, order: []}\n# end\n", names[0])}).Draw(t, "expect")
		o := &Outcome{Order: []string{names[0]}, Node: names[0], Refused: map[string]string{}, Losses: map[string]float64{names[0]: rapid.Float64().Draw(t, "loss")}}
		for _, n := range names[1:] {
			o.Refused[n] = rapid.StringMatching(`[ -~äß]{1,20}`).Draw(t, "reason")
		}
		if rapid.Bool().Draw(t, "fault") {
			o.Fault = abi.CodeTrap
		}
		c, err := decodeCase("x.yaml", []byte(head+expect), fileLimits, noFleet)
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.Rewrite(o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeCase("x.yaml", text, fileLimits, noFleet)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !strings.HasPrefix(string(text), head) {
			t.Fatalf("the rest changed: %s", text)
		}
		x := &again.Expect
		if x.Fault != o.Fault || x.Node != nil && *x.Node != o.Node || x.Order != nil && !slices.Equal(x.Order, o.Order) {
			t.Fatalf("%s: %+v", text, x)
		}
		for n, reason := range x.Refused {
			if o.Refused[n] != reason {
				t.Fatalf("%s: %q refused for %q, expected %q", text, n, reason, o.Refused[n])
			}
		}
		for n, loss := range x.Losses {
			if o.Losses[n] != loss {
				t.Fatalf("%s: loss %v of %q, expected %v", text, loss, n, o.Losses[n])
			}
		}
	})
}

func FuzzDecodeCase(f *testing.F) {
	f.Add([]byte(goodCase))
	f.Add([]byte("name: x\nnodes: [{node: a, capacity: {cpu: 8}}]\njob: {job: j, request: {cpu: 1}}\nexpect: {fault: trap}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := decodeCase("x.yaml", text, smallLimits, noFleet)
		if err != nil {
			fault(t, "x.yaml", err)
			return
		}
		o := &Outcome{Node: c.Nodes[0].Name, Order: []string{c.Nodes[0].Name}, Losses: map[string]float64{c.Nodes[0].Name: 1}}
		out, err := c.Rewrite(o)
		if err != nil {
			return
		}
		if _, err := decodeCase("x.yaml", out, fileLimits, noFleet); err != nil && len(c.Job.Request.Device.Models)+int(c.Job.Request.Device.Count) == 0 {
			t.Fatalf("%q becomes %q: %v", text, out, err)
		}
	})
}
