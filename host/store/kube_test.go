package store

import "testing"

func TestKubes(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	f := func(want string) {
		t.Helper()
		list, err := s.Kubes(t.Context())
		got := ""
		for _, k := range list {
			got += k.Cluster + "=" + string(k.Body) + " "
		}
		if err != nil || got != want {
			t.Errorf("%q, %v, expected %q", got, err, want)
		}
	}
	put := func(cluster, body string) {
		t.Helper()
		if err := s.PutKube(t.Context(), KubeRow{cluster, []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	f("")
	put("b", "1")
	put("a", "2")
	put("b", "3")
	f("a=2 b=3 ")
	for range 2 {
		if err := s.DeleteKube(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	f("b=3 ")
}
