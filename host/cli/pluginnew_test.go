package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/abi/guest"
)

// poiseBinary builds the real command, which Makefiles of projects call.
func poiseBinary(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "poise")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/poise").CombinedOutput(); err != nil {
		t.Fatalf("build cmd/poise: %v: %s", err, out)
	}
	return bin
}

// languageTools are what a project of each language calls. The variables are those
// of the Makefiles.
func languageTools(lang string) []string {
	return map[string][]string{
		"rust": {"make", "cc", rustc()}, "go": {"make", "go"}, "assemblyscript": {"make", "node"}, "c": {"make", "cc", "clang", "wasm-ld"},
	}[lang]
}

func rustc() string {
	if name := os.Getenv("RUSTC"); name != "" {
		return name
	}
	return "rustc"
}

// nodeModules is where make asc installs AssemblyScript.
func nodeModules() string {
	if dir := os.Getenv("NODE_MODULES"); dir != "" {
		return dir
	}
	dir, _ := filepath.Abs("../../out/node_modules")
	return dir
}

// lacking says what is not here that builds the language, or nothing.
func lacking(lang string) string {
	for _, tool := range languageTools(lang) {
		if _, err := exec.LookPath(tool); err != nil {
			return tool
		}
	}
	switch lang {
	case "rust":
		dir := strings.TrimSpace(output(rustc(), "--print", "target-libdir", "--target", "wasm32-unknown-unknown"))
		if _, err := os.Stat(dir); err != nil {
			return rustc() + " with the target wasm32-unknown-unknown"
		}
	case "assemblyscript":
		if _, err := os.Stat(filepath.Join(nodeModules(), "assemblyscript")); err != nil {
			return "AssemblyScript (make asc, or NODE_MODULES names an install)"
		}
	case "c":
		if !strings.Contains(output("clang", "--print-targets"), "wasm32") {
			return "clang with the target wasm32"
		}
	}
	return ""
}

// output gives what a command prints, nothing where it fails.
func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// A new project builds, passes the check and passes its own tests.
func TestNewProjects(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a plugin in each language")
	}
	bin := poiseBinary(t)
	for _, lang := range guest.Languages() {
		t.Run(lang, func(t *testing.T) {
			if missing := lacking(lang); missing != "" {
				if os.Getenv("POISE_ALL_LANGUAGES") != "" {
					t.Fatalf("missing: %s", missing)
				}
				t.Skipf("missing: %s", missing)
			}
			top := t.TempDir()
			dir := filepath.Join(top, "my-"+lang)
			run := func(in, name string, args ...string) string {
				t.Helper()
				cmd := exec.Command(name, args...)
				cmd.Dir = in
				cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "NODE_MODULES="+nodeModules())
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
				}
				return string(out)
			}
			run(top, bin, "plugin", "new", "--lang", lang, "my-"+lang)
			run(dir, "make")
			out := run(dir, bin, "plugin", "check", "my-"+lang+".wasm")
			for line := range strings.Lines(out) {
				if f := strings.Fields(line); len(f) > 1 && (f[1] == "fail" || f[1] == "warn") {
					t.Errorf("%s", line)
				}
			}
			out = run(dir, "make", "test", "POISE="+bin)
			if strings.Contains(out, "tests/ skipped") {
				t.Errorf("make test left something out:\n%s", out)
			}
			again := exec.Command(bin, "plugin", "new", "--lang", lang, "my-"+lang)
			again.Dir = top
			if out, err := again.CombinedOutput(); err == nil || !strings.Contains(string(out), "expected none or an empty one") {
				t.Errorf("a project in the same place: %v, %s", err, out)
			}
		})
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
