package oci

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// sample is a plugin for tests; nothing here runs its module.
func sample(version string, signatures ...string) Plugin {
	p := Plugin{
		Manifest: []byte(`{"name":"sample","version":"` + version + `"}`),
		ABI:      "1.0",
		Module:   []byte("\x00asm\x01\x00\x00\x00 module of " + version),
	}
	for _, s := range signatures {
		p.Signatures = append(p.Signatures, []byte(s))
	}
	return p
}

func mustPush(t *testing.T, reference string, p Plugin, o Options) Descriptor {
	t.Helper()
	d, err := Push(t.Context(), reference, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mustPull(t *testing.T, reference string, o Options) (Plugin, Descriptor) {
	t.Helper()
	p, d, err := Pull(t.Context(), reference, o)
	if err != nil {
		t.Fatal(err)
	}
	return p, d
}

// same compares plugins whose signatures may stand in any order.
func same(t *testing.T, got, want Plugin) {
	t.Helper()
	for _, p := range []*Plugin{&got, &want} {
		p.Signatures = slices.SortedFunc(slices.Values(p.Signatures), bytes.Compare)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("pulled %q, expected %q", got, want)
	}
}

// refused checks the kind and the words of an error.
func refused(t *testing.T, err error, kind poise.Kind, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted, expected %s: %q", kind, words)
	}
	if got := poise.KindOf(err); got != kind {
		t.Errorf("%v: of the kind %s, expected %s", err, got, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v: says nothing of %q", err, w)
		}
	}
}

// tour is what every place must do: push, pull, versions that do not change,
// tags that move when told, signatures that come later.
func tour(t *testing.T, base string, o Options) {
	t.Helper()
	one := sample("1.0.0", "signature a")
	d := mustPush(t, base, one, o)
	if !strings.HasSuffix(d.Reference, ":1.0.0") {
		t.Errorf("reference %s, expected the version as its tag", d.Reference)
	}
	const module = "sha256:84616089380b4d0bea52363be522db1b5a087a7990758801552be20e2eba62de"
	const digest = "sha256:4c114e0aa2b05f17b0859610adf7a8a3daa2415675ee3d0b172152d398f02a52"
	if d.Digest != digest || d.Module != module {
		t.Errorf("digests %s of module %s, expected %s of %s, everywhere and at any time", d.Digest, d.Module, digest, module)
	}
	got, pulled := mustPull(t, base+":1.0.0", o)
	same(t, got, one)
	if pulled != d {
		t.Errorf("pulled %+v, expected %+v as pushed", pulled, d)
	}

	if again := mustPush(t, base, one, o); again != d {
		t.Errorf("pushed again: %+v, expected %+v", again, d)
	}
	two := sample("1.0.0", "signature a", "signature b")
	if later := mustPush(t, base, two, o); later != d {
		t.Errorf("pushed with another signature: %+v, expected %+v", later, d)
	}
	got, _ = mustPull(t, base+":1.0.0", o)
	same(t, got, two)

	other := sample("1.0.0")
	other.Module = []byte("other")
	_, err := Push(t.Context(), base, other, o)
	refused(t, err, poise.Conflict, "tag 1.0.0: stands for "+d.Digest, "versions do not change")
	mustPush(t, base+":stable", one, o)
	moves := o
	moves.MoveTag = true
	moved := mustPush(t, base+":stable", sample("1.1.0"), moves)
	got, pulled = mustPull(t, base+":stable", o)
	same(t, got, sample("1.1.0"))
	if pulled != moved || pulled.Digest == d.Digest {
		t.Errorf("pulled %+v after the tag was moved, expected %+v", pulled, moved)
	}
	got, pulled = mustPull(t, base+"@"+d.Digest, o)
	same(t, got, two)
	if pulled.Reference != base+"@"+d.Digest {
		t.Errorf("reference %s, expected the digest in it", pulled.Reference)
	}

	_, _, err = Pull(t.Context(), base+":2.0.0", o)
	refused(t, err, poise.NotFound, ":2.0.0")
	_, _, err = Pull(t.Context(), base+"@sha256:"+strings.Repeat("0", 64), o)
	refused(t, err, poise.NotFound, "@sha256:0000")
	_, _, err = Pull(t.Context(), base, o)
	refused(t, err, poise.Invalid, "no tag and no digest")
	_, err = Push(t.Context(), base+"@"+d.Digest, one, o)
	refused(t, err, poise.Invalid, "what is pushed makes the digest")
	small := o
	small.MaxModule = 10
	_, _, err = Pull(t.Context(), base+":1.0.0", small)
	refused(t, err, poise.Limit, "layer: 24 bytes, expected at most 10")
	_, err = Push(t.Context(), base+":small", one, small)
	refused(t, err, poise.Limit, "module: 24 bytes, expected at most 10")
}

func TestLayout(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	tour(t, LayoutPrefix+dir, Options{})
	_, _, err := Pull(t.Context(), LayoutPrefix+filepath.Join(dir, "none")+":1", Options{})
	refused(t, err, poise.NotFound, "none")
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("a pull made the directory")
	}
	_, _, err = Pull(t.Context(), LayoutPrefix+t.TempDir()+":1", Options{})
	refused(t, err, poise.NotFound, "oci-layout")
}

// A layout that somebody else wrote: links lead nowhere, and content is compared
// with its name.
func TestHostileLayout(t *testing.T) {
	dir := t.TempDir()
	reference := LayoutPrefix + dir + ":1.0.0"
	d := mustPush(t, LayoutPrefix+dir, sample("1.0.0", "signature"), Options{})
	blob := filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(d.Module, "sha256:"))
	f := func(change func(), kind poise.Kind, words ...string) {
		t.Helper()
		whole, err := os.ReadFile(blob)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(blob); err != nil {
			t.Fatal(err)
		}
		change()
		_, _, err = Pull(t.Context(), reference, Options{})
		refused(t, err, kind, words...)
		_ = os.Remove(blob)
		if err := os.WriteFile(blob, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put := func(text string) func() {
		return func() {
			if err := os.WriteFile(blob, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	f(func() {}, poise.NotFound, "layer")
	f(put("short"), poise.Invalid, "layer", "expected content size of 24, got 5")
	f(put(strings.Repeat("x", 24)), poise.Invalid, "layer", "mismatched digest")
	f(put(strings.Repeat("x", 25)), poise.Invalid, "layer", "trailing data")
	f(func() {
		if err := os.Symlink("/dev/zero", blob); err != nil {
			t.Fatal(err)
		}
	}, poise.Invalid, "layer", "escapes")
	f(func() {
		if out, err := exec.Command("mkfifo", blob).CombinedOutput(); err != nil {
			t.Fatalf("mkfifo: %v\n%s", err, out)
		}
	}, poise.Invalid, "layer", "expected a file")
	f(func() {
		if err := os.Mkdir(blob, 0o700); err != nil {
			t.Fatal(err)
		}
	}, poise.Invalid, "layer", "is d---------, expected a file")
	if _, _, err := Pull(t.Context(), reference, Options{}); err != nil {
		t.Fatal(err)
	}

	index := filepath.Join(dir, "index.json")
	text, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "{", `{"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":4611686018427387904,"digest":"` + d.Digest + `"}]}`} {
		if err := os.WriteFile(index, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err = Pull(t.Context(), reference, Options{})
		refused(t, err, poise.Invalid, "pull plugin")
	}
	if err := os.WriteFile(index, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPushRefuses(t *testing.T) {
	f := func(change func(*Plugin), kind poise.Kind, words ...string) {
		t.Helper()
		p := sample("1.0.0")
		change(&p)
		dir := filepath.Join(t.TempDir(), "new")
		_, err := Push(t.Context(), LayoutPrefix+dir, p, Options{})
		refused(t, err, kind, words...)
	}
	f(func(p *Plugin) { p.Module = nil }, poise.Invalid, "module: empty")
	f(func(p *Plugin) { p.Manifest = nil }, poise.Invalid, "manifest")
	f(func(p *Plugin) { p.Manifest = []byte(`{"name":"a","version":"1","colour":1}`) }, poise.Invalid, "colour")
	f(func(p *Plugin) { p.Manifest = []byte(`{"name":"a","version":"1.0+linux"}`) }, poise.Invalid, `version "1.0+linux": cannot be a tag`)
	f(func(p *Plugin) { p.Signatures = [][]byte{nil} }, poise.Invalid, "signature: 0 bytes")
	f(func(p *Plugin) { p.Signatures = [][]byte{make([]byte, mostSignature+1)} }, poise.Invalid, "signature: 16385 bytes")
	f(func(p *Plugin) { p.Signatures = make([][]byte, mostSignatures+1) }, poise.Limit, "signatures: 17")
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := Pull(ctx, "127.0.0.1:1/sample:1", Options{})
	refused(t, err, poise.Unavailable, "context canceled")
}
