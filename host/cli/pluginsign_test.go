package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// minisignTool runs Debian's minisign in a directory, or skips.
func minisignTool(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("minisign")
	if err != nil {
		t.Skip("minisign: not installed (apt-get install minisign)")
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("minisign %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// workbench is a folder with a module and a pair of keys without a password.
func workbench(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	minisignTool(t, dir, "", "-G", "-W", "-p", "a.pub", "-s", "a.key")
	copyFile(t, "../../plugins/bestfit/bestfit.wasm", filepath.Join(dir, "m.wasm"))
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// exits checks the exit code of a command, and words of what it printed.
func exits(t *testing.T, want int, word string, args ...string) string {
	t.Helper()
	out, errs, code := runPoise(args...)
	if code != want || !strings.Contains(out+errs, word) {
		t.Errorf("%v: exit %d, %q; expected exit %d and %q", args, code, out+errs, want, word)
	}
	return out
}

func TestPluginSign(t *testing.T) {
	dir := workbench(t)
	module, key, public := filepath.Join(dir, "m.wasm"), filepath.Join(dir, "a.key"), filepath.Join(dir, "a.pub")
	exits(t, 0, `plugin:bestfit\tversion:1.0.0\tdigest:sha256:`, "plugin", "sign", module, "--key", key)
	if out := minisignTool(t, dir, "", "-V", "-H", "-p", "a.pub", "-m", "m.wasm"); !strings.Contains(out, "plugin:bestfit\tversion:1.0.0") {
		t.Errorf("minisign -V: %q", out)
	}
	exits(t, 0, "signed by key", "plugin", "verify", module, "--public-key", public)

	minisignTool(t, dir, "", "-S", "-l", "-s", "a.key", "-m", "m.wasm", "-x", "tool.minisig", "-t", "by the tool")
	exits(t, 0, `"by the tool"`, "plugin", "verify", module, "--public-key", public, "--signature", filepath.Join(dir, "tool.minisig"))

	minisignTool(t, dir, "", "-G", "-W", "-p", "b.pub", "-s", "b.key")
	other := filepath.Join(dir, "b.pub")
	text, err := os.ReadFile(public)
	if err != nil {
		t.Fatal(err)
	}
	bare := strings.Split(string(text), "\n")[1]
	exits(t, 0, "signed by key", "plugin", "verify", module, "--public-key", other, "--public-key", bare)
	exits(t, 4, "key: made by", "plugin", "verify", module, "--public-key", other)
	exits(t, 3, "public key", "plugin", "verify", module, "--public-key", "nothing")
	exits(t, 1, "read public key", "plugin", "verify", module, "--public-key", key)
	exits(t, 3, "signature", "plugin", "verify", module, "--public-key", public, "--signature", "nothing")
	exits(t, 2, "--public-key: not given", "plugin", "verify", module)
	exits(t, 2, "--key: not given", "plugin", "sign", module)
	exits(t, 1, "read secret key", "plugin", "sign", module, "--key", public)
	exits(t, 4, "refused", "plugin", "sign", key, "--key", key)

	f, err := os.OpenFile(module, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write([]byte{0})
	if closed := f.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	exits(t, 4, "module: is not what key", "plugin", "verify", module, "--public-key", public)
}

// A key with a password takes 1 GiB of memory and some seconds, by the tool's
// choice.
func TestPluginSignPassword(t *testing.T) {
	if testing.Short() || raced {
		t.Skip("scrypt with 1 GiB: neither in a short run nor with the race detector")
	}
	dir := workbench(t)
	minisignTool(t, dir, "pass word\npass word\n", "-G", "-p", "p.pub", "-s", "p.key")
	sign := func(input string) error {
		in, err := os.Open(put(t, "stdin", input))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		s := Streams{Out: io.Discard, Err: io.Discard}
		return signPlugin(s, &pluginSignOptions{
			file: filepath.Join(dir, "m.wasm"), key: filepath.Join(dir, "p.key"),
			password: func() (string, error) { return askPassword(s, in) },
		})
	}
	if err := sign("pass word\n"); err != nil {
		t.Fatal(err)
	}
	minisignTool(t, dir, "", "-V", "-p", "p.pub", "-m", "m.wasm")
	f := func(input, word string) {
		t.Helper()
		if err := sign(input); poise.KindOf(err) != poise.Denied || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v, expected denied and %q", input, err, word)
		}
	}
	f("password\n", "wrong password")
	f("", "standard input is empty")
}
