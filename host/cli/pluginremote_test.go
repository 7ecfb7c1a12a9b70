package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The way of a plugin as its user types it.
func TestPluginCommands(t *testing.T) {
	d := remoteDaemon(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "spread.wasm")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "spread@1.0.0")
	d.prints("no plugins\n", 0, "plugin", "list")
	digest := "sha256:" + strings.Repeat("0", 64)
	d.prints("pushed spread@1.0.0 for tenant default\n"+digest+", score, 12 B\ntags: stable\nchecks: 1 passed, 0 with a warning\nnext: poise plugin activate spread@1.0.0\n",
		0, "plugin", "push", file, "--tag", "stable")
	write(file, "base@2.0.0")
	out, _ := d.run(0, "plugin", "push", file, "--cluster")
	if !strings.HasPrefix(out, "pushed base@2.0.0 for all tenants\n") {
		t.Errorf("%q", out)
	}
	d.prints("policy of the cluster: base@2.0.0 sha256:000000000000\non failure fallback: while it fails, what is under it decides\n",
		0, "plugin", "activate", "base", "--cluster")
	d.run(0, "plugin", "activate", "spread@1.0.0", "--param", "zone=rack")
	d.prints("policy of tenant default: spread@1.0.0 sha256:000000000000\non failure fallback: while it fails, what is under it decides\n",
		0, "plugin", "activate", "spread@1.0.0", "--param", "zone=rack", "--weight", "0.5")
	out, _ = d.run(0, "plugin", "explain", "default")
	for _, want := range []string{
		"How the jobs of tenant default are ranked, from the bottom up:", "1. idle-balance, the native scorer", "2. base@2.0.0, the cluster's",
		"3. spread@1.0.0, the tenant's own", "0.5 beside what is under it", "parameters   zone=rack", "rollback to  spread@1.0.0 sha256:000000000000",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	d.run(0, "plugin", "rollback")
	d.prints("no policy is in force\n", 0, "plugin", "deactivate")
	d.run(0, "plugin", "rollback", "--cluster")
	to := filepath.Join(dir, "pulled.wasm")
	_, errs := d.run(5, "plugin", "pull", "spread", "--to", to) // the twin's digest is made up
	if _, err := os.Stat(to); err == nil || !strings.Contains(errs, "digest sha256:") {
		t.Errorf("%q, expected no file", errs)
	}
	d.prints("plugin spread@1.0.0 deleted\n", 0, "plugin", "delete", "spread@1.0.0")
	d.prints("2 modules removed, 4096 B\n", 0, "plugin", "gc")

	f := func(code int, want string, args ...string) {
		t.Helper()
		if _, errs := d.run(code, append([]string{"plugin"}, args...)...); !strings.Contains(errs, want) {
			t.Errorf("%v: %q, expected %q", args, errs, want)
		}
	}
	f(3, "no such file", "push", filepath.Join(dir, "none.wasm"))
	f(2, "0 files, expected one", "push")
	f(2, "expected NAME=VALUE", "activate", "x", "--param", "x")
	f(3, "no such plugin", "activate", "x")
	f(2, "no plugin given", "activate")
	f(2, "expected one tenant at most", "explain", "a", "b")
	f(3, "no such policy", "rollback")
	f(2, "expected table, json or yaml", "list", "-o", "xml")
	write(file, "no module")
	f(1, "spread.wasm: push: module", "push", file)
}
