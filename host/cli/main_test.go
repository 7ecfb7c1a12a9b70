package cli

import (
	"os"
	"testing"
)

// TestMain makes the test program the compile child too, and keeps compiled
// plugins out of the user's cache and the user's contexts out of the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == compileCommand {
		os.Exit(Run(os.Args[1:], Streams{Out: os.Stdout, Err: os.Stderr}))
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
	code := m.Run()
	os.RemoveAll(cache)
	os.Exit(code)
}
