package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kit is the folder of the conformance kit's bad plugins.
const kit = "../../abi/conformance/testdata/"

func TestPluginCheckGolden(t *testing.T) {
	f := func(name string, code int, args ...string) {
		t.Helper()
		out, errs, got := runPoise(append([]string{"plugin"}, args...)...)
		if got != code {
			t.Errorf("poise plugin %v: exit %d: %s; expected exit %d", args, got, errs, code)
		}
		golden(t, name, out+"--- standard error\n"+errs)
	}
	f("check_failed", 1, "check", kit+"row-order.wasm")
	f("check_trap", 1, "check", kit+"new-values.wasm", "--param", "zone=v1")
	f("check_zero", 1, "check", kit+"fuel-zero.wasm")
	f("check_refused", 4, "check", talk)
	f("check_refused_json", 4, "check", talk, "-o", "json")
	f("inspect_table", 0, "inspect", kit+"new-values.wasm")
	f("inspect_json", 0, "inspect", kit+"masks.wasm", "-o", "json")
	f("inspect_refused", 4, "inspect", talk)
}

func TestPluginCheckExitCodes(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	f := func(code int, message string, args ...string) {
		t.Helper()
		_, errs, got := runPoise(append([]string{"plugin"}, args...)...)
		if got != code || !strings.Contains(errs, message) {
			t.Errorf("poise plugin %v: exit %d, %q; expected exit %d and %q", args, got, errs, code, message)
		}
	}
	good := kit + "new-values.wasm"
	for _, command := range []string{"check", "inspect"} {
		f(2, "0 files, expected one .wasm module", command)
		f(2, "2 files, expected one .wasm module", command, good, good)
		f(2, `--output "csv": expected table, json`, command, good, "-o", "csv")
		f(3, "no such file, expected a .wasm module", command, filepath.Join(dir, "none.wasm"))
		f(4, "format, offset 0x0: header: ", command, file("text.wasm", "no module"))
		f(4, "missing-export: ", command, file("empty.wasm", "\x00asm\x01\x00\x00\x00\x05\x03\x01\x00\x01\x07\x0a\x01\x06memory\x02\x00"))
	}
	f(2, `--param "zone": expected NAME=VALUE`, "check", good, "--param", "zone")
	f(2, "--param zome: unknown parameter, expected one of zone", "check", good, "--param", "zome=a")
	if raced {
		return // the module below is of stock Go
	}
	f(2, "--param class: not given, expected a value of type symbol", "check", "../../plugins/only-class/only-class.wasm")
}

// What a tool reads says the same as the exit code.
func TestPluginCheckJSON(t *testing.T) {
	f := func(file string, code int, passed bool) {
		t.Helper()
		out, errs, got := runPoise("plugin", "check", file, "-o", "json")
		var v pluginVerdict
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			t.Fatalf("%s: %v: %s", file, err, errs)
		}
		if got != code || v.Passed != passed || !v.Accepted || v.Refusal != nil || len(v.Checks) == 0 || v.Digest == "" {
			t.Errorf("%s: exit %d, %+v; expected exit %d and passed %v", file, got, v, code, passed)
		}
	}
	f("../../plugins/binpack/binpack.wasm", 0, true)
	f(kit+"reasons.wasm", 1, false)
}

// A machine that cannot compile is no reason to call a plugin refused.
func TestCheckWithoutCache(t *testing.T) {
	home := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(home, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", home)
	_, errs, code := runPoise("plugin", "check", kit+"reasons.wasm")
	if code != 1 || strings.Contains(errs, "refused") {
		t.Errorf("exit %d, %q; expected exit 1 and no refusal", code, errs)
	}
}
