package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/access"
)

// kind is a type of value: how it is read and printed, and what of it is let in.
type kind[T any] struct {
	word    string // what the help of a flag calls it
	expects string
	parse   func(v any) (T, bool)
	print   func(T) string
}

// scalar makes a kind of what is one piece of text in every source.
func scalar[T any](word, expects string, parse func(string) (T, bool), print func(T) string) kind[T] {
	return kind[T]{word, expects, func(v any) (T, bool) {
		text, ok := textOf(v)
		if !ok {
			var none T
			return none, false
		}
		return parse(text)
	}, print}
}

// textOf gives a scalar of YAML, or of Defaults, as it may stand in an
// environment variable or behind a flag.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	case float64:
		return printReal(v), true
	case time.Duration:
		return printSpan(v), true
	case Size:
		return v.String(), true
	}
	return "", false
}

func text(expects string, fits func(string) bool) kind[string] {
	return scalar("text", expects, func(s string) (string, bool) { return s, printable(s) && fits(s) }, func(s string) string { return s })
}

// choice lets in some names; an empty one among them is written as nothing.
func choice(names ...string) kind[string] {
	expects := "one of " + strings.Join(names, ", ")
	if names[0] == "" {
		expects = "nothing or one of " + strings.Join(names[1:], ", ")
	}
	k := text(expects, func(s string) bool { return slices.Contains(names, s) })
	k.word = "name"
	return k
}

func toggle() kind[bool] {
	parse := func(s string) (bool, bool) { return s == "true", s == "true" || s == "false" }
	return scalar("bool", "true or false", parse, strconv.FormatBool)
}

func whole(from, to int64) kind[int64] {
	return scalar("number", fmt.Sprintf("a whole number from %d to %d", from, to), within(parseWhole, from, to),
		func(n int64) string { return strconv.FormatInt(n, 10) })
}

func decimal(from, to float64) kind[float64] {
	return scalar("number", fmt.Sprintf("a number from %s to %s", printReal(from), printReal(to)), within(parseReal, from, to), printReal)
}

func span(from, to time.Duration) kind[time.Duration] {
	return scalar("duration", fmt.Sprintf("a duration from %s to %s, such as 90s, 10m or 30d", printSpan(from), printSpan(to)),
		within(parseSpan, from, to), printSpan)
}

func size(from, to Size) kind[Size] {
	return scalar("size", fmt.Sprintf("a size from %s to %s, such as 512Ki or 4Mi", from, to), within(parseSize, from, to), Size.String)
}

func within[T cmp.Ordered](parse func(string) (T, bool), from, to T) func(string) (T, bool) {
	return func(s string) (T, bool) {
		v, ok := parse(s)
		return v, ok && v >= from && v <= to
	}
}

func parseWhole(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil {
		return n, true
	}
	f, ok := parseReal(s) // 1e6 is a whole number too
	return int64(f), ok && f == math.Trunc(f) && math.Abs(f) <= 1<<53
}

func parseReal(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

func printReal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// list is several texts: a YAML list, or one text with commas.
func list(least, most int) kind[[]string] {
	return kind[[]string]{
		word:    "list",
		expects: fmt.Sprintf("%d to %d different names, such as [a, b] or a,b", least, most),
		parse: func(v any) ([]string, bool) {
			all := []string{}
			switch v := v.(type) {
			case []string:
				all = append(all, v...)
			case []any:
				for _, e := range v {
					name, ok := textOf(e)
					if !ok {
						return nil, false
					}
					all = append(all, name)
				}
			case string:
				for name := range strings.SplitSeq(v, ",") {
					if name != v || name != "" { // nothing is no name
						all = append(all, strings.TrimSpace(name))
					}
				}
			default:
				return nil, false
			}
			for i, name := range all {
				if !isName(name) || slices.Contains(all[:i], name) {
					return nil, false
				}
			}
			return all, len(all) >= least && len(all) <= most
		},
		print: func(all []string) string { return strings.Join(all, ",") },
	}
}

// dictionary is names with values.
func dictionary(most int) kind[map[string]string] {
	return pairs(most, "names with values, such as {a: 1} or a=1,b=2", func(name, _ string) bool { return isName(name) })
}

// grants are names that others give to people and programs, with what those may
// do here. Such a name may have space within.
func grants(most int) kind[map[string]string] {
	return pairs(most, "names with what they may do, such as {staff: acme:submitter} or staff=acme:submitter", func(name, value string) bool {
		_, err := access.ParseGrant(value)
		return err == nil && name != "" && printable(name) && !strings.ContainsAny(name, ",=")
	})
}

// pairs are texts with values: a YAML mapping, or one text name=value,….
func pairs(most int, expects string, fit func(name, value string) bool) kind[map[string]string] {
	return kind[map[string]string]{
		word:    "name=value,…",
		expects: fmt.Sprintf("at most %d %s", most, expects),
		parse: func(v any) (map[string]string, bool) {
			all := map[string]string{}
			switch v := v.(type) {
			case map[string]string:
				maps.Copy(all, v)
			case map[string]any:
				for name, e := range v {
					value, ok := textOf(e)
					if !ok {
						return nil, false
					}
					all[name] = value
				}
			case string:
				for pair := range strings.SplitSeq(v, ",") {
					name, value, ok := strings.Cut(pair, "=")
					name = strings.TrimSpace(name)
					if _, twice := all[name]; twice || !ok && v != "" {
						return nil, false
					}
					if ok {
						all[name] = strings.TrimSpace(value)
					}
				}
			default:
				return nil, false
			}
			for name, value := range all {
				if !fit(name, value) || !printable(value) || strings.Contains(value, ",") {
					return nil, false
				}
			}
			return all, len(all) <= most
		},
		print: func(all map[string]string) string {
			var pairs []string
			for _, name := range slices.Sorted(maps.Keys(all)) {
				pairs = append(pairs, name+"="+all[name])
			}
			return strings.Join(pairs, ",")
		},
	}
}

// isName says whether s can stand in a list in one text.
func isName(s string) bool {
	return s != "" && len(s) <= maxText && !strings.ContainsAny(s, ",= ") && printable(s)
}

// printable keeps out what would break a line of the log or of a table.
func printable(s string) bool {
	return len(s) <= maxText && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) })
}

const maxText = 4096
