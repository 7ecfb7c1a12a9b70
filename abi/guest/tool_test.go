package guest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rustc is the compiler that RUSTC names, as in the Makefiles.
func rustc() string {
	if name := os.Getenv("RUSTC"); name != "" {
		return name
	}
	return "rustc"
}

// nodeModules is where AssemblyScript is installed: make asc.
func nodeModules() string {
	if dir := os.Getenv("NODE_MODULES"); dir != "" {
		return dir
	}
	dir, _ := filepath.Abs(filepath.Join(root, "out", "node_modules"))
	return dir
}

// lacking says what is not here that builds and tests the language, or nothing.
func lacking(lang string) string {
	tools := map[string][]string{
		"rust": {rustc(), "cc"}, "go": {"go"}, "assemblyscript": {"node"}, "c": {"clang", "wasm-ld", "cc"}, "wat": {"wat2wasm"},
	}
	for _, tool := range append(tools[lang], "make") {
		if _, err := exec.LookPath(tool); err != nil {
			return "no " + tool
		}
	}
	switch lang {
	case "rust":
		const target = "wasm32-unknown-unknown"
		dir, err := exec.Command(rustc(), "--print", "target-libdir", "--target", target).Output()
		if _, gone := os.Stat(strings.TrimSpace(string(dir))); err != nil || gone != nil {
			return fmt.Sprintf("%s has no target %s (RUSTC names another)", rustc(), target)
		}
	case "assemblyscript":
		if _, err := os.Stat(filepath.Join(nodeModules(), "assemblyscript")); err != nil {
			return "no AssemblyScript (make asc, or NODE_MODULES names an install)"
		}
	case "c":
		targets, err := exec.Command("clang", "--print-targets").Output()
		if err != nil || !strings.Contains(string(targets), "wasm32") {
			return "clang has no target wasm32"
		}
	}
	return ""
}

// need skips the test where the language cannot be built, and says why.
func need(t *testing.T, lang string) {
	t.Helper()
	if what := lacking(lang); what != "" {
		skip(t, "%s: %s", lang, what)
	}
}

// skip leaves a test out, but not where all compilers ought to be there.
func skip(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("POISE_ALL_LANGUAGES") != "" {
		t.Fatalf("POISE_ALL_LANGUAGES is set: "+format, args...)
	}
	t.Skipf(format, args...)
}

// wrap adds what a command printed to its error.
func wrap(err error, out []byte) error {
	var exit *exec.ExitError
	if err == nil || !errors.As(err, &exit) {
		return err
	}
	return fmt.Errorf("%w\n%s%s", err, out, exit.Stderr)
}
