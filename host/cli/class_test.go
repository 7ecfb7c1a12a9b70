package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestClassExitCodes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty := write("empty.yaml", "")
	infinite := write("infinite.yaml", "node: huge\ncapacity: {cpu: .inf}\n")
	negative := write("negative.yaml", "node: less\ncapacity: {cpu: -4}\n")
	f := func(code int, message string, args ...string) {
		t.Helper()
		out, errs, got := runPoise(append([]string{"class"}, args...)...)
		if got != code || !strings.Contains(errs, message) {
			t.Errorf("poise class %s: exit %d, %q; expected exit %d and %q", strings.Join(args, " "), got, errs, code, message)
		}
		if code != 0 && out != "" {
			t.Errorf("poise class %s: printed %q though it did not succeed", strings.Join(args, " "), out)
		}
	}
	build := func(more ...string) []string { return append([]string{"build", "--nodes", exampleNodes}, more...) }
	f(0, "", "--help")
	f(0, "", build()...)
	f(2, `unknown command "found"`, "found")
	f(2, "--nodes: not given", "build")
	f(2, `--output "xml": expected table, json`, build("-o", "xml")...)
	f(2, "--math: it prints text", build("-o", "json", "--math")...)
	f(2, "invalid argument", build("--resolution", "fine")...)
	f(1, "resolution: 9, expected 0.05 to 4 octaves", build("--resolution", "9")...)
	f(1, "resolution: NaN, expected", build("--resolution", "NaN")...)
	f(1, "weight exponent: -1, expected 0 to 1", build("--weight-exponent", "-1")...)
	f(1, `features: "cpu" given twice`, build("--feature", "cpu", "--feature", "cpu")...)
	f(1, `feature: "ram", which no node declares, expected one of cpu, devices, memory`, build("--feature", "ram")...)
	f(3, "no-such-file", "build", "--nodes", "no-such-file.yaml")
	f(1, "empty.yaml", "build", "--nodes", empty)
	f(1, "cpu", "build", "--nodes", infinite)
	f(1, "cpu", "build", "--nodes", negative)
	f(1, "write ", build("--html", filepath.Join(dir, "no", "such", "folder.html"))...)
}

func TestClassTableGolden(t *testing.T) {
	f := func(name string, args ...string) {
		t.Helper()
		out, errs, code := runPoise(append([]string{"class", "build", "--nodes", exampleNodes}, args...)...)
		if code != 0 {
			t.Fatalf("exit %d: %s", code, errs)
		}
		path := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if out != string(want) {
			t.Errorf("%s differs; go test -update writes it anew. Printed:\n%s\nExpected:\n%s", path, out, want)
		}
	}
	f("class_table")
	f("class_math", "--math")
}

func TestClassJSON(t *testing.T) {
	out, errs, code := runPoise("class", "build", "--nodes", exampleNodes, "-o", "json")
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	type amounts struct{ Lo, Hi int64 }
	var got struct {
		K           int
		Eigenvalues []float64
		Classes     []struct {
			ID       int
			Name     string
			Nodes    int
			Share    float64
			Capacity map[string]amounts
		}
		Nodes map[string]int
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.K != 6 || len(got.Classes) != 6 || len(got.Nodes) != 60 || len(got.Eigenvalues) < 6 || !slices.IsSorted(got.Eigenvalues) {
		t.Fatalf("k %d, %d classes, %d nodes, eigenvalues %v; expected 6, 6, 60, and ascending ones", got.K, len(got.Classes), len(got.Nodes), got.Eigenvalues)
	}
	members, share := map[int]int{}, 0.0
	for name, id := range got.Nodes {
		if id == 0 {
			t.Errorf("node %s has no class", name)
		}
		members[id]++
	}
	for _, c := range got.Classes {
		share += c.Share
		if members[c.ID] != c.Nodes {
			t.Errorf("class %s has %d nodes, and %d nodes are in it", c.Name, c.Nodes, members[c.ID])
		}
	}
	if share < 0.999999 || share > 1.000001 {
		t.Errorf("shares add up to %v", share)
	}
	if c := got.Classes[0]; c.Name != "cpu-general" || c.Capacity["cpu"] != (amounts{32_000, 32_000}) || c.Capacity["memory"] != (amounts{128 << 30, 128 << 30}) {
		t.Errorf("the first class is %+v", c)
	}
}

// The order of nodes in the file changes nothing.
func TestClassOrder(t *testing.T) {
	data, err := os.ReadFile(exampleNodes)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(data), "\n---\n")
	slices.Reverse(parts)
	turned := filepath.Join(t.TempDir(), "turned.yaml")
	if err := os.WriteFile(turned, []byte(strings.Join(parts, "\n---\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-o", "json"}, {"--math"}} {
		a, _, _ := runPoise(append([]string{"class", "build", "--nodes", exampleNodes}, args...)...)
		b, errs, _ := runPoise(append([]string{"class", "build", "--nodes", turned}, args...)...)
		if a != b || a == "" {
			t.Errorf("%v: another order prints\n%s%s\nnot\n%s", args, b, errs, a)
		}
	}
}

func TestClassPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "classes.html")
	out, errs, code := runPoise("class", "build", "--nodes", exampleNodes, "--html", path)
	if code != 0 || out == "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	data, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(data, []byte("</html>")) {
		t.Errorf("%s: %v, %d bytes without </html>", path, err, len(data))
	}
}
