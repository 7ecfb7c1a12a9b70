package config

import "strings"

// setting is one row of the table: a name, and how its value gets into a Config.
type setting struct {
	name    string // in the file, with dots between sections
	about   string
	word    string
	expects string
	live    bool // a running daemon takes up a change
	file    bool // a path: relative to the folder of the file that it stands in
	read    func(c *Config, v any) bool
	print   func(c *Config) string
	value   func(c *Config) any // for JSON and YAML: lists and mappings as such, else as printed
	copy    func(from, to *Config)
}

// one makes a setting for a field of Config.
func one[T any](name, about string, k kind[T], at func(*Config) *T) setting {
	return setting{
		name: name, about: about, word: k.word, expects: k.expects,
		read: func(c *Config, v any) bool {
			parsed, ok := k.parse(v)
			if ok {
				*at(c) = parsed
			}
			return ok
		},
		print: func(c *Config) string { return k.print(*at(c)) },
		value: func(c *Config) any {
			switch v := any(*at(c)).(type) {
			case []string, map[string]string, bool, int64, float64:
				return v
			}
			return k.print(*at(c))
		},
		copy: func(from, to *Config) { *at(to) = *at(from) },
	}
}

// running marks a setting that a running daemon takes up.
func running(s setting) setting {
	s.live = true
	return s
}

// path marks a setting as the path of a file or folder.
func path(s setting) setting {
	s.file, s.word = true, "path"
	return s
}

// envPrefix starts the names of Poise's environment variables.
const envPrefix = "POISE_"

// variable is the name of the setting in the environment.
func (s *setting) variable() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.name, ".", "_"))
}

// flag is the name of the setting on the command line.
func (s *setting) flag() string { return strings.ReplaceAll(s.name, "_", "-") }

// lookUp finds a setting by its name.
func lookUp(all []setting, name string) *setting {
	for i := range all {
		if all[i].name == name {
			return &all[i]
		}
	}
	return nil
}
