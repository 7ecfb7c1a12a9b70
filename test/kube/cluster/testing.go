package cluster

import (
	"errors"
	"testing"
)

// ForTest starts a plane that ends with the test, in a folder of the test's
// whatever c says. The test skips where the binaries are not there; when it has
// failed, it shows what the servers printed.
func ForTest(t testing.TB, c Config) *Plane {
	t.Helper()
	c.Dir = t.TempDir()
	p, err := Start(t.Context(), c)
	if errors.Is(err, ErrNoAssets) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Log(p.Logs())
		}
	})
	return p
}
