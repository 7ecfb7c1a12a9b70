package config

import "strconv"

// Source is where a value comes from. A higher one wins.
type Source uint8

// The sources, lowest first.
const (
	Default Source = iota
	File
	Environment
	Flag
)

var sourceNames = [...]string{"default", "file", "environment", "flag"}

// String gives the source's name as output has it.
func (s Source) String() string { return sourceNames[s] }

// Origin is the place where a setting was set.
type Origin struct {
	Source Source
	Name   string // of the file, the variable or the flag
	Line   int    // in the file; 0 = not known
}

// String gives the origin as a person reads it: "poise.yaml:12", "POISE_LOG_LEVEL",
// "--log.level" or "default".
func (o Origin) String() string {
	switch {
	case o.Source == Default:
		return Default.String()
	case o.Source == Flag:
		return "--" + o.Name
	case o.Line > 0:
		return o.Name + ":" + strconv.Itoa(o.Line)
	}
	return o.Name
}
