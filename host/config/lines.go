package config

import "strings"

// lines finds the line on which each key of a YAML mapping stands, by
// indentation. The parser that reads the values keeps no lines; a key in a flow
// mapping ({a: 1}) is not found, and then the line of its section serves.
func lines(text string) map[string]int {
	type level struct {
		indent int
		key    string
	}
	found := map[string]int{}
	var open []level
	n := 0
	for line := range strings.Lines(text) {
		n++
		key, indent, ok := keyOf(line)
		if !ok {
			continue
		}
		for len(open) > 0 && open[len(open)-1].indent >= indent {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			key = open[len(open)-1].key + "." + key
		}
		open = append(open, level{indent, key})
		if found[key] == 0 {
			found[key] = n
		}
	}
	return found
}

// keyOf gives the key at the start of a line of a block mapping.
func keyOf(line string) (key string, indent int, ok bool) {
	line = strings.TrimRight(line, "\r\n")
	rest := strings.TrimLeft(line, " ")
	indent = len(line) - len(rest)
	if rest == "" || strings.ContainsRune("#-{[", rune(rest[0])) {
		return "", 0, false
	}
	if quote := rest[0]; quote == '"' || quote == '\'' {
		key, rest, ok = strings.Cut(rest[1:], string(quote))
		return key, indent, ok && strings.HasPrefix(strings.TrimLeft(rest, " "), ":")
	}
	key, rest, ok = strings.Cut(rest, ":")
	return strings.TrimRight(key, " "), indent, ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

// lineOf gives the line of a key, or of the nearest section around it, or 0.
func lineOf(found map[string]int, key string) int {
	for {
		if n := found[key]; n > 0 {
			return n
		}
		dot := strings.LastIndexByte(key, '.')
		if dot < 0 {
			return 0
		}
		key = key[:dot]
	}
}
