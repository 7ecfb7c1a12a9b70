package config

import (
	"strconv"
	"strings"
)

// Size is an amount of bytes, written as in the quantity grammar of jobs and
// nodes: a whole number and one of k M G T, Ki Mi Gi Ti or nothing.
type Size int64

// unit is a suffix of a size.
type unit struct {
	suffix string
	bytes  int64
}

// units are in the order in which a size is printed: the first that divides it.
var units = []unit{
	{"Ti", 1 << 40},
	{"Gi", 1 << 30},
	{"Mi", 1 << 20},
	{"Ki", 1 << 10},
	{"T", 1e12},
	{"G", 1e9},
	{"M", 1e6},
	{"k", 1e3},
}

// String gives the shortest text that parses to s.
func (s Size) String() string {
	for _, u := range units {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

func parseSize(text string) (Size, bool) {
	factor := int64(1)
	for _, u := range units {
		if number, ok := strings.CutSuffix(text, u.suffix); ok {
			text, factor = number, u.bytes
			break
		}
	}
	n, ok := parseWhole(text)
	if !ok || n < 0 || n > maxSize/factor {
		return 0, false
	}
	return Size(n * factor), true
}

// maxSize is far beyond every range in the table of settings.
const maxSize = 1 << 60
