package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/abi/guest"
)

// A new project is what the SDK has for its language, and nothing is ever written
// over it. That it builds and passes its tests is tested beside the SDKs.
func TestNewProjects(t *testing.T) {
	for _, lang := range guest.Languages() {
		dir := filepath.Join(t.TempDir(), "my-"+lang)
		out, errs, code := runPoise("plugin", "new", "--lang", lang, "my-"+lang, "--dir", dir)
		if code != 0 || !strings.Contains(out, "poise plugin check my-"+lang+".wasm\n") {
			t.Fatalf("%s: exit %d, %s%s", lang, code, out, errs)
		}
		files, err := guest.Project(lang, "my-"+lang)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s: %s is not that of the SDK (%v)", lang, name, err)
			}
		}
		if _, errs, code := runPoise("plugin", "new", "--lang", lang, "my-"+lang, "--dir", dir); code != 1 || !strings.Contains(errs, "expected none or an empty one") {
			t.Errorf("%s: a project in the same place: exit %d, %s", lang, code, errs)
		}
	}
}

func TestPluginNewRefusals(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "Makefile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(code int, message string, args ...string) {
		t.Helper()
		_, errs, got := runPoise(append([]string{"plugin", "new"}, args...)...)
		if got != code || !strings.Contains(errs, message) {
			t.Errorf("plugin new %v: exit %d, %q; expected exit %d and %q", args, got, errs, code, message)
		}
	}
	f(2, "0 names, expected one", "--lang", "c")
	f(2, "--lang: not given, expected one of rust, go, assemblyscript, c", "x")
	f(2, `language: "zig"`, "--lang", "zig", "x")
	f(2, `name: "X"`, "--lang", "c", "X")
	f(1, "holds Makefile, expected none or an empty one", "--lang", "c", "x", "--dir", full)
	entries, err := os.ReadDir(full)
	if err != nil || len(entries) != 1 {
		t.Errorf("a refused project left %d entries, %v", len(entries), err)
	}
}
