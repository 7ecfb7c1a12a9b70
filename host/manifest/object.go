package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// object is a mapping of a document. Its readers report what is wrong with a
// field and give the zero value then.
type object struct {
	found  *problems
	path   string // "" for the document itself
	line   int
	keys   []string // in the order of the file
	values map[string]*yaml.Node
}

// object reads n as a mapping with these fields, or with any where none are
// given, and says whether it is a mapping.
func (p *problems) object(n *yaml.Node, path string, fields ...string) (object, bool) {
	o := object{found: p, path: path, line: n.Line, values: make(map[string]*yaml.Node)}
	if n.Kind != yaml.MappingNode {
		p.add(n.Line, path, describe(n), "a mapping of fields to values")
		return o, false
	}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch first := o.values[key.Value]; {
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			p.add(key.Line, path, "field name "+describe(key), "text, in quotes where it looks like something else")
		case len(fields) > 0 && !slices.Contains(fields, key.Value):
			p.add(key.Line, o.field(key.Value), "unknown field", "one of "+strings.Join(fields, ", "))
		case first != nil:
			p.add(key.Line, o.field(key.Value), fmt.Sprintf("given on line %d too", first.Line), "every field once")
		default:
			o.keys = append(o.keys, key.Value)
			o.values[key.Value] = value
		}
	}
	return o, true
}

// field gives the path of a field, its name in quotes where it is not plain.
func (o *object) field(key string) string {
	if !dimensionName(key) {
		key = quote(key)
	}
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// wrong reports the value of a field.
func (o *object) wrong(key, want string) {
	n := o.values[key]
	o.found.add(n.Line, o.field(key), describe(n), want)
}

func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.ShortTag() == "!!null":
		return "nothing"
	}
	return quote(n.Value)
}

func (o *object) has(key string) bool { return o.values[key] != nil }

// require reports a field that is not there.
func (o *object) require(key, want string) bool {
	if !o.has(key) {
		o.found.add(o.line, o.field(key), "missing", want)
	}
	return o.has(key)
}

// lineOf gives the line of a field, or of the object where it is not there.
func (o *object) lineOf(key string) int {
	if n := o.values[key]; n != nil {
		return n.Line
	}
	return o.line
}

// text reads text that is not empty; "" where the field is not there.
func (o *object) text(key string) string {
	n := o.values[key]
	if n == nil {
		return ""
	}
	text, ok := textOf(n)
	if !ok || text == "" {
		o.wrong(key, "text, in quotes where it looks like something else")
	}
	return text
}

func textOf(n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return "", false
	}
	return n.Value, true
}

// label reads a label value: text, which may be empty, or a whole number.
func label(n *yaml.Node) (string, bool) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
		return n.Value, wholeNumber(n.Value)
	}
	return textOf(n)
}

const wantLabel = "text or a whole number, in quotes where it looks like something else"

// labelText reads a label value; "" where the field is not there.
func (o *object) labelText(key string) string {
	n := o.values[key]
	if n == nil {
		return ""
	}
	text, ok := label(n)
	if !ok {
		o.wrong(key, wantLabel)
	}
	return text
}

func (o *object) integer(key string, fallback, low, high int64) int64 {
	n := o.values[key]
	if n == nil {
		return fallback
	}
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || !wholeNumber(n.Value) || err != nil || i < low || i > high {
		o.wrong(key, fmt.Sprintf("a whole number from %d to %d", low, high))
		return fallback
	}
	return i
}

// number reads a number; 0 where the field is not there.
func (o *object) number(key string) float64 {
	n := o.values[key]
	if n == nil {
		return 0
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" && n.ShortTag() != "!!float" || err != nil || v-v != 0 {
		o.wrong(key, "a number such as 2 or 0.5")
		return 0
	}
	return v
}

func (o *object) flag(key string, fallback bool) bool {
	n := o.values[key]
	if n == nil {
		return fallback
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		switch n.Value {
		case "true":
			return true
		case "false":
			return false
		}
	}
	o.wrong(key, "true or false")
	return fallback
}

// maxSpan is the longest time in a file, that of a Go duration: 292 years.
const maxSpan = poise.Span(1<<63-1) / poise.Span(time.Millisecond)

// span reads a Go duration; 0 where the field is not there.
func (o *object) span(key string) poise.Span {
	n := o.values[key]
	if n == nil {
		return 0
	}
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d < 0 || d%time.Millisecond != 0 {
		o.wrong(key, "a duration such as 90s, 1h30m or 250ms: 0 or more, in whole milliseconds, at most 292 years")
		return 0
	}
	return poise.Span(d / time.Millisecond)
}

// list reads a list; nil where the field is not there.
func (o *object) list(key string) []*yaml.Node {
	n := o.values[key]
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		o.wrong(key, "a list")
		return nil
	}
	return n.Content
}

// object reads a field as a mapping; false where it is not there or not one.
func (o *object) object(key string, fields ...string) (object, bool) {
	if !o.has(key) {
		return object{}, false
	}
	return o.found.object(o.values[key], o.field(key), fields...)
}

// quantity gives the text of an amount as it is written, so that no float comes
// between the file and the grammar of host/resource.
func (o *object) quantity(key string) (string, bool) {
	n := o.values[key]
	if n.Kind == yaml.ScalarNode {
		switch n.ShortTag() {
		case "!!str", "!!int", "!!float":
			return n.Value, true
		}
	}
	o.wrong(key, "an amount such as 500m, 4 or 1.5Gi")
	return "", false
}

// amount reads the amount of the dimension key by parse.
func (o *object) amount(key string, parse func(name, text string) (int64, error)) int64 {
	text, ok := o.quantity(key)
	if !ok {
		return 0
	}
	if !dimensionName(key) {
		o.found.add(o.lineOf(key), o.field(key), "not a resource name", "letters, digits and - _ . / as in cpu or example.com/licence")
		return 0
	}
	n, err := parse(key, text)
	if err != nil {
		o.refuse(key, err)
	}
	return n
}

// refuse reports what host/resource says about the amount of a dimension.
func (o *object) refuse(key string, err error) {
	o.found.refuse(o.lineOf(key), o.field(key), strings.TrimPrefix(err.Error(), key+": "))
}

func dimensionName(key string) bool {
	for _, r := range key {
		letter := r|0x20 >= 'a' && r|0x20 <= 'z'
		if !letter && (r < '0' || r > '9') && !strings.ContainsRune("-_./", r) {
			return false
		}
	}
	return key != ""
}

// offered is ParseCapacity, but an amount that rounds down to nothing is an
// error: nobody writes 0.5 bytes and means 0.
func offered(name, text string) (int64, error) {
	n, err := resource.ParseCapacity(name, text)
	if err != nil || n > 0 {
		return n, err
	}
	if asked, err := resource.ParseRequest(name, text); err == nil && asked > 0 {
		return 0, fmt.Errorf("%s: %s is less than the smallest unit, expected at least %s", name, quote(text), resource.Format(name, 1))
	}
	return 0, nil
}
