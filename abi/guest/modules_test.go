package guest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wabt is what the modules of the tests are built with; plugin.yaml says it of
// the plugins.
const wabt = "wabt 1.0.32"

// The committed modules are what their sources make: byte for byte where the
// compilers are those of plugin.yaml. Where they are not, the plugins' cases say
// whether they still decide as they should. make wasm builds them again.
func TestModulesAreWhatTheirSourcesMake(t *testing.T) {
	if os.Getenv("POISE_VERIFY") == "" {
		t.Skip("builds 150 modules: make verify")
	}
	poise(t)
	tree := copyTree(t)
	committed := modules(t, tree)
	tools := map[string]string{}
	for line := range strings.Lines(run(t, tree, "make", "-s", "wasm-tools")) {
		if lang, with, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			tools[lang] = with
		}
	}
	byLang := map[string][]string{"wat": nil}
	with := map[string]string{"wat": wabt}
	for _, dir := range plugins(t, tree) {
		file := filepath.Join(dir, "plugin.yaml")
		lang, built := field(t, file, "language"), strings.Trim(field(t, file, "built_with"), "[]")
		byLang[lang] = append(byLang[lang], dir)
		if other, known := with[lang]; known && other != built {
			t.Errorf("%s: built with %s, expected %s as the others in %s", file, built, other, lang)
		}
		with[lang] = built
	}
	rebuilt, skipped := map[string]bool{}, 0
	for _, lang := range slices.Sorted(maps.Keys(byLang)) {
		t.Run(lang, func(t *testing.T) {
			leave, why := skip, lacking(lang)
			if why == "" && tools[lang] != with[lang] {
				leave, why = (*testing.T).Skipf, "here is "+tools[lang]
			}
			if why != "" {
				skipped++
				for _, dir := range byLang[lang] {
					run(t, dir, poise(t), "plugin", "test", filepath.Base(dir)+".wasm", "tests")
				}
				leave(t, "%s: not built again: %s, the modules are of %s; the cases of %d plugins decide as they should", lang, why, with[lang], len(byLang[lang]))
			}
			for file := range modules(t, tree) {
				if err := os.Remove(filepath.Join(tree, file)); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(func() {
				for file, text := range committed {
					if err := os.WriteFile(filepath.Join(tree, file), text, 0o644); err != nil {
						t.Error(err)
					}
				}
			})
			run(t, tree, "make", "-s", "wasm-"+lang)
			made := modules(t, tree)
			for _, file := range slices.Sorted(maps.Keys(made)) {
				rebuilt[file] = true
				if !bytes.Equal(made[file], committed[file]) {
					t.Errorf("%s: %d bytes, its sources make other %d with %s (make wasm)", file, len(committed[file]), len(made[file]), with[lang])
				}
			}
			if t.Failed() {
				return
			}
			t.Logf("%s: %d modules, byte for byte with %s", lang, len(made), with[lang])
		})
	}
	for file := range committed {
		if !rebuilt[file] && skipped == 0 {
			t.Errorf("%s: make wasm does not build it", file)
		}
	}
}

// modules reads those that are committed, by path. The tests of SDKs build
// their own.
func modules(t *testing.T, tree string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at, err := filepath.Rel(tree, path)
		if err == nil && entry.IsDir() && at == filepath.Join("abi", "guest") {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".wasm" {
			return err
		}
		found[at], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A plugin.yaml names the module that lies beside it, by its digest, and the
// line that its Makefile builds it with.
func TestModulesHaveTheirDigests(t *testing.T) {
	for _, dir := range plugins(t, root) {
		file := filepath.Join(dir, "plugin.yaml")
		text, err := os.ReadFile(filepath.Join(dir, field(t, file, "wasm")))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		if want := "sha256:" + hex.EncodeToString(sum[:]); field(t, file, "digest") != want {
			t.Errorf("%s: digest %s, expected %s (make wasm)", file, field(t, file, "digest"), want)
		}
		made := run(t, dir, "make", "-n", "-B", "RUSTC=rustc", "NODE_MODULES=node_modules", field(t, file, "wasm"))
		made = strings.ReplaceAll(made, "node node_modules/assemblyscript/bin/asc.js", "npx asc")
		if build := field(t, file, "build"); !slices.Contains(strings.Split(made, "\n"), build) {
			t.Errorf("%s: build %q, its Makefile has\n%s", file, build, made)
		}
	}
}
