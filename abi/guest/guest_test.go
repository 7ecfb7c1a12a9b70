package guest

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestEveryLanguageHasAProject(t *testing.T) {
	for _, lang := range Languages() {
		p, err := Project(lang, "my-first-policy")
		if err != nil {
			t.Errorf("%s: %v", lang, err)
			continue
		}
		cases, sdk := 0, 0
		for _, file := range slices.Sorted(maps.Keys(p)) {
			switch {
			case bytes.Contains(p[file], []byte("{{.")):
				t.Errorf("%s: %s still has a place to fill in", lang, file)
			case strings.HasSuffix(file, ".tmpl"):
				t.Errorf("%s: %s has the name of a template", lang, file)
			case bytes.Contains(p[file], []byte("poise-sched/poise/abi")):
				t.Errorf("%s: %s needs the repository of Poise", lang, file)
			case len(p[file]) == 0:
				t.Errorf("%s: %s is empty", lang, file)
			}
			if strings.HasPrefix(file, "tests/") && path.Ext(file) == ".yaml" {
				cases++
			}
			if strings.HasPrefix(file, "sdk/") || strings.HasPrefix(file, "poise/") {
				sdk++
			}
		}
		if cases == 0 || sdk == 0 {
			t.Errorf("%s: %d test cases and %d files of the SDK, expected some", lang, cases, sdk)
		}
		for _, must := range []struct{ file, text string }{
			{"Makefile", "my-first-policy.wasm:"},
			{"Makefile", "plugin test my-first-policy.wasm tests"},
			{"Makefile", "clean:"},
			{"plugin.yaml", "name: my-first-policy\nlanguage: " + lang + "\nwasm: my-first-policy.wasm\n"},
			{"README.md", "poise plugin check my-first-policy.wasm"},
		} {
			if !bytes.Contains(p[must.file], []byte(must.text)) {
				t.Errorf("%s: %s has no %q", lang, must.file, must.text)
			}
		}
		if Needs(lang) == "" {
			t.Errorf("%s: nothing is said of what it needs", lang)
		}
	}
}

// Comments behind the commands of a README stand below each other, and it says
// what the keys of a test case are.
func TestReadmes(t *testing.T) {
	for _, lang := range Languages() {
		for _, name := range []string{"x", "a-policy-with-a-rather-long-name"} {
			p, err := Project(lang, name)
			if err != nil {
				t.Fatal(err)
			}
			readme := string(p["README.md"])
			columns := map[int]int{}
			for line := range strings.Lines(readme) {
				if at := strings.Index(line, "# "); at > 0 && strings.HasPrefix(line, "    ") {
					columns[at]++
				}
			}
			if len(columns) != 1 {
				t.Errorf("%s: comments of %s in %d columns, expected one:\n%s", lang, name, len(columns), readme)
			}
			if !strings.Contains(readme, "| `expect` | any of `node` (`\"\"` = none)") {
				t.Errorf("%s: the README does not list the keys of a test case", lang)
			}
		}
	}
}

// A first policy is short: under 40 lines of code, blank ones and comments aside.
func TestFirstPoliciesAreShort(t *testing.T) {
	for lang, file := range map[string]string{"c": "policy.c", "rust": "policy.rs", "assemblyscript": "policy.ts", "go": "main.go"} {
		p, err := Project(lang, "x")
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.Lines(string(p[file])) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
		if lines == 0 || lines >= 40 {
			t.Errorf("%s: %s has %d lines of code, expected 1 to 39", lang, file, lines)
		}
	}
}

func TestProjectNames(t *testing.T) {
	f := func(lang, name, want string) {
		t.Helper()
		_, err := Project(lang, name)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("Project(%q, %q): %q, expected %q", lang, name, got, want)
		}
	}
	f("c", "a", "")
	f("c", "a1-b2", "")
	f("c", strings.Repeat("a", 63), "")
	f("c", strings.Repeat("a", 64), "name:")
	f("c", "", "name:")
	f("c", "1a", "name:")
	f("c", "-a", "name:")
	f("c", "a-", "name:")
	f("c", "a--b", "name:")
	f("c", "A", "name:")
	f("c", "a_b", "name:")
	f("c", "../a", "name:")
	f("c", "a b", "name:")
	f("c", "a\n", "name:")
	f("zig", "a", `language: "zig", expected one of rust, go, assemblyscript, c`)
}
