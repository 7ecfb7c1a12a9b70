package guest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the repository's.
const root = "../.."

// scratch is removed when the tests of the package are done.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "poise-guest"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// buildPoise builds the program that a plugin's author has.
var buildPoise = sync.OnceValues(func() (string, error) {
	file := filepath.Join(scratch, "bin", "poise")
	cmd := exec.Command("go", "build", "-trimpath", "-o", file, "./cmd/poise")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return file, wrap(err, out)
})

func poise(t *testing.T) string {
	t.Helper()
	file, err := buildPoise()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// copyTree copies the repository, so that what tests build does not show in it.
// Modules come last: make takes them for newer than their sources.
func copyTree(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	for _, modules := range []bool{false, true} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			at, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			switch {
			case entry.IsDir() && (slices.Contains([]string{".git", "bin", "out", "docs"}, at) || entry.Name() == "node_modules"):
				return fs.SkipDir
			case entry.IsDir():
				return os.MkdirAll(filepath.Join(to, at), 0o755)
			case !entry.Type().IsRegular() || filepath.Ext(path) == ".test" || modules != (filepath.Ext(path) == ".wasm"):
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, at), text, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// run runs a command and gives what it printed; a failure ends the test.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := command(dir, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), wrap(err, out))
	}
	return string(out)
}

// command prepares one with Poise in the PATH and nothing of the make that may
// run the tests.
func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "MFLAGS") && !strings.HasPrefix(v, "POISE=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	bin := filepath.Join(scratch, "bin")
	cmd.Env = append(cmd.Env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"RUSTC="+rustc(), "NODE_MODULES="+nodeModules(), "XDG_CACHE_HOME="+filepath.Join(scratch, "cache"),
		"GOCACHE="+goCache())
	return cmd
}

// goCache is the cache of Go as it is without the XDG_CACHE_HOME of the tests.
var goCache = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(out))
})
