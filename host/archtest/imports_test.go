package archtest

import (
	"slices"
	"strings"
	"testing"
)

// checkImports finds what p imports against its row: packages of Poise, and
// modules. A test may import any package of Poise (the compiler refuses cycles)
// and the test modules. The standard library is checkPurity's concern.
func checkImports(p *pkg) []string {
	r, known := rules[p.dir]
	if !known {
		return []string{p.dir + ": has no row in host/archtest/rules_test.go; say there what it may import"}
	}
	may := r.allowed()
	var found []string
	for _, f := range p.files {
		modules := r.third
		if f.test {
			modules = append(slices.Clone(r.third), testModules...)
		}
		for _, spec := range f.ast.Imports {
			importPath := importPath(spec)
			own, ours := strings.CutPrefix(importPath, module+"/")
			first, _, _ := strings.Cut(importPath, "/")
			switch {
			case ours && !f.test && !slices.Contains(may, own):
				found = append(found, p.at(spec, "%s imports %s; it may import %s", p.dir, own, listed(may)))
			case !ours && strings.Contains(first, ".") && !within(importPath, modules):
				found = append(found, p.at(spec, "%s imports %s; its modules are %s", p.dir, importPath, listed(modules)))
			}
		}
	}
	return found
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func TestImports(t *testing.T) {
	for _, p := range product(t) {
		report(t, checkImports(p))
	}
}

func TestCheckImports(t *testing.T) {
	f := func(dir, src string, words ...string) {
		t.Helper()
		want(t, checkImports(fake(t, dir, src)), words...)
	}
	f("host/state", `package state; import ("fmt"; "github.com/poise-sched/poise/host/poise")`)
	f("host/state", `package state; import "github.com/poise-sched/poise/host/sched"`, "a.go:1: host/state imports host/sched")
	f("host/state", `package state; import "github.com/poise-sched/poise/host/statehouse"`, "imports host/statehouse")
	f("host/queue", `package queue; import "go.yaml.in/yaml/v3"`, "imports go.yaml.in/yaml/v3; its modules are none")
	f("host/spectral", `package spectral; import "gonum.org/v1/gonum/mat"`)
	f("host/spectral", `package spectral; import "gonum.org/v1/gonumerics"`, "imports gonum.org/v1/gonumerics")
	f("host/report", `package report; import "pgregory.net/rapid"`, "imports pgregory.net/rapid")
	f("host/cli", `package cli; import ("github.com/poise-sched/poise/host/sim"; "github.com/spf13/cobra")`)
	f("host/cli", `package cli; import "github.com/poise-sched/poise/host/archtest"`, "imports host/archtest")
	f("host/util", `package util`, "host/util: has no row")
}

func TestCheckImportsOfTests(t *testing.T) {
	p := fake(t, "host/queue")
	src := `package queue_test; import ("github.com/poise-sched/poise/host/sim"; "pgregory.net/rapid"; "github.com/stretchr/testify/assert")`
	if err := p.add("host/queue/a_test.go", []byte(src)); err != nil {
		t.Fatal(err)
	}
	want(t, checkImports(p), "imports github.com/stretchr/testify/assert")
}
