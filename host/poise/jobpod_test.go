package poise

import (
	"fmt"
	"strings"
	"testing"
)

func TestPodLabels(t *testing.T) {
	f := func(want bool, key, value string) {
		t.Helper()
		got := PodLabels("j", []Label{{Key: key, Value: value}})
		if has := len(got) == 2; has != want {
			t.Errorf("%q=%q: %v, expected it %t", key, value, got, want)
		}
	}
	f(true, "app", "x")
	f(true, "a/app", "")
	f(true, "x.example.org/App_1.b-c", "A-1")
	f(true, strings.Repeat("d.", 126)+"d/"+strings.Repeat("k", 63), strings.Repeat("v", 63))
	f(false, strings.Repeat("d.", 127)+"/k", "")
	f(false, strings.Repeat("k", 64), "")
	f(false, "app", strings.Repeat("v", 64))
	f(false, "app", "two words")
	f(false, "app", "x-")
	f(false, "-app", "x")
	f(false, "Example.org/app", "x")
	f(false, "example..org/app", "x")
	f(false, "/app", "x")
	f(false, "app/", "x")
	f(false, "a/b/c", "x")
	f(false, "äpp", "x")
	f(false, "poise.dev/job", "forged")
	f(false, "poise.dev/team", "x")
	labels := []Label{{Key: "app", Value: "x"}, {Key: "zone", Value: "no such value "}, {Key: "zz", Value: "y"}}
	if got, want := fmt.Sprint(PodLabels("j", labels)), "[{app x} {poise.dev/job j} {zz y}]"; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
}
