package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const dotproductWasm = "../../plugins/dotproduct/dotproduct.wasm"

// A plugin decides on the state in a snapshot file, beside what runs there.
func TestPluginOnSnapshot(t *testing.T) {
	name := snapshotFile(t)
	out, errs, code := runPoise("plugin", "run", dotproductWasm, "--snapshot", name, "--job", "{job: waits, request: {cpu: 3500m}}", "-o", "json")
	var got pluginRunResult
	if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
		t.Fatalf("%d, %v, %s", code, err, errs)
	}
	if got.Policy != "dotproduct" || got.Node != "n2" || got.Fitting != 1 || got.Nodes != 2 || got.Calls == 0 {
		t.Errorf("%+v, expected n2 by dotproduct, as n1 has too little left", got)
	}
	f := func(want string, args ...string) {
		t.Helper()
		_, errs, code := runPoise(append([]string{"plugin", "run", dotproductWasm, "--job", "{job: j, request: {cpu: 1}}"}, args...)...)
		if code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: %d, %s, expected %q", args, code, errs, want)
		}
	}
	f("or --snapshot")
	f("expected no --nodes", "--snapshot", name, "--nodes", exampleNodes)
	f("no such file", "--snapshot", "none")
	f("loss_range", "--snapshot", name, "--weight", "1")
}

// A test case may be about a snapshot.
func TestCaseOnSnapshot(t *testing.T) {
	name := snapshotFile(t)
	dir := filepath.Dir(name)
	f := func(code int, want, text string) {
		t.Helper()
		path := filepath.Join(dir, "case.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, got := runPoise("plugin", "test", dotproductWasm, path)
		if got != code || !strings.Contains(out+errs, want) {
			t.Errorf("%d, %s%s, expected %d and %q", got, out, errs, code, want)
		}
	}
	const about = "name: n1 is too full\nsnapshot: s.snapshot\njob: {job: j, request: {cpu: 3500m}}\n"
	f(0, "1 ok", about+"expect: {node: n2, order: [n2], refused: {n1: 'not enough idle: cpu'}}\n")
	f(1, "node: n2, expected n1", about+"expect: {node: n1}\n")
	f(1, "given beside snapshot", about+"nodes: [{node: a, capacity: {cpu: 1}}]\nexpect: {node: n2}\n")
	f(1, "no such file", strings.Replace(about, "s.snapshot", "none", 1)+"expect: {node: n2}\n")
}
