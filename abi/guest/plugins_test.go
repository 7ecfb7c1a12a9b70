package guest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// field reads a line of a plugin.yaml.
func field(t *testing.T, file, key string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, key+": "); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("%s: has no %s", file, key)
	return ""
}

// plugins lists the folders of the plugins below a root, the first-party ones
// and the examples.
func plugins(t *testing.T, root string) []string {
	t.Helper()
	var dirs []string
	for _, in := range []string{"plugins", "examples/plugins"} {
		files, err := filepath.Glob(filepath.Join(root, in, "*", "plugin.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d plugins, %v", in, len(files), err)
		}
		for _, file := range files {
			dirs = append(dirs, filepath.Dir(file))
		}
	}
	return dirs
}

// make test of every plugin passes: its native test, and the cases in Poise with
// the module as it is committed.
func TestPluginsPassTheirTests(t *testing.T) {
	poise := poise(t)
	tree := copyTree(t)
	for _, dir := range plugins(t, tree) {
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			need(t, field(t, filepath.Join(dir, "plugin.yaml"), "language"))
			out := run(t, dir, "make", "test", "POISE="+poise)
			if !strings.Contains(out, "plugin test "+name+".wasm tests") || !strings.Contains(out, " 0 failed, 0 in error") {
				t.Errorf("no cases were run:\n%s", out)
			}
			if strings.Contains(out, "-o "+name+".wasm") {
				t.Errorf("the module is built again, expected the committed one:\n%s", out)
			}
		})
	}
}

// The tests that an SDK has in its own language. Those of Go are of go test.
func TestSDKsPassTheirTests(t *testing.T) {
	tree := copyTree(t)
	for _, lang := range []string{"rust", "assemblyscript", "c"} {
		t.Run(lang, func(t *testing.T) {
			need(t, lang)
			run(t, filepath.Join(tree, "abi", "guest", lang, "test"), "make", "test")
		})
	}
}
