package config

import "strings"

// nearest gives the name that takes the fewest edits to get to, and how many;
// of several the first.
func nearest(name string, names []string) (string, int) {
	best, least := "", 1<<30
	for _, n := range names {
		if d := edits(name, n); d < least {
			best, least = n, d
		}
	}
	return best, least
}

// edits counts the bytes to put in, take out or change to get from a to b, case
// and the difference of - and _ apart (the Levenshtein distance).
func edits(a, b string) int {
	a, b = plain(a), plain(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// longest is more than any name of a setting; what lies behind it cannot make a
// name a near one.
const longest = 128

func plain(s string) string {
	return strings.ToLower(strings.ReplaceAll(s[:min(len(s), longest)], "-", "_"))
}
