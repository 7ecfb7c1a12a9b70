package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/registry/oci"
)

// equalFiles checks that two files hold the same.
func equalFiles(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(x, y) {
		t.Errorf("%s and %s differ", a, b)
	}
}

// A signed module goes into a layout and comes out the same. Registries are the
// same code behind the same call, tested in package oci.
func TestPluginCopy(t *testing.T) {
	dir := workbench(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	store := oci.LayoutPrefix + in("store")
	minisignTool(t, dir, "", "-G", "-W", "-p", "b.pub", "-s", "b.key")

	exits(t, 0, "signed  no", "plugin", "copy", in("m.wasm"), store+":unsigned")
	exits(t, 4, "signature: none, expected one by a --public-key", "plugin", "copy", store+":unsigned", in("no.wasm"), "--public-key", in("a.pub"))
	exits(t, 0, "", "plugin", "sign", in("m.wasm"), "--key", in("a.key"))
	exits(t, 4, "key: made by", "plugin", "copy", in("m.wasm"), store, "--public-key", in("b.pub"))
	first := exits(t, 0, `"plugin:bestfit\tversion:1.0.0`, "plugin", "copy", in("m.wasm"), store, "--public-key", in("a.pub"))
	if again := exits(t, 0, "", "plugin", "copy", in("m.wasm"), store, "--public-key", in("a.pub")); again != first {
		t.Errorf("copied again: %q, expected %q", again, first)
	}
	exits(t, 0, "not checked", "plugin", "copy", store+":1.0.0", in("out.wasm"))
	equalFiles(t, in("out.wasm"), in("m.wasm"))
	equalFiles(t, in("out.wasm.minisig"), in("m.wasm.minisig"))
	exits(t, 1, "is there, expected none", "plugin", "copy", store+":1.0.0", in("out.wasm"))
	to := oci.LayoutPrefix + in("mirror")
	if mirrored := exits(t, 0, "", "plugin", "copy", store+":1.0.0", to, "--public-key", in("a.pub")); mirrored != strings.ReplaceAll(first, store, to) {
		t.Errorf("%q, expected the same artifact as %q", mirrored, first)
	}

	// A second signature, by a new key: each serves who trusts its key.
	exits(t, 0, "", "plugin", "sign", in("m.wasm"), "--key", in("b.key"))
	exits(t, 0, "", "plugin", "copy", in("m.wasm"), store)
	exits(t, 1, "name its key with --public-key", "plugin", "copy", store+":1.0.0", in("two.wasm"))
	exits(t, 0, "signed  by key", "plugin", "copy", store+":1.0.0", in("two.wasm"), "--public-key", in("a.pub"))
	equalFiles(t, in("two.wasm.minisig"), in("out.wasm.minisig"))

	// What is no plugin, and tags.
	if err := os.WriteFile(in("bad.wasm"), []byte("\x00asm"), 0o600); err != nil {
		t.Fatal(err)
	}
	exits(t, 4, "refused", "plugin", "copy", in("bad.wasm"), store+":bad")
	copyFile(t, "../../plugins/binpack/binpack.wasm", in("other.wasm"))
	exits(t, 1, "tag 1.0.0: stands for", "plugin", "copy", in("other.wasm"), store+":1.0.0")
	exits(t, 0, "plugin  binpack", "plugin", "copy", in("other.wasm"), store+":1.0.0", "--move-tag")
	exits(t, 3, ":2.0.0", "plugin", "copy", store+":2.0.0", in("none.wasm"))
	exits(t, 3, "no such file", "plugin", "copy", in("none.wasm"), store)
	exits(t, 1, "no tag and no digest", "plugin", "copy", store, in("none.wasm"))
	exits(t, 2, "1 places, expected FROM and TO", "plugin", "copy", store)
	exits(t, 5, "deadline", "plugin", "copy", "example.org/a:1", in("none.wasm"), "--timeout", "1ns")
	for _, name := range []string{"no.wasm", "none.wasm"} {
		if _, err := os.Stat(in(name)); err == nil {
			t.Errorf("%s was written by a copy that was refused", name)
		}
	}
}

// An artifact that says of a module what the module does not is refused before
// anything is written.
func TestPluginCopyLies(t *testing.T) {
	dir := t.TempDir()
	module, err := os.ReadFile("../../plugins/bestfit/bestfit.wasm")
	if err != nil {
		t.Fatal(err)
	}
	f := func(name, word string, p oci.Plugin) {
		t.Helper()
		reference := oci.LayoutPrefix + filepath.Join(dir, name) + ":1"
		if _, err := oci.Push(t.Context(), reference, p, oci.Options{}); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, name+".wasm")
		exits(t, 4, word, "plugin", "copy", reference, out)
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: was written", name)
		}
	}
	f("manifest", "is not the one that the module gives, which is of bestfit 1.0.0",
		oci.Plugin{Manifest: []byte(`{"name":"spread","version":"9"}`), Module: module})
	f("module", "refused", oci.Plugin{Manifest: []byte(`{"name":"a","version":"1"}`), Module: []byte("MZ")})

	store := oci.LayoutPrefix + filepath.Join(dir, "store")
	exits(t, 0, "", "plugin", "copy", "../../plugins/bestfit/bestfit.wasm", store)
	p, _, err := oci.Pull(t.Context(), store+":1.0.0", oci.Options{})
	if err != nil || p.ABI != "1.0" {
		t.Fatalf("contract version %q, %v; expected 1.0", p.ABI, err)
	}
	p.ABI = "2.0"
	f("abi", `contract version of the artifact: "2.0", the module's is 1.0`, p)
}
