package store

import "testing"

// A shadow is there until it is deleted, the latest row of a tenant, over a
// restart too.
func TestShadows(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	want := func(want ...ShadowRow) {
		t.Helper()
		list, err := s.Shadows(t.Context())
		if err != nil || len(list) != len(want) {
			t.Fatalf("%+v, %v, expected %+v", list, err, want)
		}
		for i := range list {
			if list[i].Tenant != want[i].Tenant || string(list[i].Body) != string(want[i].Body) {
				t.Errorf("%+v, expected %+v", list[i], want[i])
			}
		}
	}
	a, a2, b := ShadowRow{"a", []byte("1")}, ShadowRow{"a", []byte("2")}, ShadowRow{"", []byte("3")}
	for _, r := range []ShadowRow{a, a2, b} {
		if err := s.PutShadow(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	want(b, a2)
	for _, tenant := range []string{"a", "nobody"} {
		if err := s.DeleteShadow(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	want(b)
}
