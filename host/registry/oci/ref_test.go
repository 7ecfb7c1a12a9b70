package oci

import (
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

func TestParseRef(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	f := func(text, dir, repository, name string) {
		t.Helper()
		r, err := parseRef(text)
		if err != nil {
			t.Error(err)
			return
		}
		if r.dir != dir || r.remote.Repository != repository || r.name != name || r.String() != text {
			t.Errorf("%q: dir %q, repository %q, name %q, printed %q", text, r.dir, r.remote.Repository, r.name, r)
		}
	}
	f("example.org/a/b", "", "a/b", "")
	f("example.org:5000/a:1.0.0", "", "a", "1.0.0")
	f("localhost/a@"+digest, "", "a", digest)
	f("oci:dir", "dir", "", "")
	f("oci:dir:1", "dir", "", "1")
	f("oci:/a:b/c", "/a:b/c", "", "")
	f("oci:/a:b/c:1", "/a:b/c", "", "1")
	f("oci:./a@b@"+digest, "./a@b", "", digest)

	bad := func(text, word string) {
		t.Helper()
		_, err := parseRef(text)
		refused(t, err, poise.Invalid, word, "expected HOST/REPOSITORY or oci:DIR")
	}
	bad("", "none of a registry")
	bad("sample:1.0.0", "none of a registry")
	bad("example.org/A:1", "none of a registry")
	bad("https://example.org/a:1", "none of a registry")
	bad("example.org/a:1/../b", "none of a registry")
	bad("example.org/a@sha512:"+strings.Repeat("0", 128), "digest")
	bad("oci:", "directory: empty")
	bad("oci::1", "directory: empty")
	bad("oci:dir:", "tag: empty")
	bad("oci:dir:a b", `tag: "a b"`)
	bad("oci:dir@sha256:0", "digest")
}

func FuzzRef(f *testing.F) {
	for _, s := range []string{"example.org/a:1", "oci:a:b", "oci:a@sha256:" + strings.Repeat("0", 64), "[::1]:5000/a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRef(text)
		if err != nil {
			if poise.KindOf(err) != poise.Invalid {
				t.Fatal(err)
			}
			return
		}
		again, err := parseRef(r.String())
		if err != nil || again != r {
			t.Fatalf("%q is %+v, printed %q is %+v, %v", text, r, r, again, err)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	a, _, err := pack(sample("1.0.0"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(a.manifest.data)
	f.Add([]byte(`{"artifactType":"` + ArtifactType + `","config":{"mediaType":"` + ConfigType + `"},"layers":[{"size":-1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := unpack(text, ArtifactType, ConfigType, ModuleType, mostConfig, defaultModule)
		if err != nil {
			if k := poise.KindOf(err); k != poise.Invalid && k != poise.Limit {
				t.Fatal(err)
			}
			return
		}
		for _, d := range m.Layers {
			if d.Size < 0 || d.Size > defaultModule || d.MediaType != ModuleType || len(d.Digest) != 71 {
				t.Fatalf("accepted %+v", d)
			}
		}
	})
}
