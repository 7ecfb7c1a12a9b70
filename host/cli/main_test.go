package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// TestMain makes the test program the compile child too, and keeps compiled
// plugins out of the user's cache and the user's contexts out of the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == compileCommand {
		os.Exit(Run(os.Args[1:], Streams{Out: os.Stdout, Err: os.Stderr}))
	}
	// The go command, for tests that build the program, keeps the cache that it has.
	if user, err := os.UserCacheDir(); err == nil && os.Getenv("GOCACHE") == "" {
		os.Setenv("GOCACHE", filepath.Join(user, "go-build"))
	}
	cache, err := os.MkdirTemp("", "poise-cli")
	if err == nil {
		err = os.Setenv("XDG_CACHE_HOME", cache)
	}
	if err == nil {
		err = os.Setenv("XDG_CONFIG_HOME", cache)
	}
	if err != nil {
		panic(err)
	}
	built = sync.OnceValues(func() (string, error) {
		path := filepath.Join(cache, "bin", "poise")
		out, err := exec.Command("go", "build", "-o", path, "../../cmd/poise").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
		return path, err
	})
	code := m.Run()
	os.RemoveAll(cache)
	os.Exit(code)
}

// built builds the program, once.
var built func() (path string, err error)

// program gives the path of the program, built from this tree.
func program(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	return path
}
