package store

import (
	"slices"
	"testing"
)

func TestFollows(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	f := func(want ...Follow) {
		t.Helper()
		if got, err := s.Follows(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v, expected %v", got, err, want)
		}
	}
	put := func(cluster, path string) {
		t.Helper()
		if err := s.PutFollow(t.Context(), Follow{cluster, path}); err != nil {
			t.Fatal(err)
		}
	}
	f()
	put("b", "/b.yaml")
	put("a", "/a.yaml")
	put("b", "/other.csv")
	f(Follow{"a", "/a.yaml"}, Follow{"b", "/other.csv"})
	for range 2 {
		if err := s.DeleteFollow(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	f(Follow{"b", "/other.csv"})
}
