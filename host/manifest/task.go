package manifest

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Task is what a job runs. A run in virtual time goes by what it comes after alone, so
// that one file serves both.
type Task struct {
	Command []string          // program and arguments, no shell; nil = not given
	Env     map[string]string // beside what the engine sets
	Dir     string            // working directory, absolute; "" = one of the task's own
	Image   string            `json:",omitempty"` // container image that it runs in, "" = none
	// Names or ids of the jobs that have to succeed, to end, and to end otherwise than
	// well before.
	After        []string
	AfterAny     []string `json:",omitempty"`
	AfterFailure []string `json:",omitempty"`
}

const wantArgument = "text without zero bytes, in quotes where it looks like something else"

func jobTask(o *object) Task {
	t := Task{Dir: o.text("dir"), Image: o.text("image"), After: o.names("after"), AfterAny: o.names("after_any"), AfterFailure: o.names("after_failure")}
	for i, n := range o.list("command") {
		text, ok := argument(n)
		switch field := fmt.Sprintf("command[%d]", i); {
		case !ok:
			o.found.add(n.Line, field, describe(n), wantArgument)
		case i == 0 && text == "":
			o.found.add(n.Line, field, describe(n), "a program")
		}
		t.Command = append(t.Command, text)
	}
	if o.has("command") && o.values["command"].Kind == yaml.SequenceNode && len(t.Command) == 0 {
		o.found.add(o.lineOf("command"), "command", "an empty list", "a program and its arguments")
	}
	env, _ := o.object("env")
	for _, key := range env.keys {
		text, ok := argument(env.values[key])
		if !ok {
			env.wrong(key, wantArgument)
		}
		if key == "" || strings.ContainsAny(key, "=\x00") {
			env.found.add(env.lineOf(key), env.field(key), "not a name of a variable", "a name without = and zero bytes")
		}
		if t.Env == nil {
			t.Env = make(map[string]string, len(env.keys))
		}
		t.Env[key] = text
	}
	if t.Dir != "" && (!strings.HasPrefix(t.Dir, "/") || strings.ContainsRune(t.Dir, 0)) {
		o.wrong("dir", "an absolute path without zero bytes")
	}
	if o.has("image") && (t.Image == "" || strings.ContainsFunc(t.Image, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })) {
		o.wrong("image", "a name such as docker.io/library/python:3.14, without spaces")
	}
	return t
}

// argument reads text, which may be empty, or a number: nobody quotes the 10 of
// [sleep, 10].
func argument(n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode || strings.ContainsRune(n.Value, 0) {
		return "", false
	}
	switch n.ShortTag() {
	case "!!str", "!!int", "!!float":
		return n.Value, true
	}
	return "", false
}
