package manifest

import (
	"fmt"
	"strconv"
)

// names keeps the names of a file distinct and their number bounded.
type names struct {
	max  int
	line map[string]int // where each name was given first
}

func newNames(limit int) names { return names{max: limit, line: make(map[string]int)} }

// namer names one of count copies of base.
type namer func(base string, i, count int) string

// take gives the names of count copies of base. It reports what is wrong and gives nil then.
func (s *names) take(found *problems, line int, field, base string, count int, named namer) []string {
	if len(s.line)+count > s.max {
		found.add(line, field, fmt.Sprintf("%s brings the file to %d", quote(base), len(s.line)+count),
			fmt.Sprintf("at most %d in one file", s.max))
		return nil
	}
	list := make([]string, count)
	for i := range list {
		name := named(base, i, count)
		if first, ok := s.line[name]; ok {
			found.add(line, field, fmt.Sprintf("%s is given on line %d too", quote(name), first), "every name once")
			return nil
		}
		s.line[name] = line
		list[i] = name
	}
	return list
}

// copyName gives base itself for one copy, and base-00 to base-19 for twenty.
func copyName(base string, i, count int) string {
	if count == 1 {
		return base
	}
	width := len(strconv.Itoa(count - 1))
	return fmt.Sprintf("%s-%0*d", base, width, i)
}
