// Package guest carries the SDKs for writing policy plugins, and the first
// project of each language, in the binary: an author needs nothing but Poise and
// a compiler. It imports the standard library only. What it gives out is what
// lies in the directories beside it, test files aside, so an SDK that is changed
// here is changed in every new project.
package guest

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

//go:embed c/*.h all:c/template
//go:embed rust/*.rs all:rust/template
//go:embed assemblyscript/*.mjs assemblyscript/poise all:assemblyscript/template
//go:embed go/*.go go/filter go/score go/harness all:go/template
var files embed.FS

// cases says how a test case of plugin test is written, for every README.
//
//go:embed cases.md
var cases string

// language is what is particular to one.
type language struct {
	name  string
	sdk   string // directory of the SDK in a project
	needs string
}

var languages = []language{
	{"rust", "sdk", "rustc with the target wasm32-unknown-unknown"},
	{"go", "poise", "Go 1.26 or later"},
	{"assemblyscript", "sdk", "Node 20 or later; AssemblyScript comes from npm at the first make"},
	{"c", "sdk", "clang with the target wasm32, wasm-ld, and a C compiler for the unit test"},
}

// Languages lists the languages that there is an SDK for.
func Languages() []string {
	var names []string
	for _, l := range languages {
		names = append(names, l.name)
	}
	return names
}

// Needs says what has to be installed to build a project of the language.
func Needs(lang string) string {
	for _, l := range languages {
		if l.name == lang {
			return l.needs
		}
	}
	return ""
}

// goSDK is the import path of the Go SDK here; in a project it is one of the
// project's own packages. A project's module has a host before its name, or one
// named as a package of the standard library would not build.
const (
	goSDK  = "github.com/poise-sched/poise/abi/guest/go"
	goHost = "poise.local/"
)

// mostName keeps names of projects within what file systems and registries take.
const mostName = 63

var plainName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Project gives the files of a new project by path: the SDK and a first policy
// with its tests.
func Project(lang, name string) (map[string][]byte, error) {
	i := slices.IndexFunc(languages, func(l language) bool { return l.name == lang })
	if i < 0 {
		return nil, fmt.Errorf("language: %q, expected one of %s", lang, strings.Join(Languages(), ", "))
	}
	if !plainName.MatchString(name) || len(name) > mostName {
		return nil, fmt.Errorf("name: %q, expected words of a-z and 0-9 joined by -, beginning with a letter, at most %d bytes", name, mostName)
	}
	project := map[string][]byte{}
	err := fs.WalkDir(files, lang, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(file)
		if err != nil {
			return err
		}
		at := strings.TrimPrefix(file, lang+"/")
		if ours, ok := strings.CutPrefix(at, "template/"); ok {
			at, text, err = render(ours, text, name)
			project[at] = text
			return err
		}
		if strings.HasSuffix(at, "_test.go") {
			return nil
		}
		if path.Ext(at) == ".go" {
			text = bytes.ReplaceAll(text, []byte(goSDK), []byte(goHost+name+"/"+languages[i].sdk))
		}
		project[path.Join(languages[i].sdk, at)] = text
		return nil
	})
	return project, err
}

// render fills a template in; other files stay as they are.
func render(file string, text []byte, name string) (string, []byte, error) {
	at, ok := strings.CutSuffix(file, ".tmpl")
	if !ok {
		return file, text, nil
	}
	t, err := template.New(file).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return at, nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]string{"Name": name, "Ident": strings.ReplaceAll(name, "-", "_"), "Cases": strings.TrimSpace(cases)})
	if path.Ext(at) == ".md" {
		return at, align(b.Bytes()), err
	}
	return at, b.Bytes(), err
}

var commented = regexp.MustCompile(`(?m)^( {4}\S.*?) +# `)

// align puts the comments behind commands below each other, whatever the length
// of the name in them.
func align(text []byte) []byte {
	widest := 0
	for _, m := range commented.FindAllSubmatch(text, -1) {
		widest = max(widest, len(m[1]))
	}
	return commented.ReplaceAllFunc(text, func(line []byte) []byte {
		command := commented.FindSubmatch(line)[1]
		return fmt.Appendf(nil, "%-*s  # ", widest, command)
	})
}
