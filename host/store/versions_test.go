package store

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// A version is one digest for good; a tag moves; another tenant's are its own.
func TestVersions(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put := func(tenant, version, digest, tag string) error {
		return s.PutVersion(t.Context(), VersionRow{
			Tenant: tenant, Plugin: "p", Version: version, Digest: digest, At: 7, By: "me", Signature: []byte("s"), Body: []byte("{}"),
		}, []byte("bytes of "+digest), tag)
	}
	for _, err := range []error{
		put("a", "1", "sha256:1", ""), put("a", "2", "sha256:2", "stable"), put("b", "1", "sha256:2", "stable"), put("", "1", "sha256:3", ""),
		put("a", "1", "sha256:1", "stable"), // again, and it takes the tag over
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := put("a", "1", "sha256:9", "nightly"); poise.KindOf(err) != poise.Conflict {
		t.Errorf("%v, expected a conflict", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	digests := func(tenant, plugin string) (list []string) {
		t.Helper()
		rows, err := s.Versions(t.Context(), tenant, plugin)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.At != 7 || r.By != "me" || string(r.Signature) != "s" || string(r.Body) != "{}" || r.Tenant != tenant {
				t.Errorf("%+v", r)
			}
			list = append(list, r.Version+" "+r.Digest)
		}
		return list
	}
	same := func(got []string, want ...string) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q, expected %q", got, want)
		}
	}
	same(digests("a", ""), "2 sha256:2", "1 sha256:1")
	same(digests("a", "q"))
	same(digests("b", "p"), "1 sha256:2")
	same(digests("", "p"), "1 sha256:3")
	tags := func(tenant string) (list []string) {
		t.Helper()
		rows, err := s.Tags(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			list = append(list, r.Tag+" "+r.Digest)
		}
		return list
	}
	same(tags("a"), "stable sha256:1")
	same(tags("b"), "stable sha256:2")
	if err := s.DeleteVersion(t.Context(), "a", "p", "1"); err != nil {
		t.Fatal(err)
	}
	same(digests("a", ""), "2 sha256:2")
	same(tags("a"))
	same(tags("b"), "stable sha256:2")
	if _, err := s.Module(t.Context(), "sha256:1"); err != nil {
		t.Errorf("%v, expected the module to stay", err)
	}
	if err := s.DeleteVersions(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	same(digests("a", ""))
	if all, err := s.AllVersions(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v, expected two", all, err)
	}
	if err := s.DeleteVersions(t.Context(), ""); poise.KindOf(err) != poise.Invalid {
		t.Errorf("%v, expected to be refused", err)
	}
}

// Bytes that were harmed are whole again after the next push.
func TestVersionRepairsModule(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.PutModule(t.Context(), "sha256:1", []byte("harmed")); err != nil {
		t.Fatal(err)
	}
	if err := s.PutVersion(t.Context(), VersionRow{Plugin: "p", Version: "1", Digest: "sha256:1"}, []byte("whole"), ""); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Module(t.Context(), "sha256:1"); err != nil || !bytes.Equal(got, []byte("whole")) {
		t.Errorf("%q, %v", got, err)
	}
}

// Events of one kind are found among the others.
func TestEventsOf(t *testing.T) {
	s := open(t, t.TempDir())
	var b Batch
	for i, kind := range []string{"x", "y", "x"} {
		b.Records = append(b.Records, Record{Seq: uint64(i + 1), Kind: kind, Schema: 1, At: now, Body: []byte("{}")})
	}
	if err := s.Append(b).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := s.EventsOf(t.Context(), "x")
	if err != nil || len(got) != 2 || got[0].Seq != 1 || got[1].Seq != 3 {
		t.Errorf("%+v, %v", got, err)
	}
}
