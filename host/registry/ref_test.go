package registry

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

func TestParseRef(t *testing.T) {
	f := func(text string, want Ref) {
		t.Helper()
		got, err := ParseRef(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q: %+v %q, %v, expected %+v", text, got, got.String(), err, want)
		}
	}
	all := "sha256:" + strings.Repeat("0a", 32)
	f("spread", Ref{Plugin: "spread"})
	f("spread@1.2.0-rc.1+b_2", Ref{Plugin: "spread", Version: "1.2.0-rc.1+b_2"})
	f("spread:stable", Ref{Plugin: "spread", Tag: "stable"})
	f("spread@"+all, Ref{Plugin: "spread", Digest: all})
	f("spread@sha256:0a0a0a", Ref{Plugin: "spread", Digest: "sha256:0a0a0a"})
	f(all, Ref{Digest: all})

	bad := func(text string) {
		t.Helper()
		if got, err := ParseRef(text); poise.KindOf(err) != poise.Invalid {
			t.Errorf("%q: %+v, %v, expected to be refused", text, got, err)
		}
	}
	for _, text := range []string{
		"", "@1", ":t", "@", "a@", "a:", "a@1:t", "a:t@1", "A", "a_b", "-a", "a-", "../a", "a/b", "a b", "a@.1", "a:-t", "раss", "a\x00", "a\n",
		"sha256:", "sha256:0a0a", "sha256:xyzxyz", "sha256:0A0A0A", "a@sha256:" + strings.Repeat("0", 65), "@sha256:0a0a0a", strings.Repeat("a", 64), "a@" + strings.Repeat("1", 65),
		strings.Repeat("a", 1<<20),
	} {
		bad(text)
	}
}

// A text is read or refused; one that is read is what it says.
func FuzzParseRef(f *testing.F) {
	f.Add("spread@sha256:0a0a0a")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRef(text)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
			return
		}
		if r.String() != text {
			t.Errorf("%q is printed as %q", text, r)
		}
	})
}

// Every name and version that a push takes can be asked for.
func TestValidNamesParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name, version := rapid.StringN(1, 12, -1).Draw(t, "name"), rapid.StringMatching(`[0-9a-z.+_\-@:]{1,9}`).Draw(t, "version")
		if ValidateName(name, version) != nil {
			return
		}
		r, err := ParseRef(name + "@" + version)
		if err != nil || r.Plugin != name || r.Version != version {
			t.Fatalf("%+v, %v", r, err)
		}
	})
}
