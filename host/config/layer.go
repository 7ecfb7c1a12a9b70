package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// layer is what one source sets.
type layer struct {
	k      *koanf.Koanf
	folder string // that relative paths are relative to; empty = the working directory
	origin func(key string) Origin
}

// maxFile is far more than a configuration needs.
const maxFile = 1 << 20

// bytesOf hands koanf what was read already, so that lines and values are of
// one version of the file.
type bytesOf []byte

var errNoMap = errors.New("BUG: a file is read as bytes")

func (b bytesOf) ReadBytes() ([]byte, error)    { return b, nil }
func (b bytesOf) Read() (map[string]any, error) { return nil, errNoMap }

func fileLayer(all []setting, name string) (*layer, Problems) {
	origin := Origin{Source: File, Name: name}
	whole := func(expected string) (*layer, Problems) {
		return nil, Problems{{Expected: expected, Origin: origin}}
	}
	content, err := file.Provider(name).ReadBytes()
	switch {
	case errors.Is(err, os.ErrNotExist):
		return whole("a file, there is none")
	case err != nil:
		return whole("a file that can be read: " + err.Error())
	case len(content) > maxFile:
		return whole(fmt.Sprintf("at most %s", Size(maxFile)))
	}
	k := koanf.New(".")
	if err := load(k, bytesOf(content)); err != nil {
		return whole("YAML, a mapping of settings: " + strings.Join(strings.Fields(err.Error()), " "))
	}
	if second := secondDocument(content); second > 0 {
		origin.Line = second
		return whole("one YAML document")
	}
	at := lines(string(content))
	l := &layer{k: k, folder: filepath.Dir(name), origin: func(key string) Origin {
		return Origin{File, name, lineOf(at, key)}
	}}
	return l, l.check(all, "", k.Raw())
}

// load turns a panic of the YAML parser into an error: a file is what a person
// wrote, and a daemon that reloads one must outlive it.
func load(k *koanf.Koanf, content bytesOf) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return k.Load(content, yaml.Parser())
}

// secondDocument gives the line of a marker with something before it, or 0: the
// parser would pass over all behind it in silence.
func secondDocument(content []byte) int {
	begun, n := false, 0
	for line := range bytes.Lines(content) {
		n++
		trimmed := bytes.TrimSpace(line)
		marker := bytes.HasPrefix(line, []byte("---")) && (len(trimmed) == 3 || line[3] == ' ')
		switch {
		case marker && begun:
			return n
		case marker:
			begun = true
		case len(trimmed) > 0 && trimmed[0] != '#' && trimmed[0] != '%':
			begun = true
		}
	}
	return 0
}

// check finds what is wrong with a section of a file.
func (l *layer) check(all []setting, section string, values map[string]any) Problems {
	var found Problems
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key, v := section+name, values[name]
		problem := func(expected string) {
			value, _ := textOf(v)
			found = append(found, Problem{Key: key, Value: value, Expected: expected, Origin: l.origin(key)})
		}
		s := lookUp(all, key)
		inside := namesIn(all, key+".")
		nested, isSection := v.(map[string]any)
		switch {
		case strings.Contains(name, "."):
			problem("a name without a dot: sections are nested mappings")
		case s != nil && !s.read(&Config{}, v):
			problem(s.expects)
		case s != nil:
		case len(inside) == 0:
			problem(knownName(all, key))
		case isSection:
			found = append(found, l.check(all, key+".", nested)...)
		case v != nil: // a section with nothing in it sets nothing
			problem("a section of " + strings.Join(inside, ", "))
		}
	}
	return found
}

// namesIn lists the settings below a prefix.
func namesIn(all []setting, prefix string) []string {
	var names []string
	for i := range all {
		if strings.HasPrefix(all[i].name, prefix) {
			names = append(names, all[i].name)
		}
	}
	return names
}

// knownName says what to write in place of an unknown name.
func knownName(all []setting, key string) string {
	near, _ := nearest(key, namesIn(all, ""))
	return "a known setting, the nearest is " + near
}

func environmentLayer(all []setting, environ []string) (*layer, Problems) {
	byName, names := map[string]*setting{}, []string{}
	for i := range all {
		v := all[i].variable()
		byName[v], names = &all[i], append(names, v)
	}
	var found Problems
	k := koanf.New(".")
	transform := func(name, value string) (string, any) {
		origin := Origin{Source: Environment, Name: name}
		s := byName[name]
		switch {
		case s == nil:
			if near, wrong := misspelt(name, names); wrong {
				found = append(found, Problem{Value: value, Expected: "a known variable, the nearest is " + near, Origin: origin})
			}
			return "", nil
		case !s.read(&Config{}, value):
			found = append(found, Problem{Key: s.name, Value: value, Expected: s.expects, Origin: origin})
		}
		return s.name, value
	}
	provider := env.Provider(".", env.Opt{Prefix: envPrefix, TransformFunc: transform, EnvironFunc: func() []string { return environ }})
	if err := k.Load(provider, nil); err != nil {
		found = append(found, Problem{Expected: err.Error(), Origin: Origin{Source: Environment, Name: "environment"}})
	}
	l := &layer{k: k, origin: func(key string) Origin {
		return Origin{Source: Environment, Name: lookUp(all, key).variable()}
	}}
	slices.SortFunc(found, func(a, b Problem) int { return strings.Compare(a.Origin.Name, b.Origin.Name) })
	return l, found
}

// misspelt says whether a variable that is no setting is likely meant to be
// one. Others pass: clients have variables of their own, and Kubernetes gives
// every pod some for each service, POISE_PORT for one of the name poise.
func misspelt(name string, names []string) (string, bool) {
	for _, mark := range []string{"_SERVICE_HOST", "_SERVICE_PORT", "_PORT"} {
		if strings.HasSuffix(name, mark) || strings.Contains(name, mark+"_") {
			return "", false
		}
	}
	near, distance := nearest(name, names)
	section, _, nested := strings.Cut(strings.TrimPrefix(name, envPrefix), "_")
	inSection := nested && slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, envPrefix+section+"_") })
	return near, inSection || distance <= 2
}

func flagLayer(all []setting, flags *pflag.FlagSet) (*layer, Problems) {
	byName := map[string]*setting{}
	for i := range all {
		byName[all[i].flag()] = &all[i]
	}
	var found Problems
	k := koanf.New(".")
	take := func(f *pflag.Flag) (string, any) {
		s := byName[f.Name]
		if s == nil || !f.Changed {
			return "", nil
		}
		value := f.Value.String()
		if !s.read(&Config{}, value) {
			found = append(found, Problem{Key: s.name, Value: value, Expected: s.expects, Origin: Origin{Source: Flag, Name: f.Name}})
		}
		return s.name, value
	}
	if err := k.Load(posflag.ProviderWithFlag(flags, ".", nil, take), nil); err != nil {
		found = append(found, Problem{Expected: err.Error(), Origin: Origin{Source: Flag, Name: "flags"}})
	}
	return &layer{k: k, origin: func(key string) Origin {
		return Origin{Source: Flag, Name: lookUp(all, key).flag()}
	}}, found
}
