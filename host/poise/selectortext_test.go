package poise

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseSelectors(t *testing.T) {
	f := func(text string, want ...Selector) {
		t.Helper()
		got, err := ParseSelectors(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v, %v, expected %+v", text, got, err, want)
		}
	}
	f("team=a", Selector{"team", In, []string{"a"}})
	f(" team = a , zone!=x ", Selector{"team", In, []string{"a"}}, Selector{"zone", NotIn, []string{"x"}})
	f("team=", Selector{"team", In, []string{""}})
	f("team in (a, b),zone notin (x)", Selector{"team", In, []string{"a", "b"}}, Selector{"zone", NotIn, []string{"x"}})
	f("team,!old", Selector{"team", Exists, nil}, Selector{"old", DoesNotExist, nil})
	f("example.com/team=a", Selector{"example.com/team", In, []string{"a"}})

	bad := func(text string) {
		t.Helper()
		if got, err := ParseSelectors(text); KindOf(err) != Invalid || got != nil {
			t.Fatalf("%q: %+v, %v, expected it to be refused", text, got, err)
		}
	}
	bad("")
	bad("team=a,")
	bad("=a")
	bad("team==a")
	bad("team=a=b")
	bad("team in a,b")
	bad("team in (a")
	bad("team within (a)")
	bad("team in (a) b")
	bad("in (a)")
	bad("te am=a")
	bad("team!a")
	bad("!")
	bad("!!team")
	bad("team in ((a)")
	bad(strings.Repeat("a,", MaxSelectorText))
}

func FuzzParseSelectors(f *testing.F) {
	for _, seed := range []string{"team=a", "team in (a,b),zone!=x", "!old,new", "team=", "a notin (,)", "a in ()"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseSelectors(text)
		if err != nil {
			return
		}
		for i := range list {
			if err := list[i].Validate(); err != nil {
				t.Fatalf("%q gives a selector that is refused: %v", text, err)
			}
		}
		printed := FormatSelectors(list)
		if again, err := ParseSelectors(printed); len(printed) <= MaxSelectorText && (err != nil || !reflect.DeepEqual(again, list)) {
			t.Fatalf("%q is %+v, and printed as %q it is %+v, %v", text, list, printed, again, err)
		}
	})
}
