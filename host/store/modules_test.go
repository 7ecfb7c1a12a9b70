package store

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// The bytes of a digest never change, survive a restart, and can be removed.
func TestModules(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	body := []byte("\x00asm")
	for _, b := range [][]byte{body, []byte("other")} {
		if err := s.PutModule(t.Context(), "sha256:1", b); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutModule(t.Context(), "sha256:0", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.PutModule(t.Context(), "sha256:2", make([]byte, maxModule+1)); poise.KindOf(err) != poise.Limit {
		t.Errorf("%v, expected a limit", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if got, err := s.Module(t.Context(), "sha256:1"); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%q, %v, expected %q", got, err, body)
	}
	want := []ModuleInfo{{Digest: "sha256:0", At: now}, {Digest: "sha256:1", At: now, Bytes: 4}}
	if got, err := s.Modules(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, expected %+v", got, err, want)
	}
	if err := s.DeleteModule(t.Context(), "sha256:1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Module(t.Context(), "sha256:1"); poise.KindOf(err) != poise.NotFound {
		t.Errorf("%v, expected not found", err)
	}
}
