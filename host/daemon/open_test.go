package daemon

import (
	"context"
	"testing"
)

// open runs a daemon without its API until the test ends.
func open(t testing.TB, dir string, s settings) *Daemon {
	t.Helper()
	d, err := Open(t.Context(), options(t, dir, s))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
