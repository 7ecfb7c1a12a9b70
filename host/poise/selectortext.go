package poise

import (
	"fmt"
	"slices"
	"strings"
)

// MaxSelectorText bounds a text of selectors in bytes.
const MaxSelectorText = 4096

// ParseSelectors reads requirements on labels as people write them, apart by
// commas: key=value, key!=value, key in (a,b), key notin (a,b), key, !key. All of
// them have to match. A key or a value has none of = ! ( ) , and no space; a value
// may be empty.
func ParseSelectors(text string) ([]Selector, error) {
	if len(text) > MaxSelectorText {
		return nil, selectorError(text[:40]+"…", fmt.Sprintf("at most %d bytes", MaxSelectorText))
	}
	var list []Selector
	for _, part := range splitSelectors(text) {
		s, ok := parseSelector(strings.TrimSpace(part))
		if !ok {
			return nil, selectorError(part, "key=value, key!=value, key in (a,b), key notin (a,b), key or !key, apart by commas")
		}
		list = append(list, s)
	}
	return list, nil
}

func selectorError(text, want string) error {
	return invalid("selector", fmt.Sprintf("%q, expected %s", text, want))
}

// splitSelectors cuts at the commas that are not in brackets.
func splitSelectors(text string) []string {
	var parts []string
	start, inside := 0, false
	for i := range len(text) {
		switch text[i] {
		case '(':
			inside = true
		case ')':
			inside = false
		case ',':
			if !inside {
				parts, start = append(parts, text[start:i]), i+1
			}
		}
	}
	return append(parts, text[start:])
}

func parseSelector(text string) (Selector, bool) {
	if key, list, ok := strings.Cut(text, "("); ok {
		list, closed := strings.CutSuffix(list, ")")
		words := strings.Fields(key)
		if !closed || len(words) != 2 {
			return Selector{}, false
		}
		s := Selector{Key: words[0], Op: In}
		switch words[1] {
		case "in":
		case "notin":
			s.Op = NotIn
		default:
			return s, false
		}
		for v := range strings.SplitSeq(list, ",") {
			s.Values = append(s.Values, strings.TrimSpace(v))
		}
		return s, plainWords(append(slices.Clone(s.Values), s.Key)...) && s.Key != ""
	}
	s := Selector{Op: In}
	key, value, ok := strings.Cut(text, "=")
	switch {
	case ok:
		if before, not := strings.CutSuffix(key, "!"); not {
			key, s.Op = before, NotIn
		}
		s.Values = []string{strings.TrimSpace(value)}
	case strings.HasPrefix(text, "!"):
		key, s.Op = text[1:], DoesNotExist
	default:
		s.Op = Exists
	}
	s.Key = strings.TrimSpace(key)
	return s, plainWords(append(slices.Clone(s.Values), s.Key)...) && s.Key != ""
}

// plainWords says whether texts have nothing in them that means something here.
func plainWords(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(t string) bool {
		return strings.ContainsFunc(t, func(r rune) bool { return r <= ' ' || strings.ContainsRune("=!(),\x7f", r) })
	})
}

// FormatSelectors gives a text that ParseSelectors reads as these selectors. They
// have the operators that it gives, and keys and values that it takes.
func FormatSelectors(list []Selector) string {
	parts := make([]string, len(list))
	for i := range list {
		s := &list[i]
		switch {
		case s.Op == In && len(s.Values) == 1:
			parts[i] = s.Key + "=" + s.Values[0]
		case s.Op == NotIn && len(s.Values) == 1:
			parts[i] = s.Key + "!=" + s.Values[0]
		case s.Op == In:
			parts[i] = s.Key + " in (" + strings.Join(s.Values, ",") + ")"
		case s.Op == NotIn:
			parts[i] = s.Key + " notin (" + strings.Join(s.Values, ",") + ")"
		case s.Op == DoesNotExist:
			parts[i] = "!" + s.Key
		default:
			parts[i] = s.Key
		}
	}
	return strings.Join(parts, ",")
}

// MatchAll says whether labels (sorted by key) satisfy all selectors.
func MatchAll(list []Selector, labels []Label) bool {
	return !slices.ContainsFunc(list, func(s Selector) bool { return !s.Matches(labels) })
}
