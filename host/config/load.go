package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/structs"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// Options say where to look.
type Options struct {
	File  string         // path of a YAML file; empty = none
	Env   []string       // NAME=value, as os.Environ gives them
	Flags *pflag.FlagSet // made by AddFlags and parsed; nil = none
}

// Loaded is a configuration that is right, and where each setting came from.
type Loaded struct {
	Config  Config
	origins map[string]Origin
}

// Load reads all sources and checks the whole. Every error is a Problems.
func Load(o Options) (*Loaded, error) {
	all := settings()
	var found Problems
	var layers []*layer
	add := func(l *layer, problems Problems) {
		found = append(found, problems...)
		layers = append(layers, l)
	}
	if o.File != "" {
		add(fileLayer(all, o.File))
	}
	add(environmentLayer(all, o.Env))
	if o.Flags != nil {
		add(flagLayer(all, o.Flags))
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	return merge(all, layers, o.Env)
}

// merge lays the layers over the defaults, lowest first.
func merge(all []setting, layers []*layer, environ []string) (*Loaded, error) {
	l := &Loaded{Config: Defaults(), origins: map[string]Origin{}}
	k := koanf.New(".")
	if err := k.Load(structs.Provider(l.Config, "koanf"), nil); err != nil {
		return nil, Problems{{Expected: err.Error()}}
	}
	folders := map[string]string{}
	for _, layer := range layers {
		if err := k.Merge(layer.k); err != nil {
			return nil, Problems{{Expected: err.Error()}}
		}
		for i := range all {
			if name := all[i].name; layer.k.Exists(name) {
				l.origins[name], folders[name] = layer.origin(name), layer.folder
			}
		}
	}
	var found Problems
	for i := range all {
		s := &all[i]
		if l.Origin(s.name).Source == Default {
			continue
		}
		v := k.Get(s.name)
		if text, ok := textOf(v); ok && s.file && text != "" && !filepath.IsAbs(text) {
			full, err := filepath.Abs(filepath.Join(folders[s.name], text))
			if err != nil {
				return nil, Problems{{Key: s.name, Value: text, Expected: err.Error(), Origin: l.Origin(s.name)}}
			}
			v = full
		}
		if !s.read(&l.Config, v) {
			value, _ := textOf(v)
			found = append(found, Problem{Key: s.name, Value: value, Expected: s.expects, Origin: l.Origin(s.name)})
		}
	}
	derive(&l.Config, environ)
	for _, p := range l.Config.conflicts() {
		p.Origin = l.Origin(p.Key)
		found = append(found, p)
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	return l, nil
}

// derive fills in the paths that depend on others.
func derive(c *Config, environ []string) {
	if c.DataDir == "" {
		c.DataDir = "/var/lib/poise"
		if home := variable(environ, "HOME"); home != "" && home != "/" {
			c.DataDir = filepath.Join(home, ".local", "share", "poise")
		}
		if data := variable(environ, "XDG_DATA_HOME"); data != "" {
			c.DataDir = filepath.Join(data, "poise")
		}
	}
	if c.API.Socket == "" {
		c.API.Socket = filepath.Join(c.DataDir, "poise.sock")
	}
}

// variable looks a name up; of several the last counts, as in os/exec.
func variable(environ []string, name string) string {
	for _, e := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// Origin says where a setting was set.
func (l *Loaded) Origin(name string) Origin { return l.origins[name] }

// Value is a setting as it is shown.
type Value struct {
	Key      string
	Variable string // its name in the environment
	Flag     string
	About    string
	Text     string // as in an environment variable
	Value    any    // the same with lists and mappings as such
	Origin   Origin
	Running  bool // a running daemon takes up a change
}

// Values lists every setting, in the order of the table.
func (l *Loaded) Values() []Value {
	all := settings()
	values := make([]Value, len(all))
	for i := range all {
		s := &all[i]
		values[i] = Value{s.name, s.variable(), s.flag(), s.about, s.print(&l.Config), s.value(&l.Config), l.Origin(s.name), s.live}
	}
	return values
}
